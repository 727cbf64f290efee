package encode

import (
	"unicode/utf8"
)

// Tailer is a capability of an [Encoder]: it can start in the middle of a text.
type Tailer interface {
	// Place returns the last place at or before at from which the text can be encoded
	// alone: except for the first, its tokens are the last tokens of the whole text. If
	// there is no such place nearby, it returns the start of the rune at at. ok is false if
	// the tokenizer has no such places.
	Place(text string, at int, special bool) (from int, ok bool)
}

// reach is the number of bytes that are searched for a place.
const reach = 1 << 20

// RuneAt returns the start of the rune that the byte at at belongs to.
func RuneAt(text string, at int) int {
	for i := at; i > at-utf8.UTFMax && i > 0 && i < len(text); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return at
}

// LastPlace returns the last place between two bytes of text, at or before at, for which is
// returns true. If there is none nearby, it returns the start of the rune at at.
func LastPlace(text string, at int, is func(i int) bool) int {
	for i := at; i > max(0, at-reach); i-- {
		if is(i) {
			return i
		}
	}
	return RuneAt(text, at)
}

// IsWordStart reports whether text has an ASCII letter or digit before i, a space at i, and
// an ASCII letter after it.
func IsWordStart(text string, i int) bool {
	if i == 0 || i+1 >= len(text) || text[i] != ' ' {
		return false
	}
	before, after := text[i-1], text[i+1]
	return (isLetter(before) || '0' <= before && before <= '9') && isLetter(after)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
