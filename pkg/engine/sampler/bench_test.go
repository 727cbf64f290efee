package sampler_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
)

// peaked returns logits like those of a trained model: they fall by 1.5 with each
// doubling of the rank (a power law of the probabilities), in a random order.
func peaked(rng *rand.Rand, vocab int) []float32 {
	logits := make([]float32, vocab)
	for rank, id := range rng.Perm(vocab) {
		logits[id] = float32(12 - 1.5*math.Log2(float64(1+rank)) + 0.5*rng.NormFloat64())
	}
	return logits
}

// flat returns logits like those of a model with random weights.
func flat(rng *rand.Rand, vocab int) []float32 {
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(rng.NormFloat64())
	}
	return logits
}

var benchmarks = []struct {
	name     string
	cfg      sampler.Config
	observed int // distinct tokens
}{
	{"greedy", sampler.Config{}, 0},
	{"temperature", sampler.Config{Temperature: 0.8}, 0},
	{"top_k", sampler.Config{Temperature: 0.8, TopK: 40}, 0},
	{"top_p", sampler.Config{Temperature: 0.8, TopP: 0.9}, 0},
	{"top_k+top_p", sampler.Config{Temperature: 0.8, TopK: 40, TopP: 0.9}, 0},
	{"typical_p", sampler.Config{Temperature: 0.8, TypicalP: 0.9}, 0},
	{"repetition", sampler.Config{Temperature: 0.8, TopK: 40, RepetitionPenalty: 1.1}, 500},
}

func BenchmarkSample(b *testing.B) {
	for _, vocab := range []int{2048, 50257, 128256} {
		for shape, logitsOf := range map[string]func(*rand.Rand, int) []float32{"peaked": peaked, "flat": flat} {
			logits := logitsOf(rand.New(rand.NewPCG(1, 2)), vocab)
			for _, c := range benchmarks {
				b.Run(fmt.Sprintf("%d/%s/%s", vocab, shape, c.name), func(b *testing.B) {
					s, err := sampler.New(c.cfg, vocab)
					if err != nil {
						b.Fatal(err)
					}
					for i := range c.observed {
						s.Observe(i * 4)
					}
					step := 0
					b.ReportAllocs()
					for b.Loop() {
						s.Sample(logits, step)
						step++
					}
				})
			}
			b.Run(fmt.Sprintf("%d/%s/logprobs", vocab, shape), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sampler.Logprobs(kernel.Best(), logits, vocab, 7, 5)
				}
			})
		}
	}
}
