package engine

import (
	"context"

	"glossa/pkg/fair"
)

// claim waits, without the worker, until need bytes are free in addition to the claims of
// others. w holds them until its release. The only error is that of ctx.
//
// A wait for memory has no bound, since generations last for minutes. A claim that is
// larger than the free memory therefore does not delay other senders.
func (w *worker) claim(ctx context.Context, need int64) error {
	if w == nil || w.queue.memory == 0 {
		return nil
	}
	c, err := w.queue.pool.Claim(w.line.Sender, need, fair.Limits{Total: w.queue.memory})
	if err != nil {
		return err
	}
	w.claims = append(w.claims, c)
	if c.Granted() {
		return nil
	}
	w.yield()
	if err := w.queue.await(ctx, c); err != nil {
		return err
	}
	return w.awaitTurn(ctx)
}

// await waits until c is granted.
func (q *Queue) await(ctx context.Context, c *fair.Claim) error {
	count := func(n int) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.claims += n
	}
	count(1)
	defer count(-1)
	return c.Wait(ctx)
}
