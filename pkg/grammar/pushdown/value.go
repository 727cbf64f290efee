package pushdown

import (
	"slices"
	"strconv"
	"strings"
)

// A value is a JSON value, read from its compact text whose strings are canonical.
type value struct {
	kind  byte   // '[', '{', '0' for a number, '"' for a string or a literal
	text  string // of a scalar; of a number such that equal numbers have equal texts
	keys  []string
	items []*value
}

// readValue reads a value that is the whole of text.
func readValue(text string) *value {
	f := &valueReader{text: text}
	v := f.value()
	if f.at != len(text) {
		return &value{kind: '"', text: text} // not JSON: equal to itself alone
	}
	return v
}

type valueReader struct {
	text string
	at   int
}

func (f *valueReader) value() *value {
	if f.at == len(f.text) {
		return &value{kind: '"'}
	}
	v := &value{kind: f.text[f.at]}
	switch {
	case v.kind == '[' || v.kind == '{':
		f.at++
		for f.at < len(f.text) && f.text[f.at] != ']' && f.text[f.at] != '}' {
			if v.kind == '{' {
				end, _ := stringEnd(f.text, f.at)
				v.keys = append(v.keys, f.text[f.at:end])
				f.at = min(len(f.text), end+1)
			}
			before := f.at
			v.items = append(v.items, f.value())
			if f.at < len(f.text) && f.text[f.at] == ',' {
				f.at++
			}
			if f.at == before {
				break
			}
		}
		f.at = min(len(f.text), f.at+1)
	case v.kind == '-' || '0' <= v.kind && v.kind <= '9':
		end := numberEnd(f.text, f.at)
		v.kind, v.text = '0', normalNumber(f.text[f.at:end])
		f.at = end
	default:
		end, _ := stringEnd(f.text, f.at)
		if v.kind != '"' {
			for end = f.at; end < len(f.text) && strings.IndexByte(",]}", f.text[end]) < 0; end++ {
			}
		}
		v.kind, v.text = '"', f.text[f.at:end]
		f.at = end
	}
	return v
}

// stringEnd returns where the string that begins at a quote ends, or the text if that is
// sooner: then it is not whole.
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

// A comparison reads the beginning of a value along another value, and tells whether it
// can become equal to it.
type comparison struct {
	text    []byte
	at      int
	whole   bool // the text is a whole value
	stopped bool // it has ended within the value

	rests   []string // how the string, key or literal that is begun, or comes next, goes on
	numbers bool     // a number is begun, or comes next
	next    byteSet  // bytes of which some may follow
}

// ended reports whether the text ends here, where one of next would follow.
func (f *comparison) ended(next string) bool {
	if f.at < len(f.text) {
		return false
	}
	f.stopped = true
	for i := range len(next) {
		f.next.add(next[i])
	}
	return true
}

// rest notes how a text that ends here would go on.
func (f *comparison) rest(text string) {
	f.stopped = true
	f.rests = append(f.rests, text)
	f.next.add(text[0])
}

// byte reads a byte.
func (f *comparison) byte(b byte) bool {
	f.at++
	return f.text[f.at-1] == b
}

// along reports whether what is read can become v.
func (f *comparison) along(v *value) bool {
	if f.at == len(f.text) {
		switch v.kind {
		case '"':
			f.rest(v.text)
		case '0':
			f.numbers = f.ended("-0123456789")
		default:
			f.ended(string(rune(v.kind)))
		}
		return true
	}
	switch v.kind {
	case '[':
		return f.array(v)
	case '{':
		return f.object(v)
	case '0':
		end := numberEnd(f.text, f.at)
		number := string(f.text[f.at:end])
		if f.at = end; !f.whole && f.ended("+-.eE0123456789,]}") {
			f.numbers = true
			return number != ""
		}
		return number != "" && normalNumber(number) == v.text
	}
	return f.scalar(v.text)
}

func (f *comparison) scalar(text string) bool {
	n := min(len(text), len(f.text)-f.at)
	if string(f.text[f.at:f.at+n]) != text[:n] {
		return false
	}
	if f.at += n; n < len(text) {
		f.rest(text[n:])
	}
	return true
}

func (f *comparison) array(v *value) bool {
	if !f.byte('[') {
		return false
	}
	for i, item := range v.items {
		if i > 0 && (f.ended(",") || !f.byte(',')) {
			return f.stopped
		}
		if !f.along(item) {
			return false
		}
		if f.stopped {
			return true
		}
	}
	return f.ended("]") || f.byte(']')
}

// object reads the members in any order.
func (f *comparison) object(v *value) bool {
	if !f.byte('{') {
		return false
	}
	used := make([]bool, len(v.keys))
	for n := range v.keys {
		if n > 0 && (f.ended(",") || !f.byte(',')) {
			return f.stopped
		}
		i := f.key(v, used)
		if i < 0 || f.stopped {
			return i >= 0
		}
		if used[i] = true; f.ended(":") || !f.byte(':') {
			return f.stopped
		}
		if !f.along(v.items[i]) {
			return false
		}
		if f.stopped {
			return true
		}
	}
	return f.ended("}") || f.byte('}')
}

// key reads a key and returns which of those not used it is; where it ends within the
// key, one that it may become. -1: none.
func (f *comparison) key(v *value, used []bool) int {
	end, whole := stringEnd(f.text, f.at)
	found := -1
	key := string(f.text[f.at:end])
	f.at = end
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
			f.rest(rest)
		}
	}
	return found
}
