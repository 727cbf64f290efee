package automaton

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A term is a pattern over a and b with its meaning: the places at which a match that
// begins at one may end (ECMA-262 2025, 22.2.2.4).
type term struct {
	pattern string
	loops   bool // a look-ahead is repeated without end
	looks   bool
	ends    func(s string, at int) []int
}

func letter(c byte) term {
	return term{pattern: string(c), ends: func(s string, at int) []int {
		if at < len(s) && s[at] == c {
			return []int{at + 1}
		}
		return nil
	}}
}

var atEnd = term{pattern: "$", ends: func(s string, at int) []int {
	if at == len(s) {
		return []int{at}
	}
	return nil
}}

func follow(x, y term) term {
	return term{x.pattern + y.pattern, x.loops || y.loops, x.looks || y.looks, func(s string, at int) (out []int) {
		for _, mid := range x.ends(s, at) {
			out = append(out, y.ends(s, mid)...)
		}
		return out
	}}
}

func either(x, y term) term {
	return term{"(?:" + x.pattern + "|" + y.pattern + ")", x.loops || y.loops, x.looks || y.looks, func(s string, at int) []int {
		return append(x.ends(s, at), y.ends(s, at)...)
	}}
}

func maybe(x term) term {
	x.pattern = "(?:" + x.pattern + ")?"
	ends := x.ends
	x.ends = func(s string, at int) []int { return append(ends(s, at), at) }
	return x
}

func star(x term) term {
	return term{"(?:" + x.pattern + ")*", x.loops || x.looks, x.looks, func(s string, at int) []int {
		out, met := []int{at}, map[int]bool{at: true}
		for i := 0; i < len(out); i++ {
			for _, to := range x.ends(s, out[i]) {
				if !met[to] {
					met[to], out = true, append(out, to)
				}
			}
		}
		return out
	}}
}

func look(x term, not bool) term {
	sign := "(?="
	if not {
		sign = "(?!"
	}
	return term{sign + x.pattern + ")", x.loops, true, func(s string, at int) []int {
		if len(x.ends(s, at)) > 0 != not {
			return []int{at}
		}
		return nil
	}}
}

func randomTerm(r *rand.Rand, depth int) term {
	if depth == 0 {
		return letter("ab"[r.IntN(2)])
	}
	inner := func() term { return randomTerm(r, depth-1) }
	switch r.IntN(8) {
	case 0:
		return either(inner(), inner())
	case 1:
		return maybe(inner())
	case 2:
		return star(inner())
	case 3, 4:
		return look(inner(), r.IntN(2) == 0)
	case 5:
		return atEnd
	}
	return follow(inner(), inner())
}

// Look-aheads anywhere in a pattern mean what the standard says.
func TestLookAhead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	looked := 0
	for range 1500 {
		x := randomTerm(r, 4)
		pattern, anchored := x.pattern, r.IntN(2) == 0
		if anchored {
			pattern = "^" + pattern
		}
		d, err := Pattern(pattern)
		if x.loops {
			if err == nil || !strings.Contains(err.Error(), "repeated without end") {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if x.looks {
			looked++
		}
		for n := range 5 {
			for bits := range 1 << n {
				s := word(n, bits)
				want := false
				for at := 0; at <= len(s) && !want && (at == 0 || !anchored); at++ {
					want = len(x.ends(s, at)) > 0
				}
				if got := d.Match(`"` + s + `"`); got != want {
					t.Errorf("%s, %q: %v", pattern, s, got)
				}
			}
		}
	}
	if looked < 400 {
		t.Errorf("%d patterns with look-aheads", looked)
	}
}

// word is the word of n letters that bits spell.
func word(n, bits int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "ab"[bits>>i&1]
	}
	return string(b)
}
