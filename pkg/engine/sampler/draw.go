package sampler

import (
	"math"

	"glossa/pkg/engine/kernel"
)

// sum returns the sum of the weights of all tokens and keeps that of each block.
func (s *Sampler) sum(x []float32, top float32) float64 {
	total := 0.0
	s.sums = s.sums[:0]
	for at := 0; at < len(x); at += block {
		w := s.cfg.Kernels.Weights(s.weights[:], x[at:min(at+block, len(x))], top, s.scale)
		s.sums = append(s.sums, w)
		total += w
	}
	return total
}

// drawAny draws from all tokens: first the block, then the token within it.
func (s *Sampler) drawAny(x []float32, top float32, u float64) int {
	total := s.sum(x, top)
	b, left := walk(s.sums, u*total)
	x = x[b*block : min((b+1)*block, len(x))]
	s.cfg.Kernels.Weights(s.weights[:], x, top, s.scale)
	at, _ := walk(s.weights[:len(x)], left)
	return b*block + at
}

// topP keeps the smallest head whose mass reaches TopP (Holtzman et al. 2020): of the
// tokens of x or, if limited, of the candidates.
func (s *Sampler) topP(x []float32, top float32, limited bool) {
	p := s.cfg.TopP
	if limited {
		s.kept.cut(p*s.kept.weigh(top, s.scale), byLogit)
		return
	}
	// Tokens with less than (1-p)/n each are not in the head if there are at most n of
	// them. Usually this also holds for a much smaller n, which leaves few tokens.
	total := s.sum(x, top)
	for n := 64.0; ; n *= 64 {
		bound := float64(top) + math.Log((1-p)/n*total)/s.scale
		s.kept.reset()
		s.kept.add(x, 0, float32(bound), math.MaxFloat32)
		if s.kept.weigh(top, s.scale) >= p*total || len(s.kept.ids) == len(x) {
			s.kept.cut(p*total, byLogit)
			return
		}
	}
}

// typical keeps the tokens whose information is nearest to the entropy, as many as reach
// the mass TypicalP (Meister et al. 2022): of the tokens of x or, if limited, of the
// candidates. With a = (l-top)/temperature the information is log Σ exp(a) - a and the
// entropy its mean, so their difference is that of a from its mean.
func (s *Sampler) typical(x []float32, top float32, limited bool) {
	p, total, mean := s.cfg.TypicalP, 0.0, 0.0
	if limited {
		total, mean, _ = s.moments(s.kept.logits, top)
		s.kept.weigh(top, s.scale)
	} else {
		total, mean = s.near(x, top)
	}
	s.kept.cut(p*total, func(l float32) float64 { return -math.Abs(s.exponent(l, top) - mean) })
}

// near keeps the tokens within as many deviations of the mean as their mass needs to
// reach TypicalP. It returns the sum of all weights and the mean of the exponents.
func (s *Sampler) near(x []float32, top float32) (total, mean float64) {
	total, mean, deviation := s.moments(x, top)
	for r := max(2*deviation, 1e-9); ; r *= 4 {
		low, high := float64(top)+(mean-r)/s.scale, float64(top)+(mean+r)/s.scale
		s.kept.reset()
		s.kept.add(x, 0, float32(low), float32(high))
		if s.kept.weigh(top, s.scale) >= s.cfg.TypicalP*total || len(s.kept.ids) == len(x) {
			return total, mean
		}
	}
}

// exponent returns (l-top)/temperature.
func (s *Sampler) exponent(l, top float32) float64 {
	return float64((float64(kernel.Finite(l)) - float64(top)) * s.scale)
}

// moments returns the sum of the weights of x, and the mean and the standard deviation of
// the exponents with these weights.
func (s *Sampler) moments(x []float32, top float32) (total, mean, deviation float64) {
	var first, second float64
	for at := 0; at < len(x); at += block {
		part := x[at:min(at+block, len(x))]
		total += s.cfg.Kernels.Weights(s.weights[:], part, top, s.scale)
		for i, w := range s.weights[:len(part)] {
			if w > 0 { // then the exponent is not large
				a := s.exponent(part[i], top)
				wa := float64(w * a)
				first += wa
				second += float64(wa * a)
			}
		}
	}
	mean = first / total
	return total, mean, math.Sqrt(max(0, second/total-float64(mean*mean)))
}
