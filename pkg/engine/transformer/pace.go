package transformer

import (
	"math/bits"

	"glossa/pkg/engine/faster"
)

// A pace chooses how a pass is computed: by a team or by one worker, in portions or as a whole. A team
// is slower if other processors of the machine are busy, because workers that wait for each other are
// as slow as the slowest. Portions are slower if the weights are read more slowly than multiplied. After a
// rest, workers are to be woken, and a virtual processor that has slept may share its core with others
// for milliseconds.
type pace [2][8]faster.Choice // by whether the team has rested, and by the number of tokens: 1, 2-3, 4-7, ...

func (p *pace) of(t *Team, tokens int) *faster.Choice {
	choices := &p[0]
	if t.rested() {
		choices = &p[1]
	}
	return &choices[min(bits.Len(uint(tokens)), len(choices))-1]
}

// work estimates the multiplications between two barriers of a pass over layers of
// weights: a layer has about five.
func (m *Model) work(tokens, layers int) int64 {
	return m.active / int64(5*max(1, layers)) * int64(tokens)
}

// Small reports whether a token of a decoder is too little work for two workers.
func (m *Model) Small() bool {
	return len(m.decoder) > 0 && m.work(1, len(m.decoder)) < worthSharing
}
