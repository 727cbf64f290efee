package pushdown

import (
	"slices"
	"strconv"
	"strings"
)

// A value is a JSON value parsed from compact text whose strings are canonical.
type value struct {
	kind  byte   // '[', '{', '0' for a number, '"' for a string or a literal
	text  string // of a scalar; numbers are normalized, so that equal ones have equal texts
	keys  []string
	items []*value
}

// readValue parses text, which is one whole value.
func readValue(text string) *value {
	f := &valueReader{text: text}
	v := f.value()
	if f.pos != len(text) {
		return &value{kind: '"', text: text} // not JSON: equal only to itself
	}
	return v
}

type valueReader struct {
	text string
	pos  int
}

func (f *valueReader) value() *value {
	if f.pos == len(f.text) {
		return &value{kind: '"'}
	}
	v := &value{kind: f.text[f.pos]}
	switch {
	case v.kind == '[' || v.kind == '{':
		f.pos++
		for f.pos < len(f.text) && f.text[f.pos] != ']' && f.text[f.pos] != '}' {
			if v.kind == '{' {
				end, _ := stringEnd(f.text, f.pos)
				v.keys = append(v.keys, f.text[f.pos:end])
				f.pos = min(len(f.text), end+1)
			}
			before := f.pos
			v.items = append(v.items, f.value())
			if f.pos < len(f.text) && f.text[f.pos] == ',' {
				f.pos++
			}
			if f.pos == before {
				break
			}
		}
		f.pos = min(len(f.text), f.pos+1)
	case v.kind == '-' || '0' <= v.kind && v.kind <= '9':
		end := numberEnd(f.text, f.pos)
		v.kind, v.text = '0', normalNumber(f.text[f.pos:end])
		f.pos = end
	default:
		end, _ := stringEnd(f.text, f.pos)
		if v.kind != '"' {
			for end = f.pos; end < len(f.text) && strings.IndexByte(",]}", f.text[end]) < 0; end++ {
			}
		}
		v.kind, v.text = '"', f.text[f.pos:end]
		f.pos = end
	}
	return v
}

// stringEnd returns where the string that begins at a quote ends. If the text ends first,
// it returns the end of the text and false.
func stringEnd[T string | []byte](text T, at int) (end int, whole bool) {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1, true
		}
	}
	return len(text), false
}

func numberEnd[T string | []byte](text T, at int) int {
	for at < len(text) && strings.IndexByte("+-.eE0123456789", text[at]) >= 0 {
		at++
	}
	return at
}

// normalNumber writes a number as its digits without zeros around them, and the power of
// ten that they are multiplied by.
func normalNumber(text string) string {
	digits, negative := strings.CutPrefix(text, "-")
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		n, err := strconv.Atoi(digits[at+1:])
		if err != nil {
			return text
		}
		digits, exponent = digits[:at], n
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	if exponent += len(digits) - len(short); negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}

// mayBecome reports whether a number that begins with a text, which is not empty, may become equal to one with a
// normal text: its digits so far are those of the other, or zeros around them. False is certain.
func mayBecome(begun []byte, normal string) bool {
	want := "" // of zero, which may have a sign
	if normal != "0" {
		if (begun[0] == '-') != (normal[0] == '-') {
			return false
		}
		digits, power, _ := strings.Cut(strings.TrimPrefix(normal, "-"), "e")
		if want = digits; power == "" || len(power) > 18 {
			return true // perhaps it is not normal: see normalNumber
		}
	}
	first := true // no digit other than 0 has come
	for _, b := range begun {
		switch {
		case b == '-' || b == '.' || b == '0' && first:
		case b == 'e' || b == 'E':
			return want == ""
		case want == "":
			if b != '0' {
				return false
			}
		case b != want[0]:
			return false
		default:
			first, want = false, want[1:]
		}
	}
	return true
}

// A comparison reads the beginning of a value along another value, and reports whether it
// can become equal to it.
type comparison struct {
	text    []byte
	pos     int
	whole   bool // the text is a whole value
	stopped bool // the text has ended within the value

	suffixes []string // possible continuations of the string, key or literal that is begun or comes next
	numbers  bool     // a number is begun, or comes next
	next     byteSet  // the bytes that may follow
}

// endsBefore reports whether the text ends here, and then records the bytes of next.
func (f *comparison) endsBefore(next string) bool {
	if f.pos < len(f.text) {
		return false
	}
	f.stopped = true
	for i := range len(next) {
		f.next.add(next[i])
	}
	return true
}

// noteSuffix records a continuation of a text that ends here.
func (f *comparison) noteSuffix(text string) {
	f.stopped = true
	f.suffixes = append(f.suffixes, text)
	f.next.add(text[0])
}

// byte reads a byte and reports whether it is b.
func (f *comparison) byte(b byte) bool {
	f.pos++
	return f.text[f.pos-1] == b
}

// compare reports whether the rest of the text can become v.
func (f *comparison) compare(v *value) bool {
	if f.pos == len(f.text) {
		switch v.kind {
		case '"':
			f.noteSuffix(v.text)
		case '0':
			f.numbers = f.endsBefore("-0123456789")
		default:
			f.endsBefore(string(rune(v.kind)))
		}
		return true
	}
	switch v.kind {
	case '[':
		return f.array(v)
	case '{':
		return f.object(v)
	case '0':
		end := numberEnd(f.text, f.pos)
		number := f.text[f.pos:end]
		if len(number) == 0 || !mayBecome(number, v.text) {
			return false
		}
		if f.pos = end; !f.whole && f.endsBefore("+-.eE0123456789,]}") {
			f.numbers = true
			return true
		}
		return normalNumber(string(number)) == v.text
	}
	return f.scalar(v.text)
}

func (f *comparison) scalar(text string) bool {
	n := min(len(text), len(f.text)-f.pos)
	if string(f.text[f.pos:f.pos+n]) != text[:n] {
		return false
	}
	if f.pos += n; n < len(text) {
		f.noteSuffix(text[n:])
	}
	return true
}

func (f *comparison) array(v *value) bool {
	if !f.byte('[') {
		return false
	}
	for i, item := range v.items {
		if i > 0 && (f.endsBefore(",") || !f.byte(',')) {
			return f.stopped
		}
		if !f.compare(item) {
			return false
		}
		if f.stopped {
			return true
		}
	}
	return f.endsBefore("]") || f.byte(']')
}

// object reads the members in any order.
func (f *comparison) object(v *value) bool {
	if !f.byte('{') {
		return false
	}
	used := make([]bool, len(v.keys))
	for n := range v.keys {
		if n > 0 && (f.endsBefore(",") || !f.byte(',')) {
			return f.stopped
		}
		i := f.key(v, used)
		if i < 0 || f.stopped {
			return i >= 0
		}
		if used[i] = true; f.endsBefore(":") || !f.byte(':') {
			return f.stopped
		}
		if !f.compare(v.items[i]) {
			return false
		}
		if f.stopped {
			return true
		}
	}
	return f.endsBefore("}") || f.byte('}')
}

// key reads a key and returns its index among the unused keys of v, or -1. If the text ends
// within the key, it returns the index of one that it may become.
func (f *comparison) key(v *value, used []bool) int {
	end, whole := stringEnd(f.text, f.pos)
	found := -1
	key := string(f.text[f.pos:end])
	f.pos = end
	if whole {
		i := slices.Index(v.keys, key)
		if i >= 0 && !used[i] {
			return i
		}
		return -1
	}
	f.stopped = true
	for i, k := range v.keys {
		if rest, ok := strings.CutPrefix(k, key); ok && !used[i] {
			found = i
			f.noteSuffix(rest)
		}
	}
	return found
}
