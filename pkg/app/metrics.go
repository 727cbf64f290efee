package app

import (
	"context"
	"log/slog"

	"glossa/pkg/catalog"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter/activity"
	"glossa/pkg/meter/emf"
)

// observers returns the observer of each request and the destination of its log line.
// Lines of metrics are log lines too: with them there are no others.
func (a *App) observers() (observe func(*httpx.Record), log *slog.Logger) {
	all := []func(*httpx.Record){a.budgets.Observe} // it settles the usage
	if a.activity != nil {
		all = append(all, a.activity.Observe)
	}
	if a.traces != nil {
		all = append(all, a.traces.Observe)
	}
	if a.meter != nil {
		all = append(all, a.meter.Observe)
	}
	log = a.cfg.Log
	if a.cfg.Metrics != nil {
		lines := emf.New(emf.Config{Writer: a.cfg.Metrics, Namespace: a.cfg.Namespace, Known: a.known, Experts: func(model string) llm.ExpertUse { return a.experts()[model] }})
		all, log = append(all, lines.Observe), nil
	}
	return func(rec *httpx.Record) {
		for _, observe := range all {
			observe(rec)
		}
	}, log
}

// begin tells the observers that a request begins.
func (a *App) begin(rec *httpx.Record) {
	if a.activity != nil {
		a.activity.Begin(rec)
	}
	a.traces.Begin(rec)
}

// known reports whether the catalog has a model, so that its name may be a label.
func (a *App) known(model string) bool { return a.catalog.Has(context.Background(), model) }

// newActivity returns the measurements of the last minutes, nil unless they are configured.
func (a *App) newActivity(workers int) *activity.Activity {
	if !a.cfg.Activity {
		return nil
	}
	return activity.New(activity.Config{
		Workers: workers, Queue: a.queue.Stats, Memory: a.cfg.Memory, Models: func() []activity.Model { return inMemory(a.catalog.Held()) },
	})
}

// inMemory converts the models in memory for the activity.
func inMemory(held []catalog.Held) (list []activity.Model) {
	for _, h := range held {
		m := activity.Model{Name: h.Name, Bytes: h.Bytes, InUse: h.Users}
		if use := h.Experts; use != nil {
			m.Experts = &activity.Experts{Bytes: use.Bytes, Hits: use.Hits, Misses: use.Misses}
		}
		list = append(list, m)
	}
	return list
}

// experts returns how the experts of models were found that stay in their files.
func (a *App) experts() map[string]llm.ExpertUse {
	all := map[string]llm.ExpertUse{}
	for _, h := range a.catalog.Held() {
		if h.Experts != nil {
			all[h.Name] = *h.Experts
		}
	}
	return all
}
