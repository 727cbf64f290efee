package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A Retry bounds how often and how long a call is retried. A partly answered call is
// never retried. The zero value has good defaults.
type Retry struct {
	Attempts int            // calls including the first; 0 means 3
	Pause    time.Duration  // bound of the first pause, doubled for each further one; 0 means 300 ms
	Total    time.Duration  // of all pauses, in addition to the deadline; 0 means 5 s
	Jitter   func() float64 // in [0, 1): the fraction of the bound that a pause takes; nil: random
}

func (r Retry) orDefault() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 3
	}
	if r.Pause <= 0 {
		r.Pause = 300 * time.Millisecond
	}
	if r.Total <= 0 {
		r.Total = 5 * time.Second
	}
	if r.Jitter == nil {
		r.Jitter = rand.Float64
	}
	return r
}

// try calls until a call succeeds or fails for good, or until the budget is spent: it
// does not begin a pause that would end after the deadline. The provider may request a
// longer pause.
func try[T any](ctx context.Context, budget Retry, call func() (T, error)) (T, error) {
	r := budget.orDefault()
	left := r.Total
	for attempt := 1; ; attempt++ {
		v, err := call()
		f, ok := errors.AsType[*Fault](err)
		if !ok || !f.retryable || attempt >= r.Attempts || ctx.Err() != nil {
			return v, err
		}
		pause := max(time.Duration(r.Jitter()*float64(r.Pause)), f.RetryAfter)
		r.Pause *= 2
		deadline, has := ctx.Deadline()
		if pause > left || has && time.Until(deadline) <= pause {
			return v, err
		}
		left -= pause
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return v, ctx.Err()
		}
	}
}
