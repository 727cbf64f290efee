package sampler

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
)

// Every implementation gives the same log-probabilities, to the bit, and the ranking of a
// full sort.
func TestLogprobsToTheBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 5, 255, 256, 257, 3000}
	if testing.Short() {
		sizes = sizes[:5]
	}
	for _, n := range sizes {
		for _, step := range []float64{0, 0.5, 40} { // between equals; 0: none are
			logits := make([]float32, n)
			for i := range logits {
				x := rng.NormFloat64() * 30
				if step > 0 {
					x = math.Round(x/step) * step
				}
				logits[i] = float32(x)
			}
			logits[rng.IntN(n)] = float32(math.NaN())
			sorted := make([]int, n)
			for i := range sorted {
				sorted[i] = i
			}
			slices.SortStableFunc(sorted, func(a, b int) int {
				return cmp.Compare(kernel.Finite(logits[b]), kernel.Finite(logits[a]))
			})
			for _, k := range []int{0, 1, 3, 100, 2 * n} {
				want, _ := Logprobs(&kernel.Kernels{}, logits, n, n/2, k)
				for _, kernels := range kernel.Implementations() {
					got, top := Logprobs(kernels, logits, n, n/2, k)
					if math.Float64bits(got) != math.Float64bits(want) || len(top) != min(k, n) {
						t.Errorf("%s: %v and %d alternatives, want %v and %d", kernels.Name(), got, len(top), want, min(k, n))
					}
					for i, a := range top {
						if b, _ := Logprobs(&kernel.Kernels{}, logits, n, a.ID, 0); a.ID != sorted[i] || a.Logprob != b {
							t.Fatalf("%s: alternative %d of %d is %+v, want %d with %v", kernels.Name(), i, n, a, sorted[i], b)
						}
					}
				}
			}
		}
	}
}
