package sampler_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
)

// newMask returns a mask of the tokens for which allowed returns true, and closers.
func newMask(vocab int, allowed, closer func(id int) bool, pull float32) *sampler.Mask {
	m := &sampler.Mask{Bits: make([]uint64, (vocab+63)/64), Closers: make([]uint64, (vocab+63)/64), Pull: pull}
	for id := range vocab {
		if allowed(id) {
			m.Bits[id/64] |= 1 << (id % 64)
			m.Count++
		}
		if closer(id) {
			m.Closers[id/64] |= 1 << (id % 64)
		}
	}
	return m
}

func has(mask []uint64, id int) bool { return mask[id/64]>>(id%64)&1 != 0 }

// masks make masks of many kinds, of at least one token.
var masks = []func(rng *rand.Rand, vocab int) *sampler.Mask{
	func(rng *rand.Rand, vocab int) *sampler.Mask { return randomMask(rng, vocab, 1, 0, 0) },
	func(rng *rand.Rand, vocab int) *sampler.Mask { return randomMask(rng, vocab, 0.97, 0, 0) },
	func(rng *rand.Rand, vocab int) *sampler.Mask { return randomMask(rng, vocab, 0.5, 0.3, 4) },
	func(rng *rand.Rand, vocab int) *sampler.Mask { return randomMask(rng, vocab, 0.05, 0.5, 1) },
	func(rng *rand.Rand, vocab int) *sampler.Mask {
		return randomMask(rng, vocab, 3/float64(vocab), 0.5, 30)
	},
	func(rng *rand.Rand, vocab int) *sampler.Mask { return randomMask(rng, vocab, 0, 1, 3) },
}

func randomMask(rng *rand.Rand, vocab int, allowed, closers float64, pull float32) *sampler.Mask {
	one := rng.IntN(vocab)
	return newMask(vocab, func(id int) bool { return id == one || rng.Float64() < allowed },
		func(int) bool { return rng.Float64() < closers }, pull)
}

// naiveMasked returns the allowed tokens that the definitions leave to draw from.
func naiveMasked(cfg sampler.Config, logits []float32, m *sampler.Mask, seen ...int) []token {
	counts := map[int]int{}
	for _, id := range seen {
		counts[id]++
	}
	var all []token
	for id, l := range logits {
		if !has(m.Bits, id) {
			continue
		}
		x := penalised(cfg, id, finite(float64(l)), counts[id])
		if has(m.Closers, id) {
			x = finite(float64(float32(x + float64(m.Pull))))
		}
		all = append(all, token{id: id, l: x})
	}
	return keep(cfg, all)
}

// Every implementation chooses the tokens of the definitions, restricted to the allowed
// ones, whatever the logits of the others are.
func TestMaskAgainstDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 4000 {
		vocab := 1 + rng.IntN(200)
		switch {
		case i%500 == 0:
			vocab = 20000 + rng.IntN(20000)
		case i%4 == 0:
			vocab = 1 + rng.IntN(2000)
		}
		shape := rng.IntN(len(shapes))
		logits, cfg := shapes[shape](rng, vocab), randomConfig(rng, vocab)
		if i%7 == 0 {
			cfg.Temperature, cfg.TypicalP = math.MaxFloat32, 0 // nothing is unlikely, nor more typical
		}
		m := masks[rng.IntN(len(masks))](rng, vocab)
		if i%11 == 0 { // all allowed tokens have the lowest logit
			for id := range logits {
				if has(m.Bits, id) {
					logits[id] = []float32{float32(math.NaN()), float32(math.Inf(-1)), -math.MaxFloat32}[rng.IntN(3)]
				}
			}
		}
		var seen []int
		for range rng.IntN(20) {
			seen = append(seen, rng.IntN(vocab))
		}
		want := naiveMasked(cfg, logits, m, seen...)
		for _, k := range kernel.Implementations() {
			cfg.Kernels = k
			s := newSampler(t, cfg, vocab, seen...)
			for _, u := range []float64{0, rng.Float64(), rng.Float64(), 1 - 1e-9} {
				if got, want := s.SampleMaskedAt(logits, u, m), choose(want, u); got != want {
					t.Fatalf("%s, shape %d of %d, %d allowed: %+v after %v at %v: got %d, want %d",
						k.Name(), shape, vocab, m.Count, cfg, seen, u, got, want)
				}
			}
		}
	}
}

func newSampler(t testing.TB, cfg sampler.Config, vocab int, seen ...int) *sampler.Sampler {
	t.Helper()
	s, err := sampler.New(cfg, vocab)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range seen {
		s.Observe(id)
	}
	return s
}

// A mask of all tokens changes nothing, and one of a single token needs no draw: the
// draws of other steps stay the same.
func TestMaskOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, vocab := range []int{1, 63, 64, 65, 1000} {
		logits := flat(rng, vocab)
		all := newMask(vocab, func(int) bool { return true }, func(int) bool { return false }, 2)
		for range 50 {
			cfg := randomConfig(rng, vocab)
			s := newSampler(t, cfg, vocab, rng.IntN(vocab))
			for step := range 20 {
				one := rng.IntN(vocab)
				single := newMask(vocab, func(id int) bool { return id == one }, func(int) bool { return true }, 1)
				if got := s.SampleMasked(logits, step, single); got != one {
					t.Fatalf("token %d, only %d is allowed", got, one)
				}
				if got, want := s.SampleMasked(logits, step, all), s.Sample(logits, step); got != want {
					t.Fatalf("%+v: %d with a mask of all, %d without", cfg, got, want)
				}
			}
		}
	}
}

// Choosing an allowed token does not allocate, once the sampler has run.
func TestMaskNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	logits := peaked(rng, 5000)
	for _, c := range benchmarks {
		for _, of := range masks {
			s, m := newSampler(t, c.cfg, len(logits), 1, 2, 3), of(rng, len(logits))
			s.SampleMaskedAt(logits, 0.3, m)
			if n := testing.AllocsPerRun(10, func() { s.SampleMaskedAt(logits, 0.3, m) }); n > 0 {
				t.Errorf("%s, %d allowed: %g allocations", c.name, m.Count, n)
			}
		}
	}
}

// BenchmarkMask reports the time of a masked choice relative to one without a mask.
func BenchmarkMask(b *testing.B) {
	const vocab = 128256
	rng := rand.New(rand.NewPCG(1, 2))
	logits := peaked(rng, vocab)
	for _, allowed := range []float64{0.00005, 0.01, 0.5, 0.97} {
		m := randomMask(rng, vocab, allowed, 0, 0)
		for _, c := range benchmarks {
			s := newSampler(b, c.cfg, vocab, slices.Collect(upTo(c.observed))...)
			b.Run(fmt.Sprintf("allowed=%d/%s", m.Count, c.name), func(b *testing.B) {
				var plain, masked time.Duration
				step := 0
				for b.Loop() {
					begin := time.Now()
					s.Sample(logits, step)
					middle := time.Now()
					s.SampleMasked(logits, step, m)
					plain, masked = plain+middle.Sub(begin), masked+time.Since(middle)
					step++
				}
				b.ReportMetric(float64(masked.Microseconds())/float64(b.N), "µs")
				b.ReportMetric(float64(masked)/float64(plain), "of-plain")
			})
		}
	}
}

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i * 4) {
				return
			}
		}
	}
}
