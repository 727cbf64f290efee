// Package fair shares what a process has between senders, so that no sender delays
// another: bytes of memory with a [Pool], and turns with [Turns]. A sender is a name. The
// package knows nothing of requests or of what the bytes and the turns are for.
package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrBusy is the error of a claim that finds no place to wait, or waits for too long.
var ErrBusy = errors.New("others hold the bytes: try again later")

// Limits bound the claims on a [Pool].
type Limits struct {
	Total int64 // bytes that all senders may hold together
	Share int64 // bytes that one sender may hold; 0: as much as it leaves to others

	// Wait is how long a claim may wait for bytes; 0: as long as its context. A claim that
	// finds no room is granted before later claims if Wait bounds how long it holds them
	// up. Otherwise other senders may pass it.
	Wait   time.Duration
	Places int // claims that may wait; 0: unbounded
}

// A Pool shares bytes between senders. Claims are granted in the order of their arrival,
// with two exceptions: a claim beyond its sender's share holds up only later claims of
// that sender, and so does one without room in the pool whose wait has no bound. A claim
// that is larger than the share is granted where its sender holds nothing, and one that
// is larger than the pool where nobody holds anything. The zero value is ready to use. It
// is safe for concurrent use.
//
// Where one sender may hold as much as it leaves to others, the first one has at most half
// of the pool, the next half of the rest, and a small claim of another still finds room.
type Pool struct {
	mu   sync.Mutex
	used int64            // bytes
	held map[string]int64 // bytes by sender
	line []*Claim         // claims that wait, the oldest first
}

// A Claim is some bytes of a pool for a sender. Its owner calls Release once it is done
// with them. A nil claim holds nothing.
type Claim struct {
	pool    *Pool
	sender  string
	bytes   int64 // under the pool's mutex
	limits  Limits
	granted chan struct{} // closed when the sender has the bytes
}

// Claim claims n bytes for a sender. The claim is granted at once or waits. The only error
// is [ErrBusy].
func (p *Pool) Claim(sender string, n int64, limits Limits) (*Claim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limits.Places > 0 && len(p.line) >= limits.Places {
		return nil, ErrBusy
	}
	c := &Claim{pool: p, sender: sender, bytes: n, limits: limits, granted: make(chan struct{})}
	p.line = append(p.line, c)
	p.grant()
	return c, nil
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

// grant grants the claims that may be granted. p.mu is held.
func (p *Pool) grant() {
	behind := map[string]bool{} // senders whose first claim goes on waiting
	full := false
	p.line = slices.DeleteFunc(p.line, func(c *Claim) bool {
		if full || behind[c.sender] {
			return false
		}
		room := p.used == 0 || p.used+c.bytes <= c.limits.Total
		if !p.shares(c) || !room {
			behind[c.sender] = true
			full = p.shares(c) && c.limits.Wait > 0
			return false
		}
		p.book(c.sender, c.bytes)
		close(c.granted)
		return true
	})
}

// shares reports whether c is within the share of its sender.
func (p *Pool) shares(c *Claim) bool {
	held := p.held[c.sender]
	most := c.limits.Share
	if most == 0 {
		most = c.limits.Total - p.used - c.bytes
	}
	return held == 0 || held+c.bytes <= most
}

func (p *Pool) book(sender string, n int64) {
	if p.held == nil {
		p.held = map[string]int64{}
	}
	p.used += n
	if p.held[sender] += n; p.held[sender] == 0 {
		delete(p.held, sender)
	}
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

// Wait waits until the claim is granted. After an error, which is [ErrBusy] or that of the
// context, the claim holds nothing.
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
		c.pool.book(c.sender, -over)
		c.pool.grant()
	}
}

// Release gives back all bytes of the claim, or its place in the line.
func (c *Claim) Release() {
	if c == nil {
		return
	}
	c.Shrink(0)
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, c); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
		p.grant() // it may have held up those behind it
	}
}
