package sampler_test

import (
	"errors"
	"math"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sampler"
)

func sample(t testing.TB, cfg sampler.Config, logits []float32, u float64, seen ...int) int {
	t.Helper()
	s, err := sampler.New(cfg, len(logits))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range seen {
		s.Observe(id)
	}
	return s.SampleAt(logits, u)
}

func TestGreedy(t *testing.T) {
	logits := []float32{1, 3, 3, -2}
	for _, test := range []struct {
		name string
		cfg  sampler.Config
		seen []int
		want int
	}{
		{"lowest id among equals", sampler.Config{}, nil, 1},
		{"bias", sampler.Config{LogitBias: map[int]float64{3: 6}}, nil, 3},
		{"ban", sampler.Config{LogitBias: map[int]float64{1: -100, 2: -100}}, nil, 0},
		{"presence once whatever the count", sampler.Config{PresencePenalty: 0.5}, []int{1, 1, 1}, 2},
		{"presence does not reach the next", sampler.Config{PresencePenalty: 1.9}, []int{1, 2}, 1},
		{"frequency per count", sampler.Config{FrequencyPenalty: 0.9}, []int{1, 2, 1, 2, 1, 2}, 0},
		{"negative presence encourages", sampler.Config{PresencePenalty: -2.5}, []int{0}, 0},
		{"repetition divides what is positive", sampler.Config{RepetitionPenalty: 4}, []int{1, 2}, 0},
		{"multiplied presence", sampler.Config{PresencePenalty: 3, MultiplyPresence: true}, []int{1, 2}, 0},
		{"multiplied frequency", sampler.Config{FrequencyPenalty: 1.5, MultiplyFrequency: true}, []int{1, 1, 2, 2}, 0},
		{"temperature 0 ignores top_k", sampler.Config{TopK: 3}, nil, 1},
		{"factor below zero bans", sampler.Config{PresencePenalty: -2, MultiplyPresence: true}, []int{1, 2}, 0},
	} {
		if got := sample(t, test.cfg, logits, 0.99, test.seen...); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
	if got := sample(t, sampler.Config{RepetitionPenalty: 2}, []float32{-2, -3}, 0, 0); got != 1 {
		t.Error("repetition multiplies what is negative: dividing would encourage it")
	}
}

// Each penalty has a form of its own: token 1 was seen once, its logit is 3, that of the
// other token 2.
func TestPenaltyForms(t *testing.T) {
	for _, test := range []struct {
		presence, frequency float64
		want                [4]int // none multiplied, presence, frequency, both
	}{
		{0.2, 0.4, [4]int{1, 1, 0, 0}}, // 2.4, 2.1, 1.94, 1.79
		{0.1, 0.4, [4]int{1, 1, 1, 0}}, // 2.5, 2.33, 2.04, 1.95
		{0.6, 0.1, [4]int{1, 0, 1, 0}}, // 2.3, 1.78, 2.13, 1.7
		{0.6, 0.6, [4]int{0, 0, 0, 0}},
	} {
		for form, want := range test.want {
			cfg := sampler.Config{
				PresencePenalty: test.presence, FrequencyPenalty: test.frequency,
				MultiplyPresence: form&1 != 0, MultiplyFrequency: form&2 != 0,
			}
			if got := sample(t, cfg, []float32{2, 3}, 0.5, 1); got != want {
				t.Errorf("%+v: got %d, want %d", cfg, got, want)
			}
		}
	}
}

// A model that overflows still yields a token.
func TestNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, logits := range [][]float32{{nan, nan}, {nan, 1}, {-inf, -inf}, {inf, 1}, {-inf, 1}} {
		for _, temperature := range []float64{0, 1e-300, 1, 1e30} {
			got := sample(t, sampler.Config{Temperature: temperature, TopK: 2, TopP: 0.9}, logits, 0.5)
			if got < 0 || got > 1 {
				t.Errorf("%v: got %d", logits, got)
			}
		}
		if p, _ := sampler.Logprobs(kernel.Best(), logits, len(logits), 0, 2); math.IsNaN(p) || math.IsInf(p, 0) {
			t.Errorf("%v: log-probability %v", logits, p)
		}
	}
	for _, logits := range [][]float32{{2, nan}, {nan, 2}, {2, nan, -inf}, {nan, nan, 2, 1}} {
		greedy := sample(t, sampler.Config{}, logits, 0)
		if top := sampler.Top(logits, 1); top[0] != greedy {
			t.Errorf("%v: the likeliest is %d, the greedy choice %d", logits, top[0], greedy)
		}
	}
}

// Equal logits: top_k keeps exactly k, those with the lowest ids.
func TestTopKOfEquals(t *testing.T) {
	logits := make([]float32, 100)
	seen := map[int]bool{}
	for i := range 1000 {
		seen[sample(t, sampler.Config{Temperature: 1, TopK: 7}, logits, float64(i)/1000)] = true
	}
	for id := range 7 {
		if !seen[id] {
			t.Errorf("token %d never came", id)
		}
	}
	if len(seen) != 7 {
		t.Errorf("%d tokens came, want 7", len(seen))
	}
}

// TestDifferences lists the deviations of the sampler from Alpha's server, each with
// its reason.
func TestDifferences(t *testing.T) {
	// There temperature 0 divides by zero and gives token 0. In every dialect it means
	// the likeliest token, and also in later versions of that server.
	if got := sample(t, sampler.Config{Temperature: 0, TopK: 40}, []float32{1, 2, 3}, 0.5); got != 2 {
		t.Errorf("temperature 0: got %d", got)
	}
	// There tokens as likely as the k-th stay; Aleph Alpha and TextSynth specify "at most top_k".
	for i := range 100 {
		if got := sample(t, sampler.Config{Temperature: 1, TopK: 2}, []float32{1, 1, 1}, float64(i)/100); got > 1 {
			t.Errorf("top_k 2 of three equals: got %d", got)
		}
	}
}

func TestRefused(t *testing.T) {
	nan := math.NaN()
	for param, cfg := range map[string]sampler.Config{
		"temperature":        {Temperature: -1},
		"top_k":              {TopK: -1},
		"top_p":              {TopP: 1.5},
		"typical_p":          {TypicalP: nan},
		"repetition_penalty": {RepetitionPenalty: -0.1},
		"presence_penalty":   {PresencePenalty: math.Inf(1)},
		"frequency_penalty":  {FrequencyPenalty: nan},
		"logit_bias":         {LogitBias: map[int]float64{5: 1}},
	} {
		_, err := sampler.New(cfg, 5)
		if p, ok := errors.AsType[*sampler.ParamError](err); !ok || p.Param != param {
			t.Errorf("%s: got %v", param, err)
		}
	}
	for _, cfg := range []sampler.Config{{LogitBias: map[int]float64{-1: 1}}, {LogitBias: map[int]float64{0: nan}}} {
		if _, err := sampler.New(cfg, 5); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// Draws are a function of (seed, row, step) only and look uniform.
func TestUniform(t *testing.T) {
	if a, b := sampler.Uniform(1, 2, 3), sampler.Uniform(1, 2, 3); a != b {
		t.Errorf("%v and %v", a, b)
	}
	seen, bins := map[float64]bool{}, make([]int, 10)
	for seed := range uint64(10) {
		for row := range 10 {
			for step := range 100 {
				u := sampler.Uniform(seed, row, step)
				if u < 0 || u >= 1 || seen[u] {
					t.Fatalf("seed %d row %d step %d: %v", seed, row, step, u)
				}
				seen[u] = true
				bins[int(u*10)]++
			}
		}
	}
	for i, n := range bins {
		if n < 850 || n > 1150 { // 5 standard deviations
			t.Errorf("bin %d has %d of 10,000", i, n)
		}
	}
}

func TestLogprobs(t *testing.T) {
	logits := []float32{1, 4, 2, 4}
	chosen, top := sampler.Logprobs(kernel.Best(), logits, len(logits), 2, 3)
	sum := math.Exp(1) + 2*math.Exp(4) + math.Exp(2)
	if want := 2 - math.Log(sum); math.Abs(chosen-want) > 1e-12 {
		t.Errorf("chosen %v, want %v", chosen, want)
	}
	if len(top) != 3 || top[0].ID != 1 || top[1].ID != 3 || top[2].ID != 2 || top[2].Logprob != chosen {
		t.Errorf("top %+v", top)
	}
	if other, top := sampler.Logprobs(kernel.Best(), logits, 1, 2, 3); other != chosen || len(top) != 1 || top[0].ID != 0 {
		t.Errorf("of the first token: %v, %+v", other, top)
	}
	if _, top := sampler.Logprobs(kernel.Best(), logits, len(logits), 0, 99); len(top) != 4 {
		t.Errorf("%d of 4 tokens", len(top))
	}
	if _, top := sampler.Logprobs(kernel.Best(), logits, len(logits), 0, 0); top != nil {
		t.Errorf("top %+v", top)
	}
}
