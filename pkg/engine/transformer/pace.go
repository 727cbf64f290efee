package transformer

import (
	"math/bits"

	"glossa/pkg/engine/faster"
)

// A pace chooses how a pass is computed: by a team or by one worker, in portions or as a whole. A team
// is slower if other processors of the machine are busy, because workers that wait for each other are
// as slow as the slowest. Portions are slower if the weights are read more slowly than multiplied.
type pace [8]faster.Choice // by the number of tokens: 1, 2-3, 4-7, ...

func (p *pace) of(tokens int) *faster.Choice { return &p[min(bits.Len(uint(tokens)), len(p))-1] }

// work estimates the multiplications between two barriers of a pass over layers of
// weights: a layer has about five.
func (m *Model) work(tokens, layers int) int64 {
	return m.active / int64(5*max(1, layers)) * int64(tokens)
}

// Small reports whether a token of a decoder is too little work for two workers.
func (m *Model) Small() bool {
	return len(m.decoder) > 0 && m.work(1, len(m.decoder)) < worthSharing
}
