// Package known measures the first token of an answer where the beginning of the prompt is
// known: computed, read from a directory by an engine that has not seen it, and in memory. It
// knows nothing of the display of numbers.
package known

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"glossa/pkg/bench"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sealed"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// question is the number of tokens of a prompt after its beginning.
const question = 8

// A Config selects the measurements.
type Config struct {
	Format  transformer.Format
	KV      transformer.KVFormat
	Threads int
	Tokens  int             // of the beginning, at most those of the model's context
	Repeat  int             // prompts, of which the median is used
	Kernels *kernel.Kernels // nil: the fastest
}

// A Result has the seconds to the first token.
type Result struct {
	Model    string  `json:"model"`
	Quant    string  `json:"quant"`
	Threads  int     `json:"threads"`
	Tokens   int     `json:"tokens"`           // of the beginning
	Bytes    int64   `json:"bytes"`            // of the beginning in the directory
	Computed float64 `json:"computed_seconds"` // nothing is known
	Stored   float64 `json:"stored_seconds"`   // the beginning is in the directory
	Memory   float64 `json:"memory_seconds"`   // the beginning is in memory
}

// Shape measures random weights of a shape of [bench.Shapes].
func Shape(ctx context.Context, name string, cfg Config) (Result, error) {
	return cfg.measure(ctx, name, func() (*arch.Model, error) {
		random, err := bench.Random(name)
		if err != nil {
			return nil, err
		}
		vocab := random.Spec.Vocab
		return &arch.Model{Type: name, Spec: random.Spec, Weights: random.Weights, Tokenizer: ids(vocab), Tokens: vocab}, nil
	})
}

// File measures the model of a directory or file, see [arch.OpenPath].
func File(ctx context.Context, path string, cfg Config) (Result, error) {
	return cfg.measure(ctx, path, func() (*arch.Model, error) { return arch.OpenPath(path) })
}

// measure asks each prompt twice of one engine, and once more of another with the same
// directory.
func (cfg Config) measure(ctx context.Context, name string, open func() (*arch.Model, error)) (r Result, err error) {
	dir, err := os.MkdirTemp("", "glossa-bench-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	team := transformer.NewTeam(cfg.Threads)
	defer team.Close()
	r = Result{Model: name, Quant: cfg.Format.String(), Threads: cfg.Threads}
	var times [3][]float64 // as the fields of a Result
	for i, kinds := range [][]*[]float64{{&times[0], &times[2]}, {&times[1]}} {
		m, err := open()
		if err != nil {
			return r, err
		}
		r.Tokens = min(cfg.Tokens, m.Spec.Context-question-1)
		if r.Tokens < transformer.BlockTokens {
			return r, fmt.Errorf("bench %s: the beginning of a prompt has %d tokens, at least %d are needed", name, r.Tokens, transformer.BlockTokens)
		}
		if err := cfg.ask(ctx, m, dir, team, r.Tokens, i, kinds); err != nil {
			return r, fmt.Errorf("bench %s: %w", name, err)
		}
	}
	r.Computed, r.Stored, r.Memory = bench.Median(times[0]), bench.Median(times[1]), bench.Median(times[2])
	r.Bytes, err = size(dir)
	r.Bytes /= int64(cfg.Repeat + 1)
	return r, err
}

// ask asks an engine each prompt once for each of kinds, which get the times. The first prompt
// is not measured.
func (cfg Config) ask(ctx context.Context, m *arch.Model, dir string, team *transformer.Team, tokens, engines int, kinds []*[]float64) error {
	store, err := sealed.OpenDirectory(dir, 1<<40)
	if err != nil {
		return err
	}
	var failed error
	archive := sealed.NewArchive(store, func(err error) { failed = err })
	e, err := engine.New(m, engine.Config{
		Kernels: cfg.Kernels, Format: cfg.Format, KV: cfg.KV, Team: team, PrefixMemory: 1 << 40, Archive: archive, Fingerprint: "bench", NoDrafts: true,
	})
	if err != nil {
		return err
	}
	defer e.Close()
	for i := range cfg.Repeat + 1 {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		prompt := make([]int, tokens+question)
		for j := range prompt {
			prompt[j] = rng.IntN(m.Tokens)
		}
		for k, times := range kinds {
			prompt[tokens] = (prompt[tokens] + 1 + engines + k) % m.Tokens // another question
			took, err := firstToken(ctx, e, prompt)
			if err != nil {
				return err
			}
			if i > 0 {
				*times = append(*times, took.Seconds())
			}
			archive.Flush(ctx)
		}
	}
	return failed
}

// firstToken returns how long the first token of an answer takes.
func firstToken(ctx context.Context, e *engine.Engine, prompt []int) (took time.Duration, err error) {
	req := &llm.Request{
		Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: prompt}}}}, Params: llm.Params{MaxTokens: new(1), Temperature: new(0.0)},
	}
	began := time.Now()
	for _, err := range e.Generate(ctx, req) {
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func size(dir string) (total int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	return total, err
}

// ids is a tokenizer without texts, for prompts of ids.
type ids int

// Encode implements [tokenizer.Tokenizer].
func (ids) Encode(string) []int { return nil }

// EncodeSpecial implements [tokenizer.Tokenizer].
func (ids) EncodeSpecial(string) []int { return nil }

// Size implements [tokenizer.Tokenizer].
func (n ids) Size() int { return int(n) }

// Piece implements [tokenizer.Tokenizer].
func (ids) Piece(int) string { return "" }

// NewDecoder implements [tokenizer.Tokenizer].
func (n ids) NewDecoder() tokenizer.Decoder { return n }

// Next implements [tokenizer.Decoder].
func (ids) Next(int) string { return "" }

// Flush implements [tokenizer.Decoder].
func (ids) Flush() string { return "" }
