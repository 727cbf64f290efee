// Package quoting measures how fast a model generates texts that quote their prompt, such as
// edits and extracts, with and without the drafts of package engine, and one that quotes nothing
// with a draft model. It knows nothing of the display of numbers.
//
// A model of random weights quotes nothing by itself. Its table of positions spells the answer
// instead: the model computes as ever, and at each place writes the next token of the task,
// whatever was drafted. So only shapes with a table of positions can be measured. A model from
// files writes its own answers.
package quoting

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"glossa/pkg/bench"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A Config selects the measurements.
type Config struct {
	Format  transformer.Format
	KV      transformer.KVFormat
	Threads int
	Repeat  int             // measurements of each task, of which the median is used
	Kernels *kernel.Kernels // nil: the fastest
	Tokens  int             // most of an answer; 0: 256
	Draft   string          // the directory or file of a draft model for that of a file; "": there is none
}

// A Result is the measurement of a task.
type Result struct {
	Model    string  `json:"model"`
	Quant    string  `json:"quant"`
	Threads  int     `json:"threads"`
	Task     string  `json:"task"`
	Draft    string  `json:"draft,omitempty"`            // the draft model: a file, or how often it is right
	Tokens   int     `json:"tokens"`                     // of the answer
	Plain    float64 `json:"plain_tokens_per_second"`    // without drafts
	Drafting float64 `json:"drafting_tokens_per_second"` // with drafts
	Ratio    float64 `json:"ratio"`                      // median of the ratios of neighbouring measurements
	Drafted  int64   `json:"drafted"`                    // tokens of an answer, on average
	Accepted int64   `json:"accepted"`                   // of these
}

// Shapes returns the shapes of [bench.Shapes] that can spell an answer.
func Shapes() []string { return []string{"alpha-1.8m", "gpt2-124m"} }

// rights are how often the draft models of shapes are right, of a hundred tokens.
var rights = []int{90, 60, 0}

// A trial is a task for a model and its draft model, which may be nil.
type trial struct {
	Task
	model, draft func() (*arch.Model, error)
	name         string // of the draft model
}

// Shape measures all tasks, at full length, with random weights of a shape of [bench.Shapes], and
// the last one with draft models that are right as often as [rights].
func Shape(ctx context.Context, name string, cfg Config) iter.Seq2[Result, error] {
	var trials []trial
	for _, t := range Tasks() {
		trials = append(trials, trial{Task: t, model: func() (*arch.Model, error) { return scripted(bench.Random, name, t, 100) }})
	}
	last := trials[len(trials)-1]
	for _, right := range rights {
		last.name = fmt.Sprintf("%d %%", right)
		last.draft = func() (*arch.Model, error) { return scripted(bench.Draft, name, last.Task, right) }
		trials = append(trials, last)
	}
	return each(ctx, name, cfg, trials)
}

// File measures all tasks with the model of a directory or file, see [arch.OpenPath].
func File(ctx context.Context, path string, cfg Config) iter.Seq2[Result, error] {
	one := trial{model: func() (*arch.Model, error) { return arch.OpenPath(path) }}
	if one.name = cfg.Draft; cfg.Draft != "" {
		one.draft = func() (*arch.Model, error) { return arch.OpenPath(cfg.Draft) }
	}
	var trials []trial
	for _, one.Task = range Tasks() {
		trials = append(trials, one)
	}
	return each(ctx, path, cfg, trials)
}

// each measures the trials until the first error.
func each(ctx context.Context, name string, cfg Config, trials []trial) iter.Seq2[Result, error] {
	if cfg.Tokens == 0 {
		cfg.Tokens = 256
	}
	return func(yield func(Result, error) bool) {
		for _, t := range trials {
			r, err := cfg.measure(ctx, name, t)
			if err != nil {
				yield(Result{}, fmt.Errorf("bench %s: %s: %w", name, t.Task.Name, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// scripted returns a model of a shape that answers a task. Of a hundred tokens, right are those of
// the answer, and the others are not.
func scripted(shape func(string) (*bench.Model, error), name string, t Task, right int) (*arch.Model, error) {
	random, err := shape(name)
	if err != nil {
		return nil, err
	}
	if random.Spec.Position != transformer.Learned {
		return nil, errors.New("it has no table of positions: only such shapes can spell an answer")
	}
	words := newPieces(random.Spec.Vocab)
	end := random.Spec.Vocab - 1
	text := append(append(words.Encode(t.Prompt), words.Encode(t.Answer)...), end)
	if len(text) > random.Spec.Context {
		return nil, fmt.Errorf("%d tokens exceed the context of %d", len(text), random.Spec.Context)
	}
	errs := rand.New(rand.NewPCG(1, 2))
	for i := range text {
		if errs.IntN(100) >= right {
			text[i] = (text[i] + 1) % end
		}
	}
	w := *random.Weights
	head := w.Head.Weight
	if head == nil {
		head = w.Embed.Weight
	}
	w.Positions.Weight = []transformer.Tensor{spell(w.Positions.Weight[0], head[0], text)}
	return &arch.Model{Type: name, Spec: random.Spec, Weights: &w, Tokenizer: words, End: []int{end}, Tokens: random.Spec.Vocab}, nil
}

// loudness is how much larger a row of the table of positions is than one of the head, so that
// nothing that layers add changes the answer.
const loudness = 1 << 12

// spell returns a table of positions: a row is that of the head for the next token of text.
func spell(positions, head transformer.Tensor, text []int) transformer.Tensor {
	spelled := positions
	spelled.Read = func(dst []float32, from int) error {
		for n := 0; n < len(dst); {
			row, at := (from+n)/head.Cols, (from+n)%head.Cols
			part := dst[n:min(len(dst), n+head.Cols-at)]
			if err := head.Read(part, text[min(row+1, len(text)-1)]*head.Cols+at); err != nil {
				return err
			}
			for i := range part {
				part[i] *= loudness
			}
			n += len(part)
		}
		return nil
	}
	return spelled
}

// engines returns the engines of a trial, without drafts and with them. The caller closes them.
func (cfg *Config) engines(name string, t trial, team *transformer.Team) (engines [2]*engine.Engine, err error) {
	own := engine.Config{Name: name, Kernels: cfg.Kernels, Format: cfg.Format, KV: cfg.KV, Team: team, PrefixMemory: -1}
	open := func(model func() (*arch.Model, error), own engine.Config) (*engine.Engine, error) {
		m, err := model()
		if err != nil {
			return nil, err
		}
		return engine.New(m, own)
	}
	plain, drafting := own, own
	plain.NoDrafts = true
	if t.draft != nil {
		if own.Name += "-draft"; cfg.Draft != "" {
			own.Format = transformer.Stored // as its file says
		}
		if drafting.Draft, err = open(t.draft, own); err != nil {
			return engines, err
		}
		defer func() { err = errors.Join(err, drafting.Draft.Close()) }() // the engine uses its weights
	}
	if engines[0], err = open(t.model, plain); err != nil {
		return engines, err
	}
	if engines[1], err = open(t.model, drafting); err != nil {
		return engines, errors.Join(err, engines[0].Close())
	}
	return engines, nil
}

// measure measures a trial with two engines in turn.
func (cfg *Config) measure(ctx context.Context, name string, t trial) (Result, error) {
	r := Result{Model: name, Quant: cfg.Format.String(), Threads: cfg.Threads, Task: t.Task.Name, Draft: t.name}
	team := transformer.NewTeam(cfg.Threads)
	defer team.Close()
	engines, err := cfg.engines(name, t, team)
	if err != nil {
		return r, err
	}
	defer engines[0].Close()
	defer engines[1].Close()
	var rates [2][]float64
	var ratios []float64
	for i := range 1 + cfg.Repeat {
		var texts [2]string
		for k, e := range engines {
			text, tokens, rate, err := generate(ctx, e, t.Prompt, cfg.Tokens)
			if err != nil {
				return r, err
			}
			if texts[k], r.Tokens = text, tokens; i > 0 { // the first allocates and learns
				rates[k] = append(rates[k], rate)
			}
		}
		if texts[0] != texts[1] {
			return r, fmt.Errorf("the text is %q, without drafts %q", texts[1], texts[0])
		}
		if i > 0 {
			ratios = append(ratios, rates[1][i-1]/rates[0][i-1])
		}
	}
	r.Plain, r.Drafting, r.Ratio = bench.Median(rates[0]), bench.Median(rates[1]), bench.Median(ratios)
	drafted, accepted := engines[1].Drafts()
	n := int64(1 + cfg.Repeat)
	r.Drafted, r.Accepted = drafted/n, accepted/n
	return r, nil
}

// generate returns a greedy answer, its tokens, and the tokens a second after the first.
func generate(ctx context.Context, e *engine.Engine, prompt string, most int) (text string, tokens int, rate float64, err error) {
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text(prompt)}, Params: llm.Params{
		MaxTokens: &most, Temperature: new(0.0), Truncate: new(0), // short contexts get the end of the task
	}}
	var first time.Time
	for c, err := range e.Generate(ctx, req) {
		if err != nil {
			return "", 0, 0, err
		}
		if first.IsZero() {
			first = time.Now()
		}
		text += c.Text
		if c.Usage != nil {
			tokens = c.Usage.Output
		}
	}
	if tokens < 2 {
		return "", 0, 0, errors.New("the answer has no second token")
	}
	return text, tokens, float64(tokens-1) / time.Since(first).Seconds(), nil
}
