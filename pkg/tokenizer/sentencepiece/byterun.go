package sentencepiece

import (
	"strings"
	"unicode/utf8"
)

// byteRun puts the bytes of byte-fallback pieces together: whole runes as soon as
// they are complete, and U+FFFD for each byte that is in none (as sentencepiece
// decodes). The zero value is ready.
type byteRun struct{ held string }

// add takes the next byte and returns what it completes.
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

// flush ends the run: what is held can no longer become a rune.
func (r *byteRun) flush() string {
	n := len(r.held)
	r.held = ""
	return strings.Repeat("\uFFFD", n)
}
