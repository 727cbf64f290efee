package jinja

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds the nesting of JSON values.
const maxJSONDepth = 500

// maxDigits is the longest integer that Python converts to or from text.
const maxDigits = 4300

// FromJSON decodes JSON into untrusted values. Objects keep the order of their keys (of equal keys the last value counts),
// and numbers their kind: 2 is an integer, 2.0 and 2e0 are floats. Invalid UTF-8 and lone surrogates become U+FFFD.
func FromJSON(data []byte) (Value, error) {
	return decodeJSON(untrusted(strings.ToValidUTF8(string(data), "\uFFFD")))
}

// decodeJSON decodes JSON; a string or number is trusted if all of its bytes are.
func decodeJSON(t text) (v Value, err error) {
	d := &jsonReader{t: t, s: t.s}
	v, err = d.value(0)
	if err == nil {
		if d.space(); d.i < len(d.s) {
			err = d.unexpected()
		}
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

type jsonReader struct {
	t text
	s string
	i int
}

func (d *jsonReader) space() {
	for d.i < len(d.s) && strings.IndexByte(" \t\r\n", d.s[d.i]) >= 0 {
		d.i++
	}
}

func (d *jsonReader) unexpected() error {
	if d.i >= len(d.s) {
		return errors.New("the JSON is truncated")
	}
	c, _ := utf8.DecodeRuneInString(d.s[d.i:])
	return fmt.Errorf("invalid JSON: unexpected character %q at byte %d", c, d.i+1)
}

// skip consumes c after white space.
func (d *jsonReader) skip(c byte) bool {
	d.space()
	if d.i < len(d.s) && d.s[d.i] == c {
		d.i++
		return true
	}
	return false
}

func (d *jsonReader) value(depth int) (Value, error) {
	d.space()
	if depth > maxJSONDepth {
		return Value{}, fmt.Errorf("the JSON is nested more than %d deep", maxJSONDepth)
	}
	rest, from := d.s[d.i:], d.i
	switch {
	case rest == "":
		return Value{}, d.unexpected()
	case rest[0] == '{':
		return d.object(depth)
	case rest[0] == '[':
		return d.array(depth)
	case rest[0] == '"':
		t, err := d.text()
		return textValue(t), err
	case rest[0] == '-' || isDecimal(rest[0]):
		return d.number()
	}
	for _, word := range []string{"null", "true", "false"} {
		if strings.HasPrefix(rest, word) {
			d.i += len(word)
			known := d.t.wholly(from, d.i)
			if word == "null" {
				return noneValue(known), nil
			}
			return boolean(word == "true", known), nil
		}
	}
	return Value{}, d.unexpected()
}

func (d *jsonReader) object(depth int) (Value, error) {
	d.i++
	o := &Dict{}
	for !d.skip('}') {
		if o.Len() > 0 && !d.skip(',') {
			return Value{}, d.unexpected()
		}
		d.space()
		if d.i >= len(d.s) || d.s[d.i] != '"' {
			return Value{}, d.unexpected()
		}
		key, err := d.text()
		if err != nil {
			return Value{}, err
		}
		if !d.skip(':') {
			return Value{}, d.unexpected()
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		o.put(textValue(key), v)
	}
	return Map(o), nil
}

func (d *jsonReader) array(depth int) (Value, error) {
	d.i++
	var items []Value
	for !d.skip(']') {
		if len(items) > 0 && !d.skip(',') {
			return Value{}, d.unexpected()
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, v)
	}
	return list(items), nil
}

func (d *jsonReader) digits() int {
	from := d.i
	for d.i < len(d.s) && isDecimal(d.s[d.i]) {
		d.i++
	}
	return d.i - from
}

func (d *jsonReader) number() (Value, error) {
	from := d.i
	if d.s[d.i] == '-' {
		d.i++
	}
	first := d.i
	if n := d.digits(); n == 0 || n > 1 && d.s[first] == '0' {
		d.i = min(d.i, first+1)
		return Value{}, d.unexpected()
	}
	float := false
	if d.i < len(d.s) && d.s[d.i] == '.' {
		d.i++
		if float = true; d.digits() == 0 {
			return Value{}, d.unexpected()
		}
	}
	if d.i < len(d.s) && d.s[d.i]|0x20 == 'e' {
		d.i++
		if d.i < len(d.s) && (d.s[d.i] == '+' || d.s[d.i] == '-') {
			d.i++
		}
		if float = true; d.digits() == 0 {
			return Value{}, d.unexpected()
		}
	}
	literal, known := d.s[from:d.i], d.t.wholly(from, d.i)
	if float {
		f, _ := strconv.ParseFloat(literal, 64) // out of range: infinite, as in Python
		return floatValue(f, known), nil
	}
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return intValue(i, known), nil
	}
	if len(literal) > maxDigits {
		return Value{}, fmt.Errorf("an integer of the JSON has more than %d digits", maxDigits)
	}
	b, _ := new(big.Int).SetString(literal, 10)
	return bigValue(b, known), nil
}

// text reads a string literal.
func (d *jsonReader) text() (text, error) {
	d.i++
	var b builder
	plain := d.i
	flush := func(to int) { b.writeText(d.t.slice(plain, to)) }
	for d.i < len(d.s) {
		at := d.i
		switch c := d.s[d.i]; {
		case c == '"':
			d.i++
			if len(b.buf) == 0 {
				return d.t.slice(plain, at), nil
			}
			flush(at)
			return b.text(), nil
		case c < ' ':
			return text{}, d.unexpected()
		case c != '\\':
			d.i++
			continue
		}
		flush(at)
		s, err := d.escape()
		if err != nil {
			return text{}, err
		}
		b.write(s, d.t.wholly(at, d.i))
		plain = d.i
	}
	return text{}, d.unexpected()
}

// escape reads an escape.
func (d *jsonReader) escape() (string, error) {
	d.i++
	if d.i >= len(d.s) {
		return "", d.unexpected()
	}
	c := d.s[d.i]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		d.i++
		return "\"\\/\b\f\n\r\t"[i : i+1], nil
	}
	if c != 'u' {
		return "", d.unexpected()
	}
	high, ok := d.unit()
	if !ok {
		return "", d.unexpected()
	}
	if utf16.IsSurrogate(high) && strings.HasPrefix(d.s[d.i:], `\u`) {
		before := d.i
		d.i++
		if low, ok := d.unit(); ok {
			if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
				return string(r), nil
			}
		}
		d.i = before
	}
	return string(high), nil
}

// unit reads the four digits behind the u at d.i.
func (d *jsonReader) unit() (rune, bool) {
	if d.i+5 > len(d.s) {
		return 0, false
	}
	r, ok := parseDigits(d.s[d.i+1:d.i+5], 16)
	if ok {
		d.i += 5
	}
	return r, ok
}
