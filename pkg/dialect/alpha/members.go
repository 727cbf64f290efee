package alpha

import (
	"encoding/json"
	"iter"
)

// members walks the members of an object, which must be valid JSON without space
// around it. The values are parts of b: nothing is decoded but the keys.
func members(b []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := space(b, 1)
		for b[i] != '}' {
			end := value(b, i)
			var key string
			if json.Unmarshal(b[i:end], &key) != nil {
				return // cannot be, in valid JSON
			}
			i = space(b, end)     // the colon
			i = space(b, i+1)     // the value
			end = value(b, i)     // behind it
			next := space(b, end) // a comma or the end
			if !yield(key, b[i:end]) {
				return
			}
			if i = next; b[i] == ',' {
				i = space(b, i+1)
			}
		}
	}
}

// space returns the first index from i on that is no white space.
func space(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// value returns the index behind the value that begins at i and is inside of an
// object or an array.
func value(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = text(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default: // a number or a literal
			for !delimiter(b[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// text returns the index behind the string that begins at i.
func text(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func delimiter(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}
