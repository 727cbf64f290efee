package app

import (
	"context"

	"glossa/pkg/account"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/llm"
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
	if !account.MayUse(ctx, &entry.ModelInfo) {
		return alpha.Metrics{}, &llm.Error{Code: llm.NotFound, Param: "model", Message: "the model does not exist"}
	}
	m, err := c.a.local.Metrics(entry.Run, from)
	return alpha.Metrics(m), err
}
