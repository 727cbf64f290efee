package e2e

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// errSilent is the cause of the end of a silent stream.
var errSilent = errors.New("the integration was silent for too long")

// silenceLimit returns the silence after which API Gateway ends a stream of an API with these
// types of endpoints. Source: API Gateway Developer Guide, "Stream the integration response for
// your proxy integrations".
func silenceLimit(types []any) time.Duration {
	if slices.Contains(types, any("EDGE")) || len(types) == 0 { // the default
		return 30 * time.Second
	}
	return 5 * time.Minute
}

// limitSilence calls answer with a context that ends when nothing was written for the limit.
func limitSilence(ctx context.Context, w http.ResponseWriter, limit time.Duration, answer func(context.Context, http.ResponseWriter)) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(errSilent) })
	defer timer.Stop()
	answer(ctx, &heard{w, timer, limit})
}

// heard restarts a timer with each write.
type heard struct {
	http.ResponseWriter
	timer *time.Timer
	limit time.Duration
}

func (w *heard) Write(b []byte) (int, error) {
	w.timer.Reset(w.limit)
	return w.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (w *heard) Unwrap() http.ResponseWriter { return w.ResponseWriter }
