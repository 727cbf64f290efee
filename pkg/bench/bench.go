// Package bench measures how fast models compute: tokens of prompts and of text a second,
// by the numbers of threads and rows and by the format of weights. It also measures the
// limits of the machine around that moment, so that a result shows how much is left. Weights
// are random, or those of a file. It knows nothing of text, sampling, requests or the
// display of numbers.
//
// The limit of a pass is the roofline of its matrix products (Williams et al. 2009): the
// time of reading the weights or of multiplying, whichever is longer. Attention, norms
// and the rest are not counted. Both speeds are the highest that were seen with the same
// threads and kernels, since other load and the clock of the processor change from second to
// second. A pass that is faster than both proves that the machine can do more: it raises the
// limit, so no result exceeds it.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A Config selects the measurements. A phase with 0 tokens is skipped.
type Config struct {
	Format  transformer.Format
	KV      transformer.KVFormat
	Threads []int // none: 1
	Batches []int // rows computed together; none: 1
	Prefill int   // tokens of each row's prompt
	Decode  int   // tokens appended to each row, one after the other
	Repeat  int   // measurements, of which the median is used; 0: 5

	Kernels *kernel.Kernels // nil: the fastest
	Least   time.Duration   // minimum duration of a measurement; 0: a tenth of a second
}

// Phases of a text.
const (
	Prefill = "prefill"
	Decode  = "decode"
)

// A Result is the measurement of one combination.
type Result struct {
	Shape           string   `json:"shape"`
	Quant           string   `json:"quant"`
	Threads         int      `json:"threads"`
	Batch           int      `json:"batch"`
	Phase           string   `json:"phase"`
	TokensPerSecond float64  `json:"tokens_per_second"` // of all rows together
	LimitFraction   *float64 `json:"limit_fraction"`    // of the machine's limit; nil if that is unknown

	Limit Limit `json:"-"` // of the machine
}

// opening is the number of tokens before the decoded ones.
const opening = 16

// complete fills in defaults and rejects combinations that cannot be measured.
func (c *Config) complete(m *Model) error {
	if len(c.Threads) == 0 {
		c.Threads = []int{1}
	}
	if len(c.Batches) == 0 {
		c.Batches = []int{1}
	}
	c.Repeat, c.Least = cmp.Or(c.Repeat, 5), cmp.Or(c.Least, 100*time.Millisecond)
	if c.Kernels == nil {
		c.Kernels = kernel.Best()
	}
	switch {
	case len(m.Spec.Encoder) > 0:
		return errors.New("it is an encoder-decoder: only decoders are measured")
	case slices.Min(c.Threads) < 1 || slices.Min(c.Batches) < 1 || c.Repeat < 1 || c.Prefill < 0 || c.Decode < 0:
		return fmt.Errorf("threads %v, batches %v, %d repeats, %d tokens of prefill and %d of decoding: one is too small", c.Threads, c.Batches, c.Repeat, c.Prefill, c.Decode)
	case c.Prefill > m.Spec.Context:
		return fmt.Errorf("%d tokens of prefill exceed the context of %d", c.Prefill, m.Spec.Context)
	case c.Decode > m.Spec.Context-opening:
		return fmt.Errorf("%d tokens of decoding after %d exceed the context of %d", c.Decode, opening, m.Spec.Context)
	}
	return nil
}

// Run reads the weights and measures every combination until the first error.
func Run(ctx context.Context, m *Model, cfg Config) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := run(ctx, m, cfg, func(r Result) bool { return yield(r, nil) }); err != nil {
			yield(Result{}, fmt.Errorf("bench %s: %w", m.Name, err))
		}
	}
}

// run implements [Run]; it ends without an error if yield returns false.
func run(ctx context.Context, m *Model, cfg Config, yield func(Result) bool) error {
	if err := cfg.complete(m); err != nil {
		return err
	}
	model, err := m.open(cfg)
	if err != nil {
		return err
	}
	format := m.resolve(cfg.Format)
	b := &bench{config: &cfg, model: model, load: m.load(cfg.Format)}
	memory, free := reserve(int(min(b.load.bytes, largestBuffer)))
	defer free()
	for _, threads := range cfg.Threads {
		b.machine = machine{kernels: cfg.Kernels, threads: threads, memory: memory, format: format}
		team := transformer.NewTeam(threads)
		more, err := b.phases(ctx, team, Result{Shape: m.Name, Quant: format.String(), Threads: threads}, yield)
		team.Close()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// open reads the weights.
func (m *Model) open(cfg Config) (*transformer.Model, error) {
	model, err := transformer.New(m.Spec, m.Weights, cfg.Kernels, cfg.Format)
	if err != nil {
		return nil, err
	}
	model.StoreKV(cfg.KV)
	if m.Weights.Await != nil { // so that passes cannot fail
		err = m.Weights.Await(math.MaxInt)
	}
	return model, err
}

// A bench measures one model in one format.
type bench struct {
	config  *Config
	model   *transformer.Model
	load    load
	machine machine
}

// phases measures all batches with a team; more is false if yield returned false.
func (b *bench) phases(ctx context.Context, team *transformer.Team, r Result, yield func(Result) bool) (more bool, err error) {
	for _, batch := range b.config.Batches {
		w := newWork(b.model, team, batch, max(b.config.Prefill, opening+b.config.Decode))
		for _, phase := range []struct {
			name            string
			tokens, outputs int // of a pass
			run             func(tokens int)
			n               int
		}{
			{Prefill, batch * b.config.Prefill, batch, w.prefill, b.config.Prefill},
			{Decode, batch, batch, w.decode, b.config.Decode},
		} {
			if phase.n == 0 {
				continue
			}
			r.Batch, r.Phase = batch, phase.name
			err := b.repeat(ctx, &r, batch*phase.n, b.load.bound(phase.tokens, phase.outputs), func() { phase.run(phase.n) })
			if err != nil || !yield(r) {
				return false, err
			}
		}
	}
	return true, nil
}

// A bound is the input of the minimum time of a pass: its load and its tokens.
type bound struct {
	load
	tokens, outputs int
}

func (l load) bound(tokens, outputs int) bound { return bound{l, tokens, outputs} }

// repeat sets the median of several measurements of run, which computes the given number of
// tokens, and its share of the limit. It measures the machine before each and after the last.
func (b *bench) repeat(ctx context.Context, r *Result, tokens int, at bound, run func()) error {
	run() // allocates its scratch memory
	var rates []float64
	for range b.config.Repeat {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		b.machine.measure()
		runs, start := 0, time.Now()
		elapsed := time.Duration(0)
		for elapsed < b.config.Least || runs == 0 {
			run()
			runs, elapsed = runs+1, time.Since(start)
		}
		rates = append(rates, float64(runs)*float64(tokens)/elapsed.Seconds())
	}
	b.machine.measure()
	r.TokensPerSecond, r.LimitFraction = Median(rates), nil
	b.machine.limit = at.raise(b.machine.limit, 1/passes(slices.Max(rates), at))
	r.Limit = b.machine.limit
	if least := at.least(r.Limit, at.tokens, at.outputs); least > 0 {
		r.LimitFraction = new(min(1, passes(r.TokensPerSecond, at)*least)) // 1 up to rounding
	}
	return nil
}

// passes returns the passes of a second at a rate of tokens.
func passes(rate float64, at bound) float64 { return rate / float64(at.tokens) }

// Median returns the median of some values.
func Median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// work holds rows of random tokens for passes.
type work struct {
	pass      *transformer.Pass
	rows      []transformer.Sequence
	prompts   [][]int
	next      [][]int // one token each
	random    *rand.Rand
	vocab     int
	hasOpened bool
}

func newWork(m *transformer.Model, team *transformer.Team, batch, capacity int) *work {
	w := &work{pass: m.NewPass(team), random: rand.New(rand.NewPCG(1, 2)), vocab: m.Vocab}
	for range batch {
		prompt := make([]int, capacity)
		for i := range prompt {
			prompt[i] = w.random.IntN(m.Vocab)
		}
		w.prompts = append(w.prompts, prompt)
		w.next = append(w.next, make([]int, 1))
		w.rows = append(w.rows, transformer.Sequence{Cache: m.NewCache(capacity), Logits: 1})
	}
	return w
}

// prefill computes n tokens of each row from the start.
func (w *work) prefill(n int) {
	for i := range w.rows {
		w.rows[i].Cache.Len, w.rows[i].Tokens = 0, w.prompts[i][:n]
	}
	w.pass.Forward(w.rows)
}

// decode appends n tokens to each row after the opening, one by one. They are random:
// choosing them is not measured.
func (w *work) decode(n int) {
	if !w.hasOpened {
		w.prefill(opening)
		w.hasOpened = true
	}
	w.decodeAfter(opening, n)
}

// decodeAfter appends n tokens to the first at tokens of each row.
func (w *work) decodeAfter(at, n int) {
	for i := range w.rows {
		w.rows[i].Cache.Len, w.rows[i].Tokens = at, w.next[i]
	}
	for range n {
		for i := range w.next {
			w.next[i][0] = w.random.IntN(w.vocab)
		}
		w.pass.Forward(w.rows)
	}
}
