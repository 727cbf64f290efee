package sampler

import "math"

// A Logprob is a token and the natural logarithm of its probability.
type Logprob struct {
	ID      int
	Logprob float64
}

// Logprobs returns the log-probability of token id under the raw logits and the k
// likeliest of the first so many tokens, best first. Sums are in float64.
func Logprobs(logits []float32, tokens, id, k int) (chosen float64, top []Logprob) {
	peak := math.Inf(-1)
	for _, l := range logits {
		peak = max(peak, finite(float64(l)))
	}
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(finite(float64(l)) - peak)
	}
	norm := peak + math.Log(sum)
	for _, best := range Top(logits[:tokens], k) {
		top = append(top, Logprob{best, finite(float64(logits[best])) - norm})
	}
	return finite(float64(logits[id])) - norm, top
}

// Top returns the ids of the k largest logits, largest first, equals by id.
func Top(logits []float32, k int) []int {
	k = min(k, len(logits))
	best := make([]int, 0, k)
	value := func(id int) float64 { return finite(float64(logits[id])) } // as the sampler reads it
	for id := range logits {
		l := value(id)
		if len(best) == k && (k == 0 || l <= value(best[k-1])) {
			continue
		}
		if len(best) < k {
			best = append(best, id)
		} else {
			best[k-1] = id
		}
		for i := len(best) - 1; i > 0 && l > value(best[i-1]); i-- {
			best[i], best[i-1] = best[i-1], best[i]
		}
	}
	return best
}
