package sampler

import "math"

// penalise applies the bias and then the penalties of the observed tokens.
//
//	repetition: l > 0: l/r, else l*r    (Keskar et al. 2019, 4.1; once a token)
//	presence:   l -= p                  (seed 000, presence_penalty)
//	frequency:  l -= f*count            (seed 000, frequency_penalty)
//
// With Multiply the latter two scale like the repetition penalty, r = 1+p and
// r = 1+f*count: seed 000 names this form without giving its formula.
func (s *Sampler) penalise() {
	for id, b := range s.cfg.LogitBias {
		s.cand[id].l = finite(s.cand[id].l + b)
	}
	c := &s.cfg
	if (c.RepetitionPenalty == 0 || c.RepetitionPenalty == 1) && c.PresencePenalty == 0 && c.FrequencyPenalty == 0 {
		return
	}
	for id, count := range s.counts {
		l := &s.cand[id].l
		if r := c.RepetitionPenalty; r != 0 {
			*l = shrink(*l, r)
		}
		if c.Multiply {
			*l = shrink(*l, 1+c.PresencePenalty)
			*l = shrink(*l, 1+c.FrequencyPenalty*float64(count))
		} else {
			*l -= c.PresencePenalty + c.FrequencyPenalty*float64(count)
		}
		*l = finite(*l)
	}
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
