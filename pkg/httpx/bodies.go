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

// Bodies bounds the bytes of all bodies that are in memory at once. The bytes that a
// request has read count until its handler returns. A body without room waits, in the
// order of arrival, and is then refused with [llm.Overloaded]. The zero value works.
//
// No sender, as [llm.SenderOf] names it, takes more than a share, except for a single
// body. The first [SmallBody] bytes that a sender has under way need no room, so that
// small bodies get through whatever others do.
type Bodies struct {
	Total int64         // bytes of all bodies; 0: 256 MiB
	Share int64         // bytes of the bodies of one sender; 0: a quarter of Total
	Wait  time.Duration // how long a body waits; 0: 10 s

	pool  fair.Pool
	mu    sync.Mutex
	small map[string]int64 // bytes that need no room, by sender
}

// SmallBody is how many bytes of a sender's bodies need no room.
const SmallBody = 64 << 10

const (
	defaultTotal = 256 << 20
	sharers      = 4
	defaultWait  = 10 * time.Second
)

// A lease is the part of a request in the bodies in memory. A nil lease has no bound.
type lease struct {
	of    *Bodies
	from  string // sender of the small bytes
	small int64  // bytes that need no room
	large *fair.Claim
}

// take makes room for n bytes in all, waiting if it must. A lease takes room once: it
// holds none while it waits.
func (l *lease) take(ctx context.Context, n int64) error {
	if l == nil || n <= l.small || l.large != nil {
		return nil
	}
	sender, total, wait := llm.SenderOf(ctx), cmp.Or(l.of.Total, defaultTotal), cmp.Or(l.of.Wait, defaultWait)
	share := cmp.Or(l.of.Share, total/sharers)
	if sender == "" { // requests without a sender are not those of one client
		share = total
	}
	large, err := l.of.pool.Take(ctx, sender, n, fair.Limits{Total: total, Share: share, Wait: wait})
	if errors.Is(err, fair.ErrBusy) {
		return &llm.Error{Code: llm.Overloaded, Message: "too many large requests at once: try again later", RetryAfter: wait}
	}
	if err != nil {
		return err
	}
	l.large = large
	l.resize(-l.small)
	return nil
}

// takeSmall takes n bytes that need no room, if the sender has few under way.
func (l *lease) takeSmall(ctx context.Context, n int64) bool {
	if l == nil {
		return true
	}
	l.from = llm.SenderOf(ctx)
	return l.resize(n)
}

// resize adds n to the bytes that need no room, unless the sender has too many then.
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

// shrink gives back the bytes that a body of n did not need.
func (l *lease) shrink(n int64) {
	if l == nil {
		return
	}
	if over := l.small - n; over > 0 {
		l.resize(-over)
	}
	l.large.Shrink(n)
}

// release gives everything back.
func (l *lease) release() { l.shrink(0) }
