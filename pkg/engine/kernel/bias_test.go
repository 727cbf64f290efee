package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
)

// normals returns n random numbers.
func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// stored returns keys and values of tokens (n, dim) as Attend reads them.
func stored(k *kernel.Kernels, keys, values []float32, dim int) kernel.KV {
	n := len(keys) / dim
	size, all := kernel.KVLen(kernel.KVF32, n, dim)
	store := make([]float32, size+all)
	kv := kernel.KV{Keys: store[:size], Values: store[size:], Dim: dim}
	k.Store(kv, 0, keys, values, n, dim)
	return kv
}

// checkBiased compares the result of a query that sees n keys with the definition. Scores have the
// factor ½, and bias is that of a key.
func checkBiased(t *testing.T, what string, got, query, keys, values []float32, n int, bias func(j int) float32) {
	t.Helper()
	dim := len(query)
	want, total := make([]float64, dim), 0.0
	for j := range n {
		score := 0.0
		for d := range dim {
			score += float64(query[d]) * float64(keys[j*dim+d])
		}
		p := math.Exp(score/2 + float64(bias(j)))
		total += p
		for d := range dim {
			want[d] += p * float64(values[j*dim+d])
		}
	}
	for d := range dim {
		if got := float64(got[d]); !(math.Abs(got-want[d]/total) < 1e-4) {
			t.Fatalf("%s: %v, want %v", what, got, want[d]/total)
		}
	}
}

// Biases are added to the scores of their distances, in every block of keys and tile of
// queries: the result is that of the definition.
func TestAttendBiases(t *testing.T) {
	const dim, heads = 8, 2
	rng := rand.New(rand.NewPCG(4, 2))
	for _, k := range kernel.Implementations() {
		for _, n := range []int{1, 2, 13, 129, 300} {
			queries, keys, values := normals(rng, n*heads*dim), normals(rng, n*dim), normals(rng, n*dim)
			biases := [][]float32{normals(rng, 2*n-1), normals(rng, 2*n-1)}
			out := make([]float32, n*heads*dim)
			k.Attend(kernel.NewAttention(dim), &kernel.Queries{
				In: slices.Clone(queries), Out: out, InStride: heads * dim, OutStride: heads * dim, Tokens: n, Heads: heads, Seen: n, Scale: 0.5, Biases: biases,
			}, stored(k, keys, values, dim))
			for i := range n * heads {
				token, head := i/heads, i%heads
				what := fmt.Sprintf("%v, %d tokens: token %d, head %d", k, n, token, head)
				checkBiased(t, what, out[i*dim:(i+1)*dim], queries[i*dim:(i+1)*dim], keys, values, n, func(j int) float32 { return biases[head][j-token+n-1] })
			}
		}
	}
}

// Causal biases are those of the distance from the key to the token, in whatever pieces the tokens
// come.
func TestAttendCausalBiases(t *testing.T) {
	const dim, n = 4, 300
	rng := rand.New(rand.NewPCG(4, 3))
	for _, k := range kernel.Implementations() {
		queries, keys, values, biases := normals(rng, n*dim), normals(rng, n*dim), normals(rng, n*dim), normals(rng, n)
		kv := stored(k, keys, values, dim)
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
				what := fmt.Sprintf("%v, pieces of %d: token %d", k, piece, i)
				checkBiased(t, what, out[i*dim:(i+1)*dim], queries[i*dim:(i+1)*dim], keys, values, i+1, func(j int) float32 { return biases[n-1-(i-j)] })
			}
		}
	}
}

// Biases of pairs are added to the scores of a query and a key, in every block of keys and tile of queries.
func TestAttendPairBiases(t *testing.T) {
	const dim, heads = 8, 2
	rng := rand.New(rand.NewPCG(4, 4))
	for _, k := range kernel.Implementations() {
		for _, n := range []int{1, 2, 13, 129, 300} {
			seen := (n + 1) / 2
			queries, keys, values := normals(rng, n*heads*dim), normals(rng, n*dim), normals(rng, n*dim)
			biases, out := normals(rng, n*heads*seen), make([]float32, n*heads*dim)
			k.Attend(kernel.NewAttention(dim), &kernel.Queries{
				In: slices.Clone(queries), Out: out, InStride: heads * dim, OutStride: heads * dim, Tokens: n, Heads: heads, Seen: seen, Scale: 0.5, PairBiases: biases,
			}, stored(k, keys, values, dim))
			for i := range n * heads {
				what := fmt.Sprintf("%v, %d tokens: token %d, head %d", k, n, i/heads, i%heads)
				checkBiased(t, what, out[i*dim:(i+1)*dim], queries[i*dim:(i+1)*dim], keys, values, seen, func(j int) float32 { return biases[i*seen+j] })
			}
		}
	}
}
