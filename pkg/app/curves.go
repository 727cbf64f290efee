package app

import (
	"context"
	"io/fs"
	"path"

	"glossa/pkg/catalog"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
)

// curves reads what was measured while models were trained, where the models are.
type curves struct{ catalog *catalog.Catalog }

var _ alpha.Curves = curves{}

// Metrics implements [alpha.Curves]. No weights are read.
func (c curves) Metrics(ctx context.Context, model string, from int64) (alpha.Metrics, error) {
	entry, err := c.catalog.Entry(ctx, model)
	if err != nil {
		return alpha.Metrics{}, err
	}
	run := entry.Run
	if run == nil { // a model that is not in the process
		return alpha.Metrics{}, nil
	}
	fsys, err := steady(run)
	if err != nil {
		return alpha.Metrics{}, unreadable(err)
	}
	m, err := measured(fsys, run, from)
	return alpha.Metrics(m), unreadable(err)
}

// measured reads the metrics of a run: in the directory of its checkpoint, or in the packed
// model that holds it.
func measured(fsys fs.FS, run *catalog.Run, from int64) (checkpoint.Metrics, error) {
	if run.Type == "" {
		return checkpoint.ReadMetrics(fsys, path.Dir(run.Checkpoint), from)
	}
	text, err := arch.RunFileOf(fsys, run.Checkpoint, checkpoint.MetricsFile)
	return checkpoint.MetricsOf(text, from), err
}
