package app

import (
	"context"

	"glossa/pkg/dialect/alpha"
)

// curves serves the metrics of the training runs in this process.
type curves struct{ a *App }

var _ alpha.Curves = curves{}

// Metrics implements [alpha.Curves].
func (c curves) Metrics(ctx context.Context, model string, from int64) (alpha.Metrics, error) {
	entry, err := c.a.catalog.Entry(ctx, model)
	if err != nil || entry.Run == nil { // a remote model has none
		return alpha.Metrics{}, err
	}
	m, err := c.a.local.Metrics(entry.Run, from)
	return alpha.Metrics(m), err
}
