package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
)

// Biases are added to the scores of their distances, in every block of keys and tile of
// queries: the result is that of the definition.
func TestAttendBiases(t *testing.T) {
	const dim, heads = 8, 2
	rng := rand.New(rand.NewPCG(4, 2))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	for _, k := range kernel.Implementations() {
		for _, n := range []int{1, 2, 13, 129, 300} {
			queries, keys, values := random(n*heads*dim), random(n*dim), random(n*dim)
			biases := [][]float32{random(2*n - 1), random(2*n - 1)}
			size, all := kernel.KVLen(n, dim)
			store := make([]float32, size+all)
			kv := kernel.KV{Keys: store[:size], Values: store[size:], Dim: dim}
			k.Store(kv, 0, keys, values, n, dim)
			out := make([]float32, n*heads*dim)
			k.Attend(kernel.NewAttention(dim), &kernel.Queries{
				In: slices.Clone(queries), Out: out, InStride: heads * dim, OutStride: heads * dim, Tokens: n, Heads: heads, Seen: n, Scale: 0.5, Biases: biases,
			}, kv)
			for i := range n * heads {
				token, head := i/heads, i%heads
				want, total := make([]float64, dim), 0.0
				for j := range n {
					score := 0.0
					for d := range dim {
						score += float64(queries[i*dim+d]) * float64(keys[j*dim+d])
					}
					p := math.Exp(score/2 + float64(biases[head][j-token+n-1]))
					total += p
					for d := range dim {
						want[d] += p * float64(values[j*dim+d])
					}
				}
				for d := range dim {
					if got := float64(out[i*dim+d]); !(math.Abs(got-want[d]/total) < 1e-4) {
						t.Fatalf("%v, %d tokens: token %d, head %d: %v, want %v", k, n, token, head, got, want[d]/total)
					}
				}
			}
		}
	}
}
