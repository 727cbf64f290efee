package structured

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Reasons why an answer is invalid. Clients see them, so they contain nothing of the answer.
var (
	errNone      = errors.New("it has no JSON value")
	errOpen      = errors.New("its JSON value is not complete")
	errSyntax    = errors.New("its JSON value breaks the rules of JSON")
	errDuplicate = errors.New("an object in it has a key twice")
	errUnicode   = errors.New("a string in it is not valid Unicode")
	errSchema    = errors.New("its JSON value is not valid against the schema")
	errGrammar   = errors.New("it does not match the grammar")
)

// parse returns the first JSON value of a text, with numbers as json.Number. It may be
// of any type in a code fence, or if it is the whole text; within other words it must
// be an object or an array.
func parse(text string) (any, error) {
	raw, err := first(text)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(raw) || !paired(raw) {
		return nil, errUnicode
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	return unique(d)
}

// first finds the value for parse.
func first(text string) (json.RawMessage, error) {
	const fence = "```"
	text = strings.TrimSpace(text)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	if start, rest, ok := strings.Cut(text, fence); ok && begin(start) < 0 {
		if line := strings.IndexByte(rest, '\n'); line >= 0 {
			text = strings.TrimSpace(rest[line:]) // after the name of the language
			if inside, _, _ := strings.Cut(text, fence); json.Valid([]byte(inside)) {
				return json.RawMessage(strings.TrimSpace(inside)), nil
			}
		}
	}
	at := begin(text)
	if at < 0 {
		return nil, errNone
	}
	var raw json.RawMessage
	err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&raw)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errOpen
	case err != nil:
		return nil, errSyntax
	}
	return raw, nil
}

// begin returns the index where an object or an array begins in a text, or -1:
// brackets in prose are not followed by JSON.
func begin(text string) int {
	for at := 0; ; at++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			return -1
		}
		at += next
		follow, inside := `"}`, strings.TrimLeft(text[at+1:], " \t\r\n")
		if text[at] == '[' {
			follow = `"{[]-0123456789tfn`
		}
		if inside == "" || strings.IndexByte(follow, inside[0]) >= 0 {
			return at
		}
	}
}

// unique decodes a valid JSON value. It rejects duplicate keys.
func unique(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, errSyntax
	}
	switch t {
	case json.Delim('['):
		array := []any{}
		for d.More() {
			v, err := unique(d)
			if err != nil {
				return nil, err
			}
			array = append(array, v)
		}
		_, err = d.Token()
		return array, err
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, errSyntax
			}
			if _, ok := object[key.(string)]; ok {
				return nil, errDuplicate
			}
			if object[key.(string)], err = unique(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	}
	return t, nil
}

// paired reports whether the escapes of surrogates in a JSON value come in pairs, the
// high one first. Decoding would silently replace others.
func paired(raw []byte) bool {
	high := false // the previous escape was a high surrogate
	for i := 0; i < len(raw); i++ {
		surrogate := byte(0) // the digit after \uD
		if raw[i] == '\\' {
			if i++; raw[i] == 'u' {
				if raw[i+1]|0x20 == 'd' {
					surrogate = raw[i+2] | 0x20
				}
				i += 4
			}
		}
		low := 'c' <= surrogate && surrogate <= 'f'
		if low != high {
			return false
		}
		high = surrogate >= '8' && !low
	}
	return true // after the closing quotation mark
}
