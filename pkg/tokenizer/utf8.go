package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// UTF8 turns pieces of bytes into valid text. It returns whole runes as soon as they are
// complete, holds back at most three bytes that may still become one, and replaces each
// maximal invalid part by U+FFFD at once (Unicode, section 3.9, substitution of maximal
// subparts). The zero value is ready.
type UTF8 struct {
	held string // a proper prefix of a rune
}

// Write takes the next bytes and returns the runes that they complete.
func (u *UTF8) Write(bytes string) string {
	s := u.held + bytes
	u.held = ""
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			if !utf8.FullRuneInString(s) {
				u.held = s
				break
			}
			n = subpart(s)
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// Holds reports whether bytes are held back.
func (u *UTF8) Holds() bool { return u.held != "" }

// Flush ends the text and returns U+FFFD for an incomplete rune.
func (u *UTF8) Flush() string {
	if u.held == "" {
		return ""
	}
	u.held = ""
	return string(utf8.RuneError)
}

// subpart is the length of the longest prefix of s that begins a rune, at least 1.
func subpart(s string) int {
	n := 1
	for n < len(s) && !utf8.FullRuneInString(s[:n]) && !utf8.FullRuneInString(s[:n+1]) {
		n++
	}
	return n
}
