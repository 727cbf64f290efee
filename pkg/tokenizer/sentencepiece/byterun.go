package sentencepiece

import (
	"strings"
	"unicode/utf8"
)

// byteRun joins the bytes of byte-fallback pieces. It returns whole runes as soon as they
// are complete, and U+FFFD for each byte that is not part of a rune, as sentencepiece does.
// The zero value is ready.
type byteRun struct{ held string }

// add adds the next byte and returns the text that it completes.
func (r *byteRun) add(b byte) string {
	held := r.held + string([]byte{b})
	var done strings.Builder
	for held != "" && utf8.FullRuneInString(held) {
		c, n := utf8.DecodeRuneInString(held)
		done.WriteRune(c)
		held = held[n:]
	}
	r.held = held
	return done.String()
}

// flush ends the run and returns U+FFFD for each byte of an incomplete rune.
func (r *byteRun) flush() string {
	n := len(r.held)
	r.held = ""
	return strings.Repeat("\uFFFD", n)
}
