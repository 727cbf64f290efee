// Package sampler chooses the next token from logits. It applies one order of operations
// for all dialects and knows nothing of models, requests or text.
//
// Start with [New] and [Sampler.Sample].
//
// Order (Aleph Alpha's and TextSynth's agree with it): logit bias, repetition penalty, presence
// and frequency penalties, a mask if there is one, temperature, top_k, then typical_p or
// top_p, then one draw by inverse cumulative distribution in the order of token ids.
//
// Logits are float32, also after a bias or a penalty. A NaN counts as the least float32
// and an infinity as the greatest of its sign. Probabilities are float64; those below
// exp(-708) of the largest are zero. A token depends only on logits, configuration, seed,
// row and step: all instruction sets give the same bits ([kernel.Kernels.Weights]).
package sampler

import (
	"fmt"
	"math"

	"glossa/pkg/engine/kernel"
)

// Config configures the choice. Its zero value is greedy: the likeliest token, the lowest
// id among equals.
type Config struct {
	Temperature float64 // 0: greedy
	TopK        int     // keep the k likeliest, the lower ids among equals; 0 keeps all
	TopP        float64 // keep the smallest head whose mass reaches p; 0 and 1 keep all
	TypicalP    float64 // like TopP, by distance from the entropy; 0 and 1: off; replaces TopP

	LogitBias         map[int]float64
	RepetitionPenalty float64 // 0 and 1: off
	PresencePenalty   float64
	FrequencyPenalty  float64
	MultiplyPresence  bool // the penalty divides instead of being subtracted
	MultiplyFrequency bool

	Seed uint64
	Row  int // completion of its prompt: rows with the same seed differ

	Kernels *kernel.Kernels // nil: the fastest of this CPU; all choose the same tokens
}

// A Sampler chooses the tokens of one row. It is not safe for concurrent use.
type Sampler struct {
	cfg      Config
	scale    float64 // 1/temperature
	bias     []bias
	observed []observed
	index    map[int]int // of a token in observed

	logits  []float32      // scratch: after the penalties and the mask
	before  []int32        // scratch: for each word of a mask, the tokens allowed before it
	sums    []float64      // scratch: of the weights of each block of tokens
	weights [block]float64 // scratch: of the tokens of a block
	kept    candidates
}

// New returns a sampler for a vocabulary of the given size. A parameter that is NaN or
// out of its domain is a [ParamError].
func New(cfg Config, vocab int) (*Sampler, error) {
	if err := cfg.Check(vocab); err != nil {
		return nil, err
	}
	if cfg.Kernels == nil {
		cfg.Kernels = kernel.Best()
	}
	s := &Sampler{cfg: cfg, index: map[int]int{}, kept: candidates{kernels: cfg.Kernels}}
	if cfg.Temperature > 0 {
		s.scale = min(1/cfg.Temperature, math.MaxFloat64)
	}
	for id, b := range cfg.LogitBias {
		s.bias = append(s.bias, bias{id, b})
	}
	return s, nil
}

// A ParamError reports an invalid parameter; Param is its canonical name.
type ParamError struct{ Param, Message string }

func (e *ParamError) Error() string { return e.Param + ": " + e.Message }

// Check returns a [ParamError] if c is invalid for a vocabulary of the given size.
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
			return &ParamError{"logit_bias", fmt.Sprintf("token %d does not exist: the vocabulary has %d", id, vocab)}
		}
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return &ParamError{"logit_bias", fmt.Sprintf("%v for token %d is not a finite number", b, id)}
		}
	}
	return nil
}

// Sample returns the token for the given step of the row. It does not change
// logits (vocabulary).
func (s *Sampler) Sample(logits []float32, step int) int {
	return s.SampleAt(logits, Uniform(s.cfg.Seed, s.cfg.Row, step))
}

// SampleAt is Sample with the given draw u, in [0, 1).
func (s *Sampler) SampleAt(logits []float32, u float64) int {
	return s.choose(s.penalised(logits), u)
}

// choose returns the index of the chosen value of x, the final logits.
func (s *Sampler) choose(x []float32, u float64) int {
	if s.cfg.Temperature == 0 {
		return s.cfg.Kernels.ArgMax(x)
	}
	top := s.cfg.Kernels.Largest(x)
	limited := s.cfg.TopK > 0 && s.cfg.TopK < len(x)
	if limited { // temperature does not change the order
		s.kept.best(x, s.cfg.TopK)
	}
	switch {
	case s.cfg.TypicalP > 0 && s.cfg.TypicalP < 1:
		s.typical(x, top, limited)
	case s.cfg.TopP > 0 && s.cfg.TopP < 1:
		s.topP(x, top, limited)
	case limited:
		s.kept.weigh(top, s.scale)
	default:
		return s.drawAny(x, top, u)
	}
	return s.kept.draw(u)
}
