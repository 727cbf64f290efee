package app

import (
	"context"
	"log/slog"

	"glossa/pkg/httpx"
	"glossa/pkg/meter/emf"
)

// observers returns the observer of each request and the destination of its log line.
// Lines of metrics are log lines too: with them there are no others.
func (a *App) observers() (observe func(*httpx.Record), log *slog.Logger) {
	all := []func(*httpx.Record){a.budgets.Observe} // it settles the usage
	if a.meter != nil {
		all = append(all, a.meter.Observe)
	}
	log = a.cfg.Log
	if a.cfg.Metrics != nil {
		lines := emf.New(emf.Config{Writer: a.cfg.Metrics, Namespace: a.cfg.Namespace, Known: a.known})
		all, log = append(all, lines.Observe), nil
	}
	return func(rec *httpx.Record) {
		for _, observe := range all {
			observe(rec)
		}
	}, log
}

// known reports whether the catalog has a model, so that its name may be a label.
func (a *App) known(model string) bool { return a.catalog.Has(context.Background(), model) }
