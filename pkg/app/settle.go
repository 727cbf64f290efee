package app

import (
	"context"
	"net/http"
	"time"
)

// The longest times that a function waits after an answer: for what is being archived, and for the
// export of its spans.
const (
	archivePatience = time.Second
	tracePatience   = 2 * time.Second
)

// settled waits after each answer until what the request has left is written.
func (a *App) settled(h http.Handler) http.Handler {
	if a.archived == nil && a.traces == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		a.settle(r.Context())
	})
}

// settle waits until what an invocation has left is written, even if its client has gone: a function
// may do nothing before its next invocation.
func (a *App) settle(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if a.archived != nil {
		within, cancel := context.WithTimeout(ctx, archivePatience)
		a.archived.Flush(within)
		cancel()
	}
	within, cancel := context.WithTimeout(ctx, tracePatience)
	defer cancel()
	if err := a.traces.Flush(within); err != nil {
		a.traceFailed(err)
	}
}
