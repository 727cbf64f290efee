package sampler

import (
	"math"

	"glossa/pkg/engine/kernel"
)

// A bias is an entry of [Config.LogitBias].
type bias struct {
	id  int
	add float64
}

// observed is the number of occurrences of a token.
type observed struct{ id, count int }

// Observe counts a token for the penalties: each sampled one and, if the request asks for
// it, those of the prompt.
func (s *Sampler) Observe(id int) {
	i, ok := s.index[id]
	if !ok {
		i = len(s.observed)
		s.index[id] = i
		s.observed = append(s.observed, observed{id: id})
	}
	s.observed[i].count++
}

// penalised returns the logits after the bias and then the penalties of the observed
// tokens, in scratch if there are any.
//
//	repetition: l > 0: l/r, else l*r    (Keskar et al. 2019, 4.1; once a token)
//	presence:   l -= p                  (Aleph Alpha, presence_penalty)
//	frequency:  l -= f*count            (Aleph Alpha, frequency_penalty)
//
// With MultiplyPresence, MultiplyFrequency they scale like the repetition penalty, r =
// 1+p and r = 1+f*count: Aleph Alpha's documentation names this form without a formula.
func (s *Sampler) penalised(logits []float32) []float32 {
	seen := s.seen()
	if len(s.bias) == 0 && len(seen) == 0 {
		return logits
	}
	s.logits = append(s.logits[:0], logits...)
	for _, b := range s.bias {
		s.logits[b.id] = b.apply(s.logits[b.id])
	}
	for _, o := range seen {
		s.logits[o.id] = s.cfg.apply(s.logits[o.id], o.count)
	}
	return s.logits
}

// seen returns the tokens that penalties change.
func (s *Sampler) seen() []observed {
	c := &s.cfg
	if (c.RepetitionPenalty == 0 || c.RepetitionPenalty == 1) && c.PresencePenalty == 0 && c.FrequencyPenalty == 0 {
		return nil
	}
	return s.observed
}

// apply adds the bias to a logit.
func (b *bias) apply(l float32) float32 { return float32(float64(kernel.Finite(l)) + b.add) }

// apply returns the logit l after the penalties, of a token that occurred count times.
func (c *Config) apply(l float32, count int) float32 {
	return float32(c.penalise(float64(kernel.Finite(l)), float64(count)))
}

// penalise returns the logit l of a token that occurred count times.
func (c *Config) penalise(l, count float64) float64 {
	if r := c.RepetitionPenalty; r != 0 {
		l = shrink(l, r)
	}
	presence, frequency := c.PresencePenalty, float64(c.FrequencyPenalty*count) // the conversion prevents fusing
	if c.MultiplyPresence {
		l, presence = shrink(l, 1+presence), 0
	}
	if c.MultiplyFrequency {
		l, frequency = shrink(l, 1+frequency), 0
	}
	return l - (presence + frequency)
}

// shrink makes a logit less likely by the factor r, whatever its sign. A factor
// that is not positive has no meaning as one and bans the token.
func shrink(l, r float64) float64 {
	switch {
	case r <= 0:
		return math.Inf(-1)
	case l > 0:
		return l / r
	}
	return l * r
}
