package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"glossa/pkg/bench"
	"glossa/pkg/engine/transformer"
)

// measureContexts prints how fast prompts of some lengths are computed, and text after them.
func (b *benchOptions) measureContexts(ctx context.Context, w io.Writer) error {
	print := printerOf(b, w, func(r bench.ContextResult) error {
		_, err := fmt.Fprintf(w, "%-20s %-6s %7d  %6d  %10s  %5.2f  %10s  %5.2f\n",
			r.Shape, r.Quant, r.Threads, r.Tokens, speed(r.Prefill), r.PrefillRatio, speed(r.Decode), r.DecodeRatio)
		return err
	})
	if !b.json {
		fmt.Fprintf(w, "%-20s %-6s %7s  %6s  %10s  %5s  %10s  %5s\n", "MODEL", "QUANT", "THREADS", "TOKENS", "PREFILL", "RATIO", "DECODE", "RATIO")
	}
	return b.eachModel(func(m *bench.Model) error { return b.measureLengths(ctx, m, print) })
}

// measureLengths measures a model in every format.
func (b *benchOptions) measureLengths(ctx context.Context, m *bench.Model, print func(bench.ContextResult) error) error {
	for _, quant := range b.quants {
		cfg := b.config
		cfg.Format = transformer.Formats()[quant]
		list, err := bench.Contexts(ctx, m, cfg, b.contexts)
		if err != nil {
			return err
		}
		for _, r := range list {
			if err := print(r); err != nil {
				return err
			}
		}
		runtime.GC() // free the weights before the next ones are loaded
	}
	return nil
}
