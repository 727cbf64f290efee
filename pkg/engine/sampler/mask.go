package sampler

import (
	"math"
	"math/bits"
	"slices"

	"glossa/pkg/engine/kernel"
)

// A Mask holds the tokens that may be chosen. It is applied after the bias and the
// penalties: later steps see only the allowed tokens. Its fields are those of the same names
// in package grammar's Mask.
type Mask struct {
	Bits  []uint64 // a bit a token, at most as many as there are logits
	Count int      // of the set bits: at least 1

	// Closers, if not nil, are the bits of favoured tokens: Pull is added to the logits
	// of the allowed ones.
	Closers []uint64
	Pull    float32
}

// SampleMasked is [Sampler.Sample] restricted to the tokens that m allows.
func (s *Sampler) SampleMasked(logits []float32, step int, m *Mask) int {
	if m.Count == 1 {
		return m.at(0) // without a draw: other steps have their own
	}
	return s.SampleMaskedAt(logits, Uniform(s.cfg.Seed, s.cfg.Row, step), m)
}

// SampleMaskedAt is SampleMasked with the draw u, in [0, 1), given.
func (s *Sampler) SampleMaskedAt(logits []float32, u float64, m *Mask) int {
	return m.at(s.choose(s.masked(logits, m), u))
}

// masked returns the logits of the allowed tokens, ordered by id, after the bias, the
// penalties and the pull. Later steps need no mask: kernels process all values, and no
// logit value is reserved for tokens that are not allowed.
func (s *Sampler) masked(logits []float32, m *Mask) []float32 {
	s.gather(logits, m)
	for _, b := range s.bias {
		if i := s.place(m, b.id); i >= 0 {
			s.logits[i] = b.apply(s.logits[i])
		}
	}
	for _, o := range s.seen() {
		if i := s.place(m, o.id); i >= 0 {
			s.logits[i] = s.cfg.apply(s.logits[i], o.count)
		}
	}
	if m.Pull != 0 {
		s.pull(m)
	}
	return s.logits
}

// manyRuns is the number of runs of allowed tokens in a word from which it is faster to
// examine each token.
const manyRuns = 8

// gather copies the logits of the allowed tokens, and counts for each word of the mask
// the tokens before it.
func (s *Sampler) gather(logits []float32, m *Mask) {
	s.before = s.before[:0]
	dst, n := slices.Grow(s.logits[:0], m.Count+64), 0
	for i, word := range m.Bits {
		s.before = append(s.before, int32(n))
		if word == 0 {
			continue
		}
		x, out := logits[i*64:min(i*64+64, len(logits))], dst[n:n+64]
		if bits.OnesCount64(word&^(word<<1)) >= manyRuns {
			n += pick(out, x, word)
		} else {
			n += copyRuns(out, x, word)
		}
	}
	s.logits = dst[:n]
}

// pick copies the values of x whose bits are set, and possibly others after them, and
// returns their number. It examines each value, without a branch.
func pick(dst, x []float32, word uint64) (n int) {
	for _, l := range x {
		dst[n&63] = l
		n += int(word & 1)
		word >>= 1
	}
	return n
}

// copyRuns is pick by runs of set bits.
func copyRuns(dst, x []float32, word uint64) (n int) {
	for at := 0; word != 0; {
		skip := bits.TrailingZeros64(word)
		run := bits.TrailingZeros64(^(word >> skip))
		at += skip
		n += copy(dst[n:], x[at:at+run])
		at += run
		word = word >> skip >> run
	}
	return n
}

// place returns the index of a token in the gathered logits, -1 if it is not allowed.
func (s *Sampler) place(m *Mask, id int) int {
	i, bit := id/64, uint64(1)<<(id%64)
	if i >= len(m.Bits) || m.Bits[i]&bit == 0 {
		return -1
	}
	return int(s.before[i]) + bits.OnesCount64(m.Bits[i]&(bit-1))
}

// pull favours the closers.
func (s *Sampler) pull(m *Mask) {
	for i, word := range m.Closers[:min(len(m.Closers), len(m.Bits))] {
		for word &= m.Bits[i]; word != 0; word &= word - 1 {
			at := int(s.before[i]) + bits.OnesCount64(m.Bits[i]&(word&-word-1))
			s.logits[at] = float32(float64(kernel.Finite(s.logits[at])) + float64(m.Pull))
		}
	}
}

// at returns the id of the allowed token after n others.
func (m *Mask) at(n int) int {
	for i, word := range m.Bits {
		if c := bits.OnesCount64(word); n >= c {
			n -= c
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return i*64 + bits.TrailingZeros64(word)
	}
	return math.MaxInt // Count is wrong
}
