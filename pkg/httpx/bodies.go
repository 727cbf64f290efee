package httpx

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// Bodies bounds the bytes of all bodies that are in memory at once. The bytes of a
// request count until its handler returns. Without room, a body waits in order of
// arrival and is finally rejected with [llm.Overloaded]. The zero value works.
//
// A sender, as [llm.SenderOf] names it, gets at most its share, except for a single
// body. The first [SmallBody] bytes of a sender need no room, so that small bodies
// always get through.
type Bodies struct {
	Total int64         // bytes of all bodies; 0: 256 MiB
	Share int64         // bytes of the bodies of one sender; 0: a quarter of Total
	Wait  time.Duration // how long a body waits; 0: 10 s

	pool  fair.Pool
	mu    sync.Mutex
	small map[string]int64 // bytes that need no room, by sender
}

// SmallBody is the number of bytes of a sender's bodies that need no room.
const SmallBody = 64 << 10

const (
	defaultTotal = 256 << 20
	sharers      = 4
	defaultWait  = 10 * time.Second
)

// A lease is a request's claim on the bodies in memory. A nil lease is unbounded.
type lease struct {
	of    *Bodies
	from  string // sender of the small bytes
	small int64  // bytes that need no room
	large *fair.Claim
	more  []*fair.Claim // of [Reserve]
}

// Reserve claims room for n bytes that the request of ctx keeps in memory besides its body,
// until its handler returns. They count like those of a body, except that a request that
// already holds room does not wait for more: without room it is rejected at once.
func Reserve(ctx context.Context, n int64) error { return RecordOf(ctx).lease.reserve(ctx, n) }

func (l *lease) reserve(ctx context.Context, n int64) error {
	if l == nil || l.takeSmall(ctx, n) {
		return nil
	}
	sender, limits := l.of.limits(ctx)
	c, err := l.of.pool.Claim(sender, n, limits)
	if err == nil && !c.Granted() && (l.large != nil || l.more != nil) {
		c.Release()
		err = fair.ErrBusy
	}
	if err == nil {
		err = c.Wait(ctx)
	}
	if err != nil {
		return busy(err, limits.Wait)
	}
	l.more = append(l.more, c)
	return nil
}

// limits returns the sender of ctx and the limits of its claims.
func (b *Bodies) limits(ctx context.Context) (sender string, limits fair.Limits) {
	sender, total := llm.SenderOf(ctx), cmp.Or(b.Total, defaultTotal)
	limits = fair.Limits{Total: total, Share: cmp.Or(b.Share, total/sharers), Wait: cmp.Or(b.Wait, defaultWait)}
	if sender == "" { // requests without a sender belong to different clients
		limits.Share = total
	}
	return sender, limits
}

// busy returns the client's error for a claim that got no room.
func busy(err error, wait time.Duration) error {
	if errors.Is(err, fair.ErrBusy) {
		return &llm.Error{Code: llm.Overloaded, Message: "too many large requests at once: try again later", RetryAfter: wait}
	}
	return err
}

// take claims room for n bytes in all and waits if necessary. A lease claims room
// once, so it never waits while it holds room.
func (l *lease) take(ctx context.Context, n int64) error {
	if l == nil || n <= l.small || l.large != nil {
		return nil
	}
	sender, limits := l.of.limits(ctx)
	large, err := l.of.pool.Take(ctx, sender, n, limits)
	if err != nil {
		return busy(err, limits.Wait)
	}
	l.large = large
	l.resize(-l.small)
	return nil
}

// takeSmall claims n bytes that need no room, if the sender's limit allows it.
func (l *lease) takeSmall(ctx context.Context, n int64) bool {
	if l == nil {
		return true
	}
	l.from = llm.SenderOf(ctx)
	return l.resize(n)
}

// resize adds n to the bytes that need no room. It reports false if that exceeds the sender's
// limit.
func (l *lease) resize(n int64) bool {
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.small[l.from] + n
	if n > 0 && all > SmallBody {
		return false
	}
	l.small += n
	if b.small == nil {
		b.small = map[string]int64{}
	}
	if b.small[l.from] = all; all == 0 {
		delete(b.small, l.from)
	}
	return true
}

// shrink returns the bytes beyond the n that a body needed.
func (l *lease) shrink(n int64) {
	if l == nil {
		return
	}
	if over := l.small - n; over > 0 {
		l.resize(-over)
	}
	l.large.Shrink(n)
}

// release returns everything.
func (l *lease) release() {
	l.shrink(0)
	if l == nil {
		return
	}
	for _, c := range l.more {
		c.Release()
	}
}
