package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// alibiSlopes returns the slopes of heads (Press et al. 2022): powers of 2^(-8/n) for the
// largest power of two n that is not above the number of heads, then every second one of
// those for 2n.
func alibiSlopes(heads int) []float32 {
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	slopes := make([]float32, heads)
	for i := range slopes {
		base, power := math.Exp2(-8/float64(n)), i+1
		if i >= n {
			base, power = math.Exp2(-4/float64(n)), 2*(i-n)+1
		}
		slopes[i] = float32(math.Pow(float64(float32(base)), float64(power)))
	}
	return slopes
}

// setSlopes gives the heads of all layers, which are of one kind, the slopes of ALiBi.
func setSlopes(s *transformer.Spec) {
	a := &s.Kinds[0].Attention
	a.Slopes = alibiSlopes(a.Heads)
}

// roundBF16 rounds to bfloat16, to the nearest even.
func roundBF16(v float32) float32 {
	b := math.Float32bits(v)
	b += 0x7fff + b>>16&1
	return math.Float32frombits(b &^ 0xffff)
}
