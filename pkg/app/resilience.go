package app

import (
	"context"
	"math"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/resilience"
)

// openEntry implements [resilience.Open].
func (a *App) openEntry(ctx context.Context, name string) (*llm.Model, resilience.Policy, error) {
	model, e, err := a.catalog.OpenEntry(ctx, name)
	if e == nil {
		return nil, resilience.Policy{}, err
	}
	if err == nil {
		model = a.traces.Model(meter.Price(model, a.cfg.Computer))
	}
	rec := e.Record()
	p := resilience.Policy{Info: e.ModelInfo, Fallbacks: rec.Fallbacks, Seeded: e.InProcess}
	if rec.CacheSeconds > 0 && err == nil {
		p.Keep = time.Duration(min(rec.CacheSeconds, math.MaxInt32)) * time.Second
		p.Version = e.Version()
	}
	return model, p, err
}
