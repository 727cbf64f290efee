// Package corpus generates the training texts of the starter models.
//
// Its grammars and word lists generate every text: the same name, seed and size give the
// same bytes on every platform. Three domains are those of Alpha: short stories, tunes
// in ABC notation (abcnotation.com, standard 2.1) and functional chord progressions. The
// fourth is sentences with the forms that they fill in, in JSON (RFC 8259), the fifth
// chats that call tools, and the sixth pairs of sentences that mean the same. The package knows nothing of tokenizers, models or training. Its tests check whether a text follows
// the rules, and measure the starter models with these checks.
package corpus

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// Names lists the training texts.
func Names() []string { return []string{"novels", "abc", "chords", "forms", "tools", "sentences"} }

// Text writes about size bytes of the training text of one starter model, one of [Names]. The
// text ends after a whole piece, so that it is at most one piece longer than size.
func Text(name string, seed uint64, size int) (string, error) {
	switch name {
	case "novels":
		return Novels(seed, size), nil
	case "abc":
		return ABC(seed, size), nil
	case "chords":
		return Chords(seed, size), nil
	case "forms":
		return Forms(seed, size), nil
	case "tools":
		return Tools(seed, size), nil
	case "sentences":
		return Sentences(seed, size), nil
	}
	return "", fmt.Errorf("corpus: no training text is called %q: it must be %s", name, strings.Join(Names(), ", "))
}

// fill appends pieces until the text holds at least size bytes.
func fill(size int, piece func(b *strings.Builder)) string {
	var b strings.Builder
	for b.Len() < size {
		piece(&b)
	}
	return b.String()
}

// dice draws from a PCG stream. It uses only 64-bit integers, so draws are the same on
// every platform.
type dice struct{ src *rand.PCG }

// newDice separates the streams of the domains by name.
func newDice(seed uint64, domain string) *dice {
	h := uint64(14695981039346656037) // FNV-1a, 64 bit
	for _, c := range []byte(domain) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return &dice{rand.NewPCG(seed, h)}
}

// n draws uniformly from [0, k).
func (d *dice) n(k int) int {
	hi, _ := bits.Mul64(d.src.Uint64(), uint64(k))
	return int(hi)
}

// chance returns true in pct of 100 draws.
func (d *dice) chance(pct int) bool { return d.n(100) < pct }

// pick draws one element.
func pick[T any](d *dice, from []T) T { return from[d.n(len(from))] }

// weighted draws an index in proportion to its weight.
func (d *dice) weighted(w []int) int {
	sum := 0
	for _, x := range w {
		sum += x
	}
	at := d.n(sum)
	for i, x := range w {
		if at < x {
			return i
		}
		at -= x
	}
	return len(w) - 1
}
