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

// Causal biases are those of the distance from the key to the token, in whatever pieces the tokens
// come.
func TestAttendCausalBiases(t *testing.T) {
	const dim, n = 4, 300
	rng := rand.New(rand.NewPCG(4, 3))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	for _, k := range kernel.Implementations() {
		queries, keys, values, biases := random(n*dim), random(n*dim), random(n*dim), random(n)
		size, all := kernel.KVLen(n, dim)
		store := make([]float32, size+all)
		kv := kernel.KV{Keys: store[:size], Values: store[size:], Dim: dim}
		k.Store(kv, 0, keys, values, n, dim)
		for _, piece := range []int{1, 7, 130, n} {
			out := make([]float32, n*dim)
			for at := 0; at < n; at += piece {
				tokens := min(piece, n-at)
				k.Attend(kernel.NewAttention(dim), &kernel.Queries{
					In: queries[at*dim:], Out: out[at*dim:], InStride: dim, OutStride: dim, Tokens: tokens, Heads: 1, Seen: at + 1, Causal: true, Scale: 0.5,
					Biases: [][]float32{biases[n-at-tokens:]},
				}, kv)
			}
			for i := range n {
				want, total := make([]float64, dim), 0.0
				for j := range i + 1 {
					score := 0.0
					for d := range dim {
						score += float64(queries[i*dim+d]) * float64(keys[j*dim+d])
					}
					p := math.Exp(score/2 + float64(biases[n-1-(i-j)]))
					total += p
					for d := range dim {
						want[d] += p * float64(values[j*dim+d])
					}
				}
				for d := range dim {
					if got := float64(out[i*dim+d]); !(math.Abs(got-want[d]/total) < 1e-4) {
						t.Fatalf("%v, pieces of %d: token %d: %v, want %v", k, piece, i, got, want[d]/total)
					}
				}
			}
		}
	}
}
