package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"glossa/pkg/bench/known"
	"glossa/pkg/engine/transformer"
)

// measureKnown prints how long the first token takes where the beginning of the prompt is
// computed, stored or in memory.
func (b *benchOptions) measureKnown(ctx context.Context, w io.Writer) error {
	measure, models := known.Shape, b.shapes
	if b.model != "" {
		measure, models = known.File, []string{b.model}
	}
	print := printerOf(b, w, func(r known.Result) error {
		at := func(seconds float64) string {
			took := time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond)
			return fmt.Sprintf("%s (1/%.0f)", took, r.Computed/seconds)
		}
		_, err := fmt.Fprintf(w, "%-20s %-6s %7d  %6d  %9s  %10s  %18s  %18s\n", r.Model, r.Quant, r.Threads, r.Tokens,
			fmt.Sprintf("%.1f MB", float64(r.Bytes)/1e6), time.Duration(r.Computed*float64(time.Second)).Round(100*time.Microsecond), at(r.Stored), at(r.Memory))
		return err
	})
	if !b.json {
		fmt.Fprintf(w, "%-20s %-6s %7s  %6s  %9s  %10s  %18s  %18s\n", "MODEL", "QUANT", "THREADS", "TOKENS", "STORED", "COMPUTED", "FROM DIRECTORY", "FROM MEMORY")
	}
	for _, quant := range b.quants {
		for _, threads := range b.config.Threads {
			for _, model := range models {
				r, err := measure(ctx, model, known.Config{
					Format: transformer.Formats()[quant], KV: b.config.KV, Threads: threads, Tokens: b.prefix, Repeat: b.config.Repeat, Kernels: b.config.Kernels,
				})
				if err == nil {
					err = print(r)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
