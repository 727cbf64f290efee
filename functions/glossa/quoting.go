package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"

	"glossa/pkg/bench/quoting"
	"glossa/pkg/engine/transformer"
)

// measureQuoting prints how fast a model or shapes answer with and without drafts.
func (b *benchOptions) measureQuoting(ctx context.Context, w io.Writer) error {
	begun := false
	print := printerOf(b, w, func(r quoting.Result) error {
		if !begun {
			begun = true
			fmt.Fprintf(w, "%-20s %-6s %7s  %-8s %-10s %6s  %8s  %8s  %5s  %7s  %8s\n", "MODEL", "QUANT", "THREADS", "TASK", "DRAFT", "TOKENS", "PLAIN", "DRAFTING", "RATIO", "DRAFTED", "ACCEPTED")
		}
		_, err := fmt.Fprintf(w, "%-20s %-6s %7d  %-8s %-10s %6d  %8s  %8s  %5.2f  %7d  %8d\n",
			r.Model, r.Quant, r.Threads, r.Task, cmp.Or(r.Draft, "text"), r.Tokens, speed(r.Plain), speed(r.Drafting), r.Ratio, r.Drafted, r.Accepted)
		return err
	})
	for _, quant := range b.quants {
		for _, threads := range b.config.Threads {
			cfg := quoting.Config{Format: transformer.Formats()[quant], KV: b.config.KV, Threads: threads, Repeat: b.config.Repeat, Kernels: b.config.Kernels, Draft: b.draft}
			for _, results := range b.quotingResults(ctx, cfg) {
				for r, err := range results {
					if err == nil {
						err = print(r)
					}
					if err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// quotingResults returns the measurements of the model or of each shape.
func (b *benchOptions) quotingResults(ctx context.Context, cfg quoting.Config) (list []iter.Seq2[quoting.Result, error]) {
	if b.model != "" {
		return append(list, quoting.File(ctx, b.model, cfg))
	}
	for _, name := range b.shapes {
		list = append(list, quoting.Shape(ctx, name, cfg))
	}
	return list
}
