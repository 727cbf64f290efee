package sampler

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"glossa/pkg/engine/kernel"
)

// A Logprob is a token and the natural logarithm of its probability.
type Logprob struct {
	ID      int
	Logprob float64
}

// Logprobs returns the log-probability of token id under the raw logits and the k
// likeliest of the first tokens ids, best first. Sums are in float64.
func Logprobs(kernels *kernel.Kernels, logits []float32, tokens, id, k int) (chosen float64, top []Logprob) {
	var weights [block]float64
	peak, sum := kernels.Largest(logits), 0.0
	for at := 0; at < len(logits); at += block {
		sum += kernels.Weights(weights[:], logits[at:min(at+block, len(logits))], peak, 1)
	}
	norm := float64(peak) + math.Log(sum)
	for _, best := range ranking(kernels, logits[:tokens], k) {
		top = append(top, Logprob{best.id, best.key - norm})
	}
	return float64(kernel.Finite(logits[id])) - norm, top
}

// spare has the memory of earlier rankings: each token needs one.
var spare = sync.Pool{New: func() any { return new(candidates) }}

// ranking returns the k likeliest tokens, best first.
func ranking(kernels *kernel.Kernels, logits []float32, k int) []ranked {
	k = min(k, len(logits))
	if k == 0 {
		return nil
	}
	c := spare.Get().(*candidates)
	defer spare.Put(c)
	c.kernels = kernels
	c.best(logits, k)
	list := make([]ranked, k)
	for i, id := range c.ids {
		list[i] = ranked{id: id, key: float64(c.logits[i])}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.key, a.key) })
	return list
}
