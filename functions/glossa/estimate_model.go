package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"glossa/pkg/app"
	"glossa/pkg/bench"
	"glossa/pkg/engine"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/estimate"
)

// open opens the model, and returns the name of the format of its weights.
func (o *estimateOptions) open() (m *bench.Model, format string, err error) {
	isShape := slices.Contains(bench.Shapes(), o.model)
	if isShape {
		m, err = bench.Random(o.model)
	} else {
		m, err = bench.Open(o.model)
	}
	format = cmp.Or(o.quant, "stored")
	if isShape {
		format = cmp.Or(o.quant, dtype.Q8_0.Option())
	}
	_, known := transformer.Formats()[format]
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("%w; a shape is one of %s", err, strings.Join(bench.Shapes(), ", "))
	case err != nil:
		return nil, "", err
	case !known || format == "stored" && isShape:
		err = usagef("--quant: %q must be %s or, for a model, stored", format, strings.Join(dtype.Options(), ", "))
	case len(m.Spec.Decoder) == 0 || len(m.Spec.Encoder) > 0:
		err = errors.New("it does not continue texts: only decoders are estimated")
	}
	if err != nil {
		return nil, "", errors.Join(err, m.Close())
	}
	return m, format, nil
}

// described returns what the estimate needs of a model.
func described(m *bench.Model, format string) *estimate.Model {
	f := transformer.Formats()[format]
	d := &estimate.Model{
		Name: m.Name, Format: m.Format(f), Context: m.Spec.Context, Sizes: map[string]int64{}, Weights: m.Weights.Bytes(m.Spec, f),
		Work: workOf(m, f), Files: m.Weights.Bytes(m.Spec, transformer.Stored),
		Row: func(tokens int) int64 { return engine.RowMemory(m.Weights.CacheBytes(m.Spec, f, tokens), m.Spec.Vocab) },
	}
	if slices.Contains(bench.Shapes(), m.Name) {
		d.Files = d.Weights // it would be published in this format
	}
	for name, f := range transformer.Formats() {
		d.Sizes[name] = m.Weights.Bytes(m.Spec, f)
	}
	return d
}

func workOf(m *bench.Model, f transformer.Format) (w estimate.Work) {
	w.Bytes, w.Operations = m.Load(f)
	return w
}

// shapeWork returns the work of built-in shapes in a format, from whose measurements other models
// are scaled. Only formats that a shape can be loaded in are known.
func shapeWork(format string) func(name string) (estimate.Work, bool) {
	return func(name string) (w estimate.Work, ok bool) {
		f, known := transformer.Formats()[format]
		if !known || !slices.Contains(bench.Shapes(), name) {
			return w, false
		}
		m, err := bench.Random(name)
		if err != nil {
			return w, false
		}
		return workOf(m, f), true
	}
}

// Sizes of a measurement: enough tokens for a stable speed, few enough for some seconds.
const (
	measuredPrompt = 128
	measuredAnswer = 32
	measuredTimes  = 3
)

// measure measures the model on this machine: alone, and with as many rows as a server computes
// together.
func (o *estimateOptions) measure(ctx context.Context, p *program, m *bench.Model, format string) (list []estimate.Measurement, err error) {
	kernels, err := p.kernels()
	if err != nil {
		return nil, err
	}
	cfg := bench.Config{
		Format: transformer.Formats()[format], Threads: measuredThreads(), Kernels: kernels, Repeat: measuredTimes,
		Prefill: min(measuredPrompt, o.request.Prompt), Decode: min(measuredAnswer, m.Spec.Context/2),
	}
	fmt.Fprintf(p.stderr, "measuring %s on this machine\n", m.Name)
	for _, rows := range []int{1, app.DefaultWorkers} {
		cfg.Batches = []int{rows}
		if rows > 1 {
			cfg.Prefill = 0 // prompts are computed one after the other
		}
		for r, err := range bench.Run(ctx, m, cfg) {
			if err != nil {
				return nil, err
			}
			list = append(list, estimate.Measurement{
				Shape: r.Shape, Quant: r.Quant, Threads: r.Threads, Batch: r.Batch, Phase: r.Phase, TokensPerSecond: r.TokensPerSecond,
			})
		}
	}
	return list, nil
}
