package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// An attempt runs lines of one part, one after the other.
type attempt struct {
	b         *Batches
	w         *work
	throttled int  // earlier attempts at the part that were throttled
	giveUp    bool // the line is not run: it may be what kills the processes

	asked time.Time // when the store was last asked whether the batch is cancelled
	input input
}

// renew renews a lease until the returned function is called. key returns the key of the n-th renewal.
// If that fails for a while, another process may make an attempt at the same lines, whose answers do
// not count.
func (b *Batches) renew(ctx context.Context, key func(n int) string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(b.cfg.Lease / 3)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = b.createJSON(ctx, key(n), time.Now().Add(b.cfg.Lease)) // the next one may succeed
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// askAgain is the time between two looks at the cancellation.
const askAgain = 2 * time.Second

// run runs lines until one cannot run now, and counts them in c. After an error it returns the answers before it.
func (a *attempt) run(ctx context.Context, left []span, c *commit) (answers []byte, err error) {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	for i, at := range left {
		rec, wait, err := a.line(ctx, at, left[i:])
		if wait > 0 {
			c.notBefore = time.Now().Add(wait).UnixMilli()
		}
		if rec == nil || err != nil {
			return out.Bytes(), err
		}
		if err := to.Encode(rec); err != nil {
			return out.Bytes(), err
		}
		if rec.Failed {
			c.failed++
		} else {
			c.done++
		}
	}
	return out.Bytes(), nil
}

// line runs the line at a place, which is the first of left. Without a record the attempt ends, and the next one
// may begin after wait, also after an error of the Runner.
func (a *attempt) line(ctx context.Context, at span, left []span) (*record, time.Duration, error) {
	if stop, err := a.stopped(ctx); stop || err != nil {
		return nil, 0, err
	}
	request, problem, err := a.input.line(ctx, at, left)
	if ctx.Err() != nil {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	res := a.w.newResult(at.Line, request.CustomID)
	if a.giveUp {
		problem = &fault{Code: "worker_lost", Message: "the processes that ran this request ended before they had an answer"}
	}
	if problem == nil {
		answer, err := a.b.cfg.Runner.Run(ctx, a.w.Sender, request)
		if ctx.Err() != nil {
			return nil, 0, nil
		}
		if err != nil || again(answer.Status, a.throttled) {
			return nil, backoff(a.throttled, answer.RetryAfter), err
		}
		res.Response = &response{answer.Status, answer.RequestID, answer.Body}
	}
	res.Error = problem
	out, err := json.Marshal(res)
	return &record{at.Line, problem != nil || res.Response.Status >= http.StatusBadRequest, out}, 0, err
}

// stopped reports whether the attempt must not run another line.
func (a *attempt) stopped(ctx context.Context) (bool, error) {
	now := time.Now()
	if ctx.Err() != nil || !now.Before(a.w.Expires) {
		return true, nil
	}
	if now.Sub(a.asked) < askAgain {
		return false, nil
	}
	a.asked = now
	var cancelled time.Time
	ok, err := optional(a.b, ctx, a.w.key("cancel"), &cancelled)
	if ctx.Err() != nil {
		return true, nil
	}
	return ok, err
}
