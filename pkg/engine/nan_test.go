package engine

import (
	"math"
	"testing"
)

// A NaN of either sign is found at every place; infinities and other numbers are not NaN.
func TestHasNaN(t *testing.T) {
	quiet, signalling := math.Float32frombits(0xffc00001), math.Float32frombits(0x7f800001)
	for at := range 9 {
		for _, v := range []float32{0, float32(math.Copysign(0, -1)), -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), quiet, signalling, float32(math.NaN())} {
			x := make([]float32, 9)
			x[at] = v
			if got := hasNaN(x); got != (v != v) {
				t.Errorf("%v at %d: %v", v, at, got)
			}
		}
	}
}
