// Package fair shares the resources of a process between senders, so that no sender delays
// another: bytes of memory with a [Pool], and turns with [Turns]. A sender is a name. The
// package knows nothing of requests or of the purpose of the bytes and turns.
//
// Start with [Pool.Take] for bytes. [Turns] is the bare order, for a scheduler of your own.
package fair

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrBusy is the error of a claim that finds no free place to wait, or that waits too long.
var ErrBusy = errors.New("other senders hold the bytes: try again later")

// Limits bound the claims on a [Pool].
type Limits struct {
	Total int64 // bytes that all senders may hold together
	Share int64 // bytes that one sender may hold; 0: as many as it leaves free

	// Wait is the longest wait of a claim; 0: until its context is done. If Wait is set, a
	// claim that finds no room is granted before all that come behind it. Otherwise other senders
	// may pass it.
	Wait   time.Duration
	Places int // claims that may wait; 0: unbounded
}

// A Pool shares bytes between senders, which take turns: the second claim of a sender comes behind the first ones of
// all, the third behind the second ones, and so on. Otherwise claims are granted in the order of their arrival,
// with two exceptions: a claim beyond its sender's share holds up only later claims of
// that sender, and so does one without room in the pool whose wait has no bound. A claim
// that is larger than the share is granted when its sender holds nothing, and one that is
// larger than the pool when the pool is unused. The zero value is ready to use. It is safe
// for concurrent use.
//
// If Limits.Share is 0, the first sender gets at most half of the pool and the next one half
// of the rest, so that a small claim of another sender still finds room.
type Pool struct {
	mu      sync.Mutex
	used    int64            // bytes
	held    map[string]int64 // bytes by sender
	waiters []*Claim         // waiting claims, the next one first
	round   int64            // of the claims that are granted now
	last    map[string]int64 // round of the last granted claim by sender, while claims wait
}

// A Claim holds bytes of a pool for a sender, or waits for them. Its owner must call
// Release. A nil claim holds nothing.
type Claim struct {
	pool    *Pool
	sender  string
	bytes   int64 // under the pool's mutex
	limits  Limits
	round   int64         // behind which claims it comes, see [Pool]
	granted chan struct{} // closed when the sender has the bytes
}

// Claim claims n bytes for a sender. The claim is granted at once or waits. The only error
// is [ErrBusy].
func (p *Pool) Claim(sender string, n int64, limits Limits) (*Claim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limits.Places > 0 && len(p.waiters) >= limits.Places {
		return nil, ErrBusy
	}
	c := &Claim{pool: p, sender: sender, bytes: n, limits: limits, granted: make(chan struct{})}
	p.enqueue(c)
	p.grantWaiters()
	return c, nil
}

// enqueue puts c behind the waiting claims of its round (start-time fair queueing: Goyal, Vin, Cheng 1996). p.mu must be
// held.
func (p *Pool) enqueue(c *Claim) {
	c.round = p.round
	if p.held[c.sender] > 0 {
		c.round++
	}
	if last, ok := p.last[c.sender]; ok {
		c.round = max(c.round, last+1)
	}
	for _, other := range p.waiters {
		if other.sender == c.sender {
			c.round = max(c.round, other.round+1)
		}
	}
	at := slices.IndexFunc(p.waiters, func(other *Claim) bool { return other.round > c.round })
	if at < 0 {
		at = len(p.waiters)
	}
	p.waiters = slices.Insert(p.waiters, at, c)
}

// Take claims n bytes for a sender and waits for them. The error is [ErrBusy] or that of
// the context.
func (p *Pool) Take(ctx context.Context, sender string, n int64, limits Limits) (*Claim, error) {
	c, err := p.Claim(sender, n, limits)
	if err != nil {
		return nil, err
	}
	if err := c.Wait(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// grantWaiters grants the waiting claims that have room. p.mu must be held.
func (p *Pool) grantWaiters() {
	blocked := map[string]bool{} // senders whose first claim keeps waiting
	full := false
	p.waiters = slices.DeleteFunc(p.waiters, func(c *Claim) bool {
		if full || blocked[c.sender] {
			return false
		}
		room := p.used == 0 || p.used+c.bytes <= c.limits.Total
		if !p.withinShare(c) || !room {
			blocked[c.sender] = true
			full = p.withinShare(c) && c.limits.Wait > 0
			return false
		}
		p.grantRound(c)
		p.addUsed(c.sender, c.bytes)
		close(c.granted)
		return true
	})
	if len(p.waiters) == 0 {
		clear(p.last)
	}
}

// grantRound notes the round of a claim that is granted. Senders whose last claim was in an earlier round need not be
// remembered.
func (p *Pool) grantRound(c *Claim) {
	if c.round > p.round {
		p.round = c.round
		maps.DeleteFunc(p.last, func(_ string, last int64) bool { return last < p.round })
	}
	if p.last == nil {
		p.last = map[string]int64{}
	}
	p.last[c.sender] = max(p.last[c.sender], c.round)
}

// withinShare reports whether c is within the share of its sender.
func (p *Pool) withinShare(c *Claim) bool {
	held := p.held[c.sender]
	limit := c.limits.Share
	if limit == 0 {
		limit = c.limits.Total - p.used - c.bytes
	}
	return held == 0 || held+c.bytes <= limit
}

func (p *Pool) addUsed(sender string, n int64) {
	if p.held == nil {
		p.held = map[string]int64{}
	}
	p.used += n
	if p.held[sender] += n; p.held[sender] == 0 {
		delete(p.held, sender)
	}
}

// Blocks reports whether a claim waits for bytes that a sender holds: one of its own, or one that is within its
// share.
func (p *Pool) Blocks(sender string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.waiters, func(c *Claim) bool { return c.sender == sender || p.withinShare(c) })
}

// Granted reports whether the sender has the bytes.
func (c *Claim) Granted() bool {
	select {
	case <-c.granted:
		return true
	default:
		return false
	}
}

// Wait waits until the claim is granted. The error is [ErrBusy] or that of the context. After
// an error the claim holds nothing.
func (c *Claim) Wait(ctx context.Context) error {
	if c.Granted() {
		return nil
	}
	var late <-chan time.Time
	if c.limits.Wait > 0 {
		timer := time.NewTimer(c.limits.Wait)
		defer timer.Stop()
		late = timer.C
	}
	var err error
	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = ErrBusy
	}
	c.Release()
	return err
}

// Shrink gives back all but n bytes of a granted claim.
func (c *Claim) Shrink(n int64) {
	if c == nil {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if over := c.bytes - n; over > 0 && c.Granted() {
		c.bytes = n
		c.pool.addUsed(c.sender, -over)
		c.pool.grantWaiters()
	}
}

// Release gives back all bytes of the claim, or ends its wait.
func (c *Claim) Release() {
	if c == nil {
		return
	}
	c.Shrink(0)
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiters, c); i >= 0 {
		p.waiters = slices.Delete(p.waiters, i, i+1)
		p.grantWaiters() // it may have blocked later claims
	}
}
