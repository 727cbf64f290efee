package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// The definition of normalization forms and x/text agree where the latter puts nothing
// into the text.
func TestNormalForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	alphabet := []rune("aeoqAÅéẛſﬁ①½ｶﾞカ\u3099\u0301\u0300\u0323\u0307\u0338\u0345\u0344\u0340\u0327\u05b8\u0f71\u0f72\u1100\u1161\u11a8가각\u09c7\u09be≠𝅗𝅥 \n世\u00a0\U0001d15e")
	for range 3000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteRune(alphabet[rng.IntN(len(alphabet))])
		}
		text := b.String()
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			if got, want := normalForm(form, text), form.String(text); got != want {
				t.Fatalf("form %d of %+q: %+q, want %+q", form, text, got, want)
			}
		}
	}
}

// Long runs of marks stay as they are but for their order.
func TestLongMarks(t *testing.T) {
	text := "a" + strings.Repeat("\u0301\u0323", 500) + "\xff" + strings.Repeat("\u0301", 40)
	want := "\u1ea1" + strings.Repeat("\u0323", 499) + strings.Repeat("\u0301", 500) + "\xff" + strings.Repeat("\u0301", 40)
	if got := canonical(norm.NFC)(text); got != want {
		t.Errorf("%+q", got)
	}
}
