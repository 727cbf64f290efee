package hf

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The bounds of normalization forms hold for every rune, and so for every text: a
// composite has the decomposition of its parts.
func TestShrinks(t *testing.T) {
	ratio := func(step func(string) string) (shrinks, grows float64) {
		for r := range rune(unicode.MaxRune + 1) {
			if !utf8.ValidRune(r) {
				continue
			}
			in, out := float64(utf8.RuneLen(r)), float64(len(step(string(r))))
			shrinks, grows = max(shrinks, in/out), max(grows, out/in)
		}
		return shrinks, grows
	}
	nfd, grows := ratio(norm.NFD.String)
	nfkd, _ := ratio(norm.NFKD.String)
	small, _ := ratio(lower)
	for _, c := range []struct {
		name string
		got  float64
	}{{"NFD", nfd}, {"NFC", nfd * grows}, {"NFKD", nfkd}, {"NFKC", nfkd * grows}, {"Lowercase", small}} {
		if limit := (&fileStep{Type: c.name}).shrinks(); c.got > float64(limit) {
			t.Errorf("%s makes a text %.2f times shorter, not at most %d", c.name, c.got, limit)
		}
	}
}
