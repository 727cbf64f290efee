package responses

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Times of cancellations between processes.
const (
	lookEvery = 2 * time.Second // for the mark of a response that runs
	// cancelWait is the longest time until a response has noticed that it is cancelled, and is stored.
	cancelWait = 5 * time.Second
	keepMark   = 15 * time.Minute // longer than any response takes on Lambda
)

var errCancelled = errors.New("the client cancelled the response")

// running holds the responses that this process streams and that can be cancelled, by owner and id.
type running struct{ responses sync.Map }

func (r *running) cancel(owner, id string) bool {
	cancel, ok := r.responses.Load(owner + "/" + id)
	if ok {
		cancel.(context.CancelCauseFunc)(errCancelled)
	}
	return ok
}

// watched returns a context that ends when the answer is cancelled, if it can be: it is stored. The
// function ends the watch. Where other processes may get the request to cancel it, they store a mark, for which
// this one looks from time to time.
func (cfg Config) watched(ctx context.Context, a *answer) (context.Context, func()) {
	if a.keep == nil {
		return ctx, func() {}
	}
	within, cancel := context.WithCancelCause(ctx)
	a.cancelled = func() bool { return errors.Is(context.Cause(within), errCancelled) }
	key := cfg.owner(ctx) + "/" + a.ID
	cfg.running.responses.Store(key, cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if cfg.Shared {
			cfg.look(within, cancel, a.ID)
		}
	}()
	return within, func() {
		cfg.running.responses.Delete(key)
		cancel(nil)
		<-ended
	}
}

// look cancels a response that gets a mark before ctx ends. A store that fails tells nothing.
func (cfg Config) look(ctx context.Context, cancel context.CancelCauseFunc, id string) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := cfg.Store.Get(ctx, cfg.owner(ctx), markOf(id), func(int64) error { return nil }); err == nil {
				cancel(errCancelled)
			}
		}
	}
}

// markOf returns the id of the mark of a response that is to be cancelled.
func markOf(id string) string { return "cancel_" + strings.TrimPrefix(id, "resp_") }

// cancel ends an answer that its client cancelled, with what is there.
func (a *answer) cancel() {
	a.Status, a.Error, a.IncompleteDetails, a.CompletedAt = cancelled, nil, nil, nil
	a.end(incomplete)
	a.close()
}

// cancel cancels a response that is streamed. One that has ended stays as it is.
func (cfg Config) cancel(w http.ResponseWriter, r *http.Request) error {
	id, ctx := r.PathValue("response_id"), r.Context()
	d, a, ok, err := cfg.find(ctx, id)
	owner := cfg.owner(ctx)
	switch {
	case err != nil:
		return err
	case ok:
		return cancelEnded(w, d, a)
	case cfg.Store == nil || !responseID.MatchString(id):
		return cfg.unknown(id)
	case cfg.running.cancel(owner, id):
	case !cfg.Shared:
		return cfg.unknown(id)
	default:
		if err := cfg.Store.Put(ctx, owner, markOf(id), []byte("{}"), cfg.Now().Add(keepMark)); err != nil {
			return err
		}
		defer func() { // the response has noticed it, or there is none
			_ = cfg.Store.Delete(context.WithoutCancel(ctx), owner, markOf(id)) // else it expires
		}()
	}
	wait := time.NewTimer(cancelWait)
	defer wait.Stop()
	tick := time.NewTicker(cancelWait / 20)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if d, a, ok, err = cfg.find(ctx, id); err != nil {
				return err
			} else if ok {
				return cancelEnded(w, d, a)
			}
		case <-wait.C:
			return cfg.unknown(id)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cancelEnded answers a request to cancel a response that has ended.
func cancelEnded(w http.ResponseWriter, d document, a answered) error {
	if a.Status != cancelled {
		return llm.Errorf(llm.Invalid, "Cannot cancel a response that has ended: it is %s.", a.Status)
	}
	return httpx.JSON(w, http.StatusOK, d.Response)
}
