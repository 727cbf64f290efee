package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"glossa/pkg/httpx"
)

// closePatience is how long a process that ends writes down what was used. Lambda kills
// it before that.
const closePatience = 2 * time.Second

// guard asks who sends a request and counts it against their rate.
func (a *App) guard(r *http.Request, route *httpx.Route) (*http.Request, error) {
	r, err := a.accounts.Guard(r, route)
	if err != nil {
		return nil, err
	}
	return a.budgets.Guard(r, route)
}

// Close writes down what was used and gives back what is leased and not used. It is
// called once no request runs.
func (a *App) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := a.budgets.Close(ctx); err != nil {
		a.cfg.usageFailed(err)
	}
}

// usageFailed logs what could not be written of the usage and the budgets.
func (cfg Config) usageFailed(err error) {
	if cfg.Log != nil {
		cfg.Log.LogAttrs(context.Background(), slog.LevelError, "usage", slog.String("problem", err.Error()))
	}
}
