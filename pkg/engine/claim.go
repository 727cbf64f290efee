package engine

import (
	"context"
	"slices"
)

// A claimant waits for memory, without a worker.
type claimant struct {
	*worker
	need    int64 // bytes
	granted chan struct{}
}

// claim waits, without the worker, until there is room for need bytes beside what others
// have claimed. w has them until its release. The only error is that of ctx.
func (w *worker) claim(ctx context.Context, need int64) error {
	if w == nil || w.queue.memory == 0 {
		return nil
	}
	c := w.queue.claim(w, need)
	if c == nil {
		return nil
	}
	select {
	case <-c.granted:
		return w.breathe(ctx)
	case <-ctx.Done():
		w.queue.withdraw(c)
		return ctx.Err()
	}
}

// claim books need bytes for w, or returns what waits for them.
func (q *Queue) claim(w *worker, need int64) *claimant {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fits(w, need) && !slices.ContainsFunc(q.claimants, func(c *claimant) bool { return c.line == w.line }) {
		q.book(w, need)
		return nil
	}
	c := &claimant{worker: w, need: need, granted: make(chan struct{})}
	q.claimants = append(q.claimants, c)
	if w.state == running {
		q.stop(w)
	} else if w.state == waiting { // it was taken before it could say so
		q.forget(w)
		w.state = paused
	}
	q.next()
	return c
}

// fits reports whether w may claim need bytes. A sender may hold as much as it leaves to
// others, and a sender that holds nothing may take all that is free. So one sender has
// at most half of the memory, the next half of the rest, and another's small request
// still finds room.
func (q *Queue) fits(w *worker, need int64) bool {
	free, own := q.memory-q.claimed-need, w.line.claimed+need
	return q.claimed == 0 || free >= 0 && (w.line.claimed == 0 || own <= free)
}

func (q *Queue) book(w *worker, need int64) {
	w.claimed += need
	w.line.claimed += need
	q.claimed += need
}

// unclaim gives back what w has claimed, and grants what others wait for.
func (q *Queue) unclaim(w *worker) {
	if w.claimed == 0 {
		return
	}
	q.book(w, -w.claimed)
	var behind []*line // lines whose first claimant goes on waiting
	q.claimants = slices.DeleteFunc(q.claimants, func(c *claimant) bool {
		if slices.Contains(behind, c.line) || !q.fits(c.worker, c.need) {
			behind = append(behind, c.line)
			return false
		}
		q.book(c.worker, c.need)
		close(c.granted)
		return true
	})
}

// withdraw ends the wait of c. What it was granted meanwhile goes back with its release.
func (q *Queue) withdraw(c *claimant) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claimants = slices.DeleteFunc(q.claimants, func(other *claimant) bool { return other == c })
}
