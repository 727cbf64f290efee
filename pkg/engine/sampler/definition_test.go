package sampler_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
)

// A token is an entry of the vocabulary in the definitions.
type token struct {
	id   int
	l, p float64
}

func finite(l float64) float64 {
	if math.IsNaN(l) {
		return -math.MaxFloat32
	}
	return min(max(l, -math.MaxFloat32), math.MaxFloat32)
}

// penalised follows the definitions of the bias and of the penalties.
func penalised(cfg sampler.Config, id int, l float64, count int) float64 {
	round := func(l float64) float64 { return finite(float64(float32(l))) }
	if b, ok := cfg.LogitBias[id]; ok {
		l = round(l + b)
	}
	if count == 0 {
		return l
	}
	divide := func(r float64) {
		switch {
		case r <= 0:
			l = math.Inf(-1)
		case l > 0:
			l /= r
		default:
			l *= r
		}
	}
	if cfg.RepetitionPenalty != 0 {
		divide(cfg.RepetitionPenalty)
	}
	presence, frequency := cfg.PresencePenalty, cfg.FrequencyPenalty*float64(count)
	if cfg.MultiplyPresence {
		divide(1 + presence)
		presence = 0
	}
	if cfg.MultiplyFrequency {
		divide(1 + frequency)
		frequency = 0
	}
	l -= presence + frequency
	return round(l)
}

// naive returns the tokens that the definitions leave to draw from, by id. It simply
// sorts and sums.
func naive(cfg sampler.Config, logits []float32, seen ...int) []token {
	counts := map[int]int{}
	for _, id := range seen {
		counts[id]++
	}
	var all []token
	for id, l := range logits {
		all = append(all, token{id: id, l: penalised(cfg, id, finite(float64(l)), counts[id])})
	}
	return keep(cfg, all)
}

// keep returns the tokens that temperature, top_k, typical_p and top_p leave, by id.
func keep(cfg sampler.Config, all []token) []token {
	slices.SortFunc(all, func(a, b token) int { return cmp.Or(cmp.Compare(b.l, a.l), cmp.Compare(a.id, b.id)) })
	if cfg.Temperature == 0 {
		return all[:1]
	}
	if cfg.TopK > 0 {
		all = all[:min(cfg.TopK, len(all))]
	}
	top, sum := all[0].l, 0.0
	for i := range all {
		if a := (all[i].l - top) / cfg.Temperature; a > -708 {
			all[i].p = math.Exp(a)
		}
		sum += all[i].p
	}
	entropy := 0.0
	for i := range all {
		if all[i].p /= sum; all[i].p > 0 {
			entropy -= all[i].p * math.Log(all[i].p)
		}
	}
	limit := cfg.TopP
	if limit == 0 {
		limit = 1
	}
	if cfg.TypicalP > 0 && cfg.TypicalP < 1 {
		limit = cfg.TypicalP
		d := func(x token) float64 { return math.Abs(-math.Log(x.p) - entropy) }
		slices.SortFunc(all, func(a, b token) int { return cmp.Or(cmp.Compare(d(a), d(b)), cmp.Compare(a.id, b.id)) })
	}
	mass, n := 0.0, 0
	for ; n < len(all) && !(n > 0 && limit < 1 && mass >= limit); n++ {
		mass += all[n].p
	}
	slices.SortFunc(all[:n], func(a, b token) int { return cmp.Compare(a.id, b.id) })
	return all[:n]
}

// choose walks in the order of ids until the share u of the mass is reached.
func choose(keep []token, u float64) int {
	mass, at := 0.0, 0.0
	for _, x := range keep {
		mass += x.p
	}
	for _, x := range keep {
		if at += x.p; u*mass < at {
			return x.id
		}
	}
	return keep[len(keep)-1].id
}

// shapes make logits of many kinds.
var shapes = []func(rng *rand.Rand, n int) []float32{
	flat,
	peaked,
	func(rng *rand.Rand, n int) []float32 { // many equal values
		logits := flat(rng, n)
		for i := range logits {
			logits[i] = float32(math.Round(float64(logits[i])*2)) / 2
		}
		return logits
	},
	func(_ *rand.Rand, n int) []float32 { return make([]float32, n) },
	func(rng *rand.Rand, n int) []float32 { // wide, some not finite
		logits := flat(rng, n)
		for i := range logits {
			logits[i] *= 20
			if rng.IntN(9) == 0 {
				logits[i] = []float32{float32(math.NaN()), float32(math.Inf(-1)), -math.MaxFloat32}[rng.IntN(3)]
			}
		}
		return logits
	},
	func(rng *rand.Rand, n int) []float32 { // the likeliest last
		logits := flat(rng, n)
		slices.Sort(logits)
		return logits
	},
	func(rng *rand.Rand, n int) []float32 { // overflow
		logits := flat(rng, n)
		logits[rng.IntN(n)], logits[rng.IntN(n)] = float32(math.Inf(1)), math.MaxFloat32
		return logits
	},
}

// either returns off or, equally often, a random number from low to high.
func either(rng *rand.Rand, off, low, high float64) float64 {
	if rng.IntN(2) == 0 {
		return off
	}
	return low + (high-low)*rng.Float64()
}

func randomConfig(rng *rand.Rand, vocab int) sampler.Config {
	cfg := sampler.Config{
		Temperature:       either(rng, []float64{0, 1, 1e-300, 5e-324}[rng.IntN(4)], 0.1, 2),
		TopK:              int(either(rng, 0, 1, float64(vocab)*1.2)) / []int{1, 10}[rng.IntN(2)],
		TopP:              either(rng, []float64{0, 1, 1e-9}[rng.IntN(3)], 0, 1),
		TypicalP:          either(rng, float64(rng.IntN(2)), 0, 1) * float64(rng.IntN(2)),
		RepetitionPenalty: either(rng, float64(rng.IntN(2)), 0.5, 2),
		PresencePenalty:   either(rng, 0, -2, 2),
		FrequencyPenalty:  either(rng, 0, -1, 1),
		MultiplyPresence:  rng.IntN(3) == 0,
		MultiplyFrequency: rng.IntN(3) == 0,
		LogitBias:         map[int]float64{},
	}
	for range rng.IntN(4) {
		cfg.LogitBias[rng.IntN(vocab)] = []float64{-100, 3, rng.NormFloat64(), math.MaxFloat64}[rng.IntN(4)]
	}
	return cfg
}

// Every implementation chooses the tokens of the definitions.
func TestAgainstDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		vocab := 1 + rng.IntN(60)
		switch {
		case i%500 == 0:
			vocab = 20000 + rng.IntN(20000)
		case i%4 == 0:
			vocab = 1 + rng.IntN(2000)
		}
		shape := rng.IntN(len(shapes))
		logits, cfg := shapes[shape](rng, vocab), randomConfig(rng, vocab)
		var seen []int
		for range rng.IntN(20) {
			seen = append(seen, rng.IntN(vocab))
		}
		keep := naive(cfg, logits, seen...)
		draws := []float64{0, rng.Float64(), rng.Float64(), rng.Float64(), 1 - 1e-9}
		before := slices.Clone(logits)
		for _, k := range kernel.Implementations() {
			cfg.Kernels = k
			for _, u := range draws {
				if got, want := sample(t, cfg, logits, u, seen...), choose(keep, u); got != want {
					t.Fatalf("%s, shape %d of %d: %+v after %v at %v: got %d, want %d", k.Name(), shape, vocab, cfg, seen, u, got, want)
				}
			}
		}
		for i := range logits {
			if math.Float32bits(logits[i]) != math.Float32bits(before[i]) {
				t.Fatalf("logit %d was changed", i)
			}
		}
	}
}

// The tokens of many steps have the frequencies of their probabilities.
func TestDistribution(t *testing.T) {
	const steps, vocab = 100_000, 700
	logits := peaked(rand.New(rand.NewPCG(3, 4)), vocab)
	for name, cfg := range map[string]sampler.Config{
		"all": {Temperature: 1.3}, "top_k": {Temperature: 1, TopK: 20}, "cold": {Temperature: 0.5},
	} {
		cfg.Seed = 5
		p, sum := make([]float64, vocab), 0.0
		for _, id := range sampler.Top(logits, cmp.Or(cfg.TopK, vocab)) {
			p[id] = math.Exp(float64(logits[id]) / cfg.Temperature)
			sum += p[id]
		}
		s, err := sampler.New(cfg, vocab)
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]float64, vocab)
		for step := range steps {
			counts[s.Sample(logits, step)]++
		}
		// Pearson's chi-square, with rare tokens grouped.
		square, cells, rest, expected := 0.0, -1.0, 0.0, 0.0
		cell := func(count, want float64) {
			square += (count - want) * (count - want) / want
			cells++
		}
		for id, n := range counts {
			if p[id] == 0 && n > 0 {
				t.Errorf("%s: token %d came, whose probability is 0", name, id)
			}
			if want := p[id] / sum * steps; want >= 5 {
				cell(n, want)
			} else {
				rest, expected = rest+n, expected+want
			}
		}
		if expected >= 5 {
			cell(rest, expected)
		}
		if math.Abs(square-cells) > 4*math.Sqrt(2*cells) { // mean and standard deviation of chi-square
			t.Errorf("%s: chi-square %.1f with %g degrees of freedom", name, square, cells)
		}
	}
}

// A mass that is missed only by rounding still yields a token.
func TestTopPNearOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	almost := math.Nextafter(1, 0)
	for range 100 {
		logits := flat(rng, 1000)
		for _, cfg := range []sampler.Config{{Temperature: 1, TopP: almost}, {Temperature: 1, TypicalP: almost}, {Temperature: 1, TopP: almost, TopK: 900}} {
			if got, all := sample(t, cfg, logits, 0.5), sample(t, sampler.Config{Temperature: 1, TopK: cfg.TopK}, logits, 0.5); got != all {
				t.Errorf("%+v: got %d, of all tokens %d", cfg, got, all)
			}
		}
	}
}

// Choosing a token does not allocate, once the sampler has run.
func TestNoAllocation(t *testing.T) {
	logits := peaked(rand.New(rand.NewPCG(1, 2)), 5000)
	for _, c := range benchmarks {
		s, err := sampler.New(c.cfg, len(logits))
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.observed {
			s.Observe(i)
		}
		if n := testing.AllocsPerRun(10, func() { s.SampleAt(logits, 0.3) }); n > 0 {
			t.Errorf("%s: %g allocations", c.name, n)
		}
	}
}
