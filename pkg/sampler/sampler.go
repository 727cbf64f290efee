// Package sampler chooses the next token from logits. It knows one order of
// operations for all dialects and refuses to know models, requests and text.
//
// Order (seed 000 and seed 001 agree with it): logit bias, repetition penalty,
// presence and frequency penalties, temperature, top_k, then typical_p or top_p,
// then one draw by inverse cumulative distribution in the order of token ids.
package sampler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Config says how to choose. Its zero value is greedy: the likeliest token, the
// lowest id among equals.
type Config struct {
	Temperature float64 // 0 is greedy
	TopK        int     // keep the k likeliest, the lower id among equals; 0 keeps all
	TopP        float64 // keep the smallest head whose mass reaches p; 0 and 1 keep all
	TypicalP    float64 // like TopP, by distance from the entropy; 0 and 1: off; replaces TopP

	LogitBias         map[int]float64
	RepetitionPenalty float64 // 0 and 1: off
	PresencePenalty   float64
	FrequencyPenalty  float64
	Multiply          bool // presence and frequency penalties divide instead of subtract

	Seed uint64
	Row  int // completion within its prompt: rows of one seed differ
}

// A Sampler chooses the tokens of one row. It is not safe for concurrent use.
type Sampler struct {
	cfg    Config
	counts map[int]int // of the tokens observed
	cand   []candidate // scratch, len <= vocabulary
}

// A candidate is a token that can still be chosen.
type candidate struct {
	id int
	l  float64 // logit
	p  float64 // probability, once normalised
}

// New returns a sampler for a vocabulary of that size. A parameter that is no
// number or out of its domain is a [ParamError].
func New(cfg Config, vocab int) (*Sampler, error) {
	if err := cfg.Check(vocab); err != nil {
		return nil, err
	}
	return &Sampler{cfg: cfg, counts: map[int]int{}, cand: make([]candidate, 0, vocab)}, nil
}

// A ParamError is a parameter that cannot be used; Param is its canonical name.
type ParamError struct{ Param, Message string }

func (e *ParamError) Error() string { return e.Param + ": " + e.Message }

// Check returns what is wrong with c for a vocabulary of that size: a [ParamError].
func (c *Config) Check(vocab int) error {
	for _, x := range []struct {
		name     string
		v        float64
		min, max float64
	}{
		{"temperature", c.Temperature, 0, math.MaxFloat32},
		{"top_k", float64(c.TopK), 0, math.MaxInt32},
		{"top_p", c.TopP, 0, 1},
		{"typical_p", c.TypicalP, 0, 1},
		{"repetition_penalty", c.RepetitionPenalty, 0, math.MaxFloat32},
		{"presence_penalty", c.PresencePenalty, -math.MaxFloat32, math.MaxFloat32},
		{"frequency_penalty", c.FrequencyPenalty, -math.MaxFloat32, math.MaxFloat32},
	} {
		if !(x.v >= x.min && x.v <= x.max) { // NaN too
			return &ParamError{x.name, fmt.Sprintf("%v is not between %g and %g", x.v, x.min, x.max)}
		}
	}
	for id, b := range c.LogitBias {
		if id < 0 || id >= vocab {
			return &ParamError{"logit_bias", fmt.Sprintf("there is no token %d: the vocabulary has %d", id, vocab)}
		}
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return &ParamError{"logit_bias", fmt.Sprintf("%v for token %d is no finite number", b, id)}
		}
	}
	return nil
}

// Observe counts a token for the penalties: each one sampled and, if the request
// says so, those of the prompt.
func (s *Sampler) Observe(id int) { s.counts[id]++ }

// Sample returns the token for the given step of the row. It does not change
// logits (vocabulary).
func (s *Sampler) Sample(logits []float32, step int) int {
	return s.SampleAt(logits, Uniform(s.cfg.Seed, s.cfg.Row, step))
}

// SampleAt is Sample with the draw u, in [0, 1), given.
func (s *Sampler) SampleAt(logits []float32, u float64) int {
	s.load(logits)
	s.penalise()
	if s.cfg.Temperature == 0 {
		return s.argmax()
	}
	s.topK() // temperature keeps the order, so normalise may apply it
	s.normalise()
	switch {
	case s.cfg.TypicalP > 0 && s.cfg.TypicalP < 1:
		s.typical()
	case s.cfg.TopP > 0 && s.cfg.TopP < 1:
		s.topP()
	}
	return s.draw(u)
}

func (s *Sampler) load(logits []float32) {
	s.cand = s.cand[:len(logits)]
	for id, l := range logits {
		s.cand[id] = candidate{id: id, l: finite(float64(l))}
	}
}

// finite keeps logits where differences of them mean something: a model that
// overflows to NaN or infinity must not stop the choice.
func finite(l float64) float64 {
	if math.IsNaN(l) {
		return -math.MaxFloat32
	}
	return min(max(l, -math.MaxFloat32), math.MaxFloat32)
}

// argmax returns the likeliest candidate, the lowest id among equals.
func (s *Sampler) argmax() int {
	best := s.cand[0]
	for _, c := range s.cand[1:] {
		if c.l > best.l {
			best = c
		}
	}
	return best.id
}

// before orders the likeliest first, equals by id. Logits are finite here.
func (c candidate) before(d candidate) bool {
	return c.l > d.l || c.l == d.l && c.id < d.id
}

func byLogit(a, b candidate) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

func byID(a, b candidate) int { return cmp.Compare(a.id, b.id) }

// topK keeps the k likeliest candidates, in the order of ids.
func (s *Sampler) topK() {
	k := s.cfg.TopK
	if k == 0 || k >= len(s.cand) {
		return
	}
	s.cand = head(s.cand, k)
	slices.SortFunc(s.cand, byID)
}

// head returns the k first candidates by [byLogit], in no order, by keeping them
// in a heap whose root is the worst: O(n log k) and mostly one comparison each.
func head(cand []candidate, k int) []candidate {
	heap := cand[:k]
	for i := k/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for _, c := range cand[k:] {
		if c.l > heap[0].l { // an equal one has a higher id
			heap[0] = c
			sink(heap, 0)
		}
	}
	return heap
}

// sink restores the heap order below i: no parent comes before its children.
func sink(heap []candidate, i int) {
	for {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[worst].before(heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}

// normalise fills in the probabilities: softmax(l / temperature).
func (s *Sampler) normalise() {
	top, sum := math.Inf(-1), 0.0
	for _, c := range s.cand {
		top = max(top, c.l)
	}
	for i := range s.cand {
		s.cand[i].p = math.Exp((s.cand[i].l - top) / s.cfg.Temperature)
		sum += s.cand[i].p
	}
	for i := range s.cand {
		s.cand[i].p /= sum
	}
}

// topP keeps the smallest head whose mass reaches TopP (Holtzman et al. 2020).
func (s *Sampler) topP() {
	// All tokens below floor together have less than 1-TopP, so the head has none:
	// sorting the rest is several times faster with a large vocabulary.
	floor := (1 - s.cfg.TopP) / float64(len(s.cand))
	s.cand = slices.DeleteFunc(s.cand, func(c candidate) bool { return c.p < floor })
	slices.SortFunc(s.cand, byLogit)
	s.cut(s.cfg.TopP)
}

// typical keeps the candidates whose information is nearest to the entropy, as
// many as reach the mass TypicalP (Meister et al. 2022).
func (s *Sampler) typical() {
	entropy := 0.0
	for _, c := range s.cand {
		if c.p > 0 {
			entropy -= c.p * math.Log(c.p)
		}
	}
	distance := func(c candidate) float64 { return math.Abs(-math.Log(c.p) - entropy) }
	slices.SortFunc(s.cand, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a.id, b.id))
	})
	s.cut(s.cfg.TypicalP)
}

// cut keeps the head of the candidates whose mass reaches limit, at least one,
// and puts it in the order of ids.
func (s *Sampler) cut(limit float64) {
	mass, n := 0.0, 0
	for n < len(s.cand) && (n == 0 || mass < limit) {
		mass += s.cand[n].p
		n++
	}
	s.cand = s.cand[:n]
	slices.SortFunc(s.cand, byID)
}

// draw walks the candidates, in the order of ids, until their mass exceeds u.
func (s *Sampler) draw(u float64) int {
	total := 0.0
	for _, c := range s.cand {
		total += c.p
	}
	left, last := u*total, s.cand[0].id
	for _, c := range s.cand {
		if c.p == 0 {
			continue
		}
		if left -= c.p; left < 0 {
			return c.id
		}
		last = c.id // rounding may leave a crumb
	}
	return last
}
