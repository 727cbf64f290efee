package httpx

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// Bodies bounds the bytes of all bodies that are in memory at once. What a request read
// counts until its handler returns. A body that there is no room for waits, in order, and
// is then refused with [llm.Overloaded]. The zero value works.
//
// No sender, as [llm.SenderOf] names it, takes more than a share, unless that is a single
// body; and the first [SmallBody] bytes that a sender has under way need no room, so that
// small bodies get through whatever others do.
type Bodies struct {
	Total int64         // bytes of all bodies; 0: 256 MiB
	Share int64         // bytes of the bodies of one sender; 0: a quarter of Total
	Wait  time.Duration // how long a body waits; 0: 10 s

	mu      sync.Mutex
	used    int64 // bytes that took room
	senders map[string]*sender
	waiting []*lease
}

// SmallBody is how many bytes of a sender's bodies need no room.
const SmallBody = 64 << 10

const (
	defaultTotal = 256 << 20
	sharers      = 4
	defaultWait  = 10 * time.Second
)

// A sender is who has bodies in memory, or waits to have some.
type sender struct {
	leases int   // of it
	small  int64 // bytes that needed no room
	held   int64 // bytes that took room
}

// A lease is the part of a request in the bodies in memory. A nil lease has no bound.
type lease struct {
	of    *Bodies
	name  string  // of the sender
	from  *sender // nil until the first bytes are taken
	small int64
	held  int64

	wants   int64         // while it waits
	granted chan struct{} // closed when it has what it wants
}

// take makes room for n bytes in all, waiting if it must. A lease takes room once: it
// holds none while it waits.
func (l *lease) take(ctx context.Context, n int64) error {
	if l == nil || n <= l.small || l.held > 0 {
		return nil
	}
	if !l.enter(ctx, n) {
		return nil
	}
	timer := time.NewTimer(cmp.Or(l.of.Wait, defaultWait))
	defer timer.Stop()
	var err error
	select {
	case <-l.granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = &llm.Error{
			Code: llm.Overloaded, Message: "too many large requests at once: try again later", RetryAfter: cmp.Or(l.of.Wait, defaultWait),
		}
	}
	if !l.leave() {
		return nil // granted at the same moment
	}
	return err
}

// takeSmall takes n bytes that need no room, if the sender has few under way.
func (l *lease) takeSmall(ctx context.Context, n int64) bool {
	if l == nil {
		return true
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.open(ctx)
	if l.from.small+n > SmallBody {
		return false
	}
	l.small, l.from.small = l.small+n, l.from.small+n
	return true
}

// open notes whose the lease is; mu is held.
func (l *lease) open(ctx context.Context) {
	if l.from != nil {
		return
	}
	l.name = llm.SenderOf(ctx)
	if l.from = l.of.senders[l.name]; l.from == nil {
		l.from = &sender{}
		if l.of.senders == nil {
			l.of.senders = map[string]*sender{}
		}
		l.of.senders[l.name] = l.from
	}
	l.from.leases++
}

// enter takes n bytes or a place in the line; it tells whether the lease has to wait.
func (l *lease) enter(ctx context.Context, n int64) (waits bool) {
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	l.open(ctx)
	l.wants, l.granted = n, make(chan struct{})
	b.waiting = append(b.waiting, l)
	b.serve()
	return l.wants > 0
}

// leave gives the place in the line up; it tells whether the lease had one.
func (l *lease) leave() bool {
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, l)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	b.serve()
	return true
}

// serve gives room to those who wait, in order; mu is held. A sender that has its share
// does not hold up others, and one for whom there is no room now is not overtaken.
func (b *Bodies) serve() {
	total := cmp.Or(b.Total, defaultTotal)
	share := cmp.Or(b.Share, total/sharers)
	full := false
	b.waiting = slices.DeleteFunc(b.waiting, func(l *lease) bool {
		n := l.wants
		if full || l.name != "" && l.from.held > 0 && l.from.held+n > share {
			return false
		}
		if full = b.used > 0 && b.used+n > total; full {
			return false
		}
		b.used += n
		l.from.held += n
		l.from.small -= l.small
		l.held, l.small, l.wants = n, 0, 0
		close(l.granted)
		return true
	})
}

// shrink gives back what a body of n bytes did not need.
func (l *lease) shrink(n int64) {
	if l == nil || l.from == nil {
		return
	}
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if over := l.small - n; over > 0 {
		l.small, l.from.small = n, l.from.small-over
	}
	if over := l.held - n; over > 0 {
		l.held, l.from.held = n, l.from.held-over
		b.used -= over
		b.serve()
	}
}

// release gives everything back.
func (l *lease) release() {
	if l == nil || l.from == nil {
		return
	}
	l.shrink(0)
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.from.leases--; l.from.leases == 0 {
		delete(b.senders, l.name)
	}
	l.from = nil
}
