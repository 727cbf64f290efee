package encode

import (
	"unicode/utf8"
)

// Tailer is a capability of an [Encoder]: it can begin in the middle of a text.
type Tailer interface {
	// place returns the last place at or before at from which a text may be encoded by
	// itself: its tokens are the last ones of the whole text, all but the first. If there
	// is none near, it is the rune at at. ok is false if there are none at all.
	Place(text string, at int, special bool) (from int, ok bool)
}

// reach is the number of bytes in which a place is looked for.
const reach = 1 << 20

// RuneAt is where the rune begins that the byte at at belongs to.
func RuneAt(text string, at int) int {
	for i := at; i > at-utf8.UTFMax && i > 0 && i < len(text); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return at
}

// LastPlace is the last place at or before at for which is holds, which sees a place
// between two bytes of text, and otherwise the rune at at.
func LastPlace(text string, at int, is func(i int) bool) int {
	for i := at; i > max(0, at-reach); i-- {
		if is(i) {
			return i
		}
	}
	return RuneAt(text, at)
}

// IsWordStart tells whether an ASCII letter or digit, a space and an ASCII letter stand
// around i in this order.
func IsWordStart(text string, i int) bool {
	if i == 0 || i+1 >= len(text) || text[i] != ' ' {
		return false
	}
	before, after := text[i-1], text[i+1]
	return (isLetter(before) || '0' <= before && before <= '9') && isLetter(after)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
