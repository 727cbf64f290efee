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
	if err := c.Wait(ctx); err != nil {
		return err
	}
	return w.awaitTurn(ctx)
}
