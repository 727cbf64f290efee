package hf

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// The definition of normalization forms and x/text agree where the latter inserts
// nothing.
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

// Long runs of marks change only in order.
func TestLongMarks(t *testing.T) {
	text := "a" + strings.Repeat("\u0301\u0323", 500) + "\xff" + strings.Repeat("\u0301", 40)
	want := "\u1ea1" + strings.Repeat("\u0323", 499) + strings.Repeat("\u0301", 500) + "\xff" + strings.Repeat("\u0301", 40)
	if got := canonical(norm.NFC)(text); got != want {
		t.Errorf("%+q", got)
	}
}

// A run of marks of any length is sorted by class, stably.
func TestOrderRun(t *testing.T) {
	marks := []rune("\u0301\u0327\u0316\u0345\u0300\u05b0\u0323")
	rng := rand.New(rand.NewPCG(5, 6))
	runes := []rune{'a'}
	for range 2000 {
		runes = append(runes, marks[rng.IntN(len(marks))])
	}
	want := slices.Clone(runes)
	slices.SortStableFunc(want[1:], func(a, b rune) int { return cmp.Compare(markClass(a), markClass(b)) })
	if order(runes); !slices.Equal(runes, want) {
		t.Error("the order is another")
	}
}

// A text with many marks in one part is normalized part by part with the same result as
// the whole.
func TestMarksInPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	bases := []rune("ae zé世각가ᄀ\u1161\u11a8ẛſ\u0f71\u09c7≠\u212b")
	marks := []rune("\u0301\u0327\u0316\u0345\u0323\u0338\u09be\u0344\u3099")
	for range 300 {
		var text []rune
		for range rng.IntN(40) {
			text = append(text, bases[rng.IntN(len(bases))])
			for range rng.IntN(3) * rng.IntN(20) {
				text = append(text, marks[rng.IntN(len(marks))])
			}
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			if got, want := canonical(form)(string(text)), normalForm(form, string(text)); got != want {
				t.Fatalf("form %d of %+q: got %+q, want %+q", form, string(text), got, want)
			}
		}
	}
}
