package app

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"glossa/pkg/deployment"
)

// A batchEvent is an event of the function of batches, from itself or from its schedule.
type batchEvent struct {
	Batches string `json:"batches"`
}

const (
	eventStart = deployment.StartBatches // start as many workers as can work, of the schedule too
	eventWork  = "work"                  // be one of them
)

// event handles an event of the function of batches.
func (w *batchWork) event(ctx context.Context, payload []byte) (known bool) {
	var e batchEvent
	if json.Unmarshal(payload, &e) != nil {
		return false
	}
	var err error
	switch e.Batches {
	case eventStart:
		err = w.start(ctx)
	case eventWork:
		err = w.work(ctx)
	default:
		return false
	}
	w.failed(ctx, "", err) // the schedule comes again
	return true
}

// start starts the functions that the open batches need. Those that are too many end at once: they find no
// free slot.
func (w *batchWork) start(ctx context.Context) error {
	jobs, err := w.batches.Open(ctx)
	if err != nil {
		return err
	}
	ready, err := w.batches.Ready(ctx, jobs)
	if err != nil {
		return err
	}
	var errs []error
	for range min((ready+w.steps-1)/w.steps, w.functions) {
		errs = append(errs, w.later(ctx, batchEvent{eventWork}))
	}
	return errors.Join(errs...)
}

// An invocation works for this share of its time: lines that run at its end are cut off, and their
// part's answers are stored. The alarm of functions that are close to their timeout does not see it.
const working = 0.8

const (
	// worthwhile is the least time for another step.
	worthwhile = time.Minute
	// batchPatience is the longest wait within an invocation: the schedule comes again.
	batchPatience = 3 * time.Second
)

var errNoDeadline = errors.New("the invocation has no deadline")

// work works on batches until there is nothing to do for now, or the invocation is about to end: then
// another one takes its place.
func (w *batchWork) work(ctx context.Context) (err error) {
	end, ok := ctx.Deadline()
	if !ok {
		return errNoDeadline
	}
	leave, err := w.batches.Slot(ctx, w.functions)
	if leave == nil || err != nil {
		return err
	}
	stop := time.Now().Add(time.Duration(working * float64(time.Until(end))))
	within, cancel := context.WithDeadline(ctx, stop)
	defer cancel()
	var workers sync.WaitGroup
	var more [64]bool // by worker
	for i := range min(w.steps, len(more)) {
		workers.Go(func() {
			for within.Err() == nil {
				if more[i] = time.Until(stop) < worthwhile; more[i] {
					return
				}
				wait := w.step(within)
				if wait > batchPatience {
					return
				}
				w.rest(within, wait)
			}
			more[i] = true
		})
	}
	workers.Wait()
	if err := leave(ctx); err != nil {
		return err
	}
	for _, left := range more {
		if left {
			return w.later(ctx, batchEvent{eventWork})
		}
	}
	return nil
}
