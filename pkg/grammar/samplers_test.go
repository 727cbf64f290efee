package grammar_test

import (
	"math/bits"
	"math/rand/v2"
	"strings"

	"glossa/pkg/grammar/pushdown"
)

// A writer writes one text token by token.
type writer struct {
	constraint *pushdown.Constraint
	at         *pushdown.Matcher
	vocab      *vocabulary
	random     *rand.Rand
	taken      []int
}

// A sampler chooses one of the allowed tokens, or -1 to end the text if it may end.
type sampler struct {
	name   string
	choose func(w *writer, allowed []int) int
}

// samplers are a uniform model and some adversaries: they steer away from the end of the
// text, where ending becomes harder.
var samplers = []sampler{
	{"uniform", func(w *writer, allowed []int) int {
		if i := w.random.IntN(len(allowed) + 1); i < len(allowed) {
			return allowed[i]
		}
		return -1
	}},
	{"first", func(_ *writer, allowed []int) int { return allowed[0] }},
	{"last", func(_ *writer, allowed []int) int { return allowed[len(allowed)-1] }},
	{"longest", func(w *writer, allowed []int) int {
		return w.best(allowed, func(id int) int { return len(w.vocab.tokens[id]) })
	}},
	{"never a closer", func(w *writer, allowed []int) int {
		return w.best(allowed, func(id int) int {
			if strings.ContainsAny(w.vocab.tokens[id], `"}]`) {
				return 0
			}
			return 1
		})
	}},
	{"opener", func(w *writer, allowed []int) int {
		return w.best(allowed, func(id int) int {
			return strings.Count(w.vocab.tokens[id], "{") + strings.Count(w.vocab.tokens[id], "[")
		})
	}},
	{"costliest", func(w *writer, allowed []int) int {
		if len(allowed) > tries {
			w.random.Shuffle(len(allowed), func(i, j int) { allowed[i], allowed[j] = allowed[j], allowed[i] })
			allowed = allowed[:tries]
		}
		return w.best(allowed, func(id int) int {
			m := w.replay()
			m.Take(id)
			return m.Cost()
		})
	}},
}

// tries is the number of tokens whose cost is computed.
const tries = 12

// best returns a random token among those with the highest score.
func (w *writer) best(allowed []int, score func(id int) int) int {
	var top []int
	most := 0
	for _, id := range allowed {
		s := score(id)
		if s > most {
			top, most = top[:0], s
		}
		if s == most {
			top = append(top, id)
		}
	}
	return top[w.random.IntN(len(top))]
}

// replay returns another matcher at the same place.
func (w *writer) replay() *pushdown.Matcher {
	m := w.constraint.Start()
	for _, id := range w.taken {
		m.Take(id)
	}
	return m
}

// text returns the text written so far.
func (w *writer) text() string {
	var b strings.Builder
	for _, id := range w.taken {
		b.WriteString(w.vocab.tokens[id])
	}
	return b.String()
}

// list returns the tokens of a mask, in order.
func list(m *pushdown.Mask) []int {
	ids := make([]int, 0, m.Count)
	for i, w := range m.Bits {
		for ; w != 0; w &= w - 1 {
			ids = append(ids, i*64+bits.TrailingZeros64(w))
		}
	}
	return ids
}
