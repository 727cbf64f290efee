package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"glossa/pkg/httpx"
)

// closePatience is the longest time in which an ending process stores its usage. Lambda
// kills it earlier.
const closePatience = 2 * time.Second

// guard authenticates a request and counts it against its sender's rate.
func (a *App) guard(r *http.Request, route *httpx.Route) (*http.Request, error) {
	r, err := a.accounts.Guard(r, route)
	if err != nil {
		return nil, err
	}
	return a.budgets.Guard(r, route)
}

// Close stores the usage and returns unused leases. Call it when no request runs.
func (a *App) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if a.archived != nil {
		defer a.archived.Flush(ctx)
	}
	if err := a.traces.Close(ctx); err != nil {
		a.traceFailed(err)
	}
	if err := a.budgets.Close(ctx); err != nil {
		a.cfg.usageFailed(err)
	}
}

// usageFailed logs an error of storing usage or budgets.
func (cfg Config) usageFailed(err error) {
	if cfg.Log != nil {
		cfg.Log.LogAttrs(context.Background(), slog.LevelError, "usage", slog.String("problem", err.Error()))
	}
}
