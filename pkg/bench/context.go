package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"glossa/pkg/engine/transformer"
)

// A ContextResult is the speed with a prompt of one length, and its ratio to that with the first length.
type ContextResult struct {
	Shape        string  `json:"shape"`
	Quant        string  `json:"quant"`
	Threads      int     `json:"threads"`
	Tokens       int     `json:"tokens"`                    // of the prompt
	Prefill      float64 `json:"prefill_tokens_per_second"` // of the whole prompt, in passes of 64
	Decode       float64 `json:"decode_tokens_per_second"`  // after it
	PrefillRatio float64 `json:"prefill_ratio"`             // to the first length's: the median of those of neighbouring measurements
	DecodeRatio  float64 `json:"decode_ratio"`
}

// Contexts measures one row with prompts of some lengths in turn, with each number of threads.
func Contexts(ctx context.Context, m *Model, cfg Config, lengths []int) (list []ContextResult, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bench %s: %w", m.Name, err)
		}
	}()
	if len(lengths) == 0 || slices.Min(lengths) < 1 || cfg.Decode < 1 {
		return nil, errors.New("a prompt and an answer have at least one token")
	}
	if err := cfg.complete(m); err != nil {
		return nil, err
	}
	longest := slices.Max(lengths)
	if longest+cfg.Decode > m.Spec.Context {
		return nil, fmt.Errorf("%d tokens of decoding after %d exceed the context of %d", cfg.Decode, longest, m.Spec.Context)
	}
	model, err := m.open(cfg)
	if err != nil {
		return nil, err
	}
	for _, threads := range cfg.Threads {
		team := transformer.NewTeam(threads)
		w := newWork(model, team, 1, longest+cfg.Decode)
		w.read(longest) // allocates memory
		w.decodeAfter(longest, cfg.Decode)
		prefill, decode := make([][]float64, len(lengths)), make([][]float64, len(lengths))
		for range cfg.Repeat {
			for i, n := range lengths {
				if ctx.Err() != nil {
					team.Close()
					return nil, context.Cause(ctx)
				}
				prefill[i] = append(prefill[i], rateOf(n, func() { w.read(n) }))
				decode[i] = append(decode[i], rateOf(cfg.Decode, func() { w.decodeAfter(n, cfg.Decode) }))
			}
		}
		team.Close()
		for i, n := range lengths {
			list = append(list, ContextResult{
				Shape: m.Name, Quant: m.Format(cfg.Format), Threads: threads, Tokens: n, Prefill: Median(prefill[i]), Decode: Median(decode[i]),
				PrefillRatio: ratio(prefill[i], prefill[0]), DecodeRatio: ratio(decode[i], decode[0]),
			})
		}
	}
	return list, nil
}

// rateOf returns the tokens per second of run, which computes that many tokens.
func rateOf(tokens int, run func()) float64 {
	began := time.Now()
	run()
	return float64(tokens) / time.Since(began).Seconds()
}

// ratio returns the median of a's ratios to b.
func ratio(a, b []float64) float64 {
	list := make([]float64, len(a))
	for i := range a {
		list[i] = a[i] / b[i]
	}
	return Median(list)
}

// read computes the first n tokens of each row in passes as long as those of the engine.
func (w *work) read(n int) {
	for at := 0; at < n; at += transformer.SpareTokens {
		for i := range w.rows {
			w.rows[i].Cache.Len, w.rows[i].Tokens = at, w.prompts[i][at:min(at+transformer.SpareTokens, n)]
		}
		w.pass.Forward(w.rows)
	}
}
