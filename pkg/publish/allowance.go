package publish

import (
	"context"
	"slices"
	"sync"
	"time"

	"glossa/pkg/llm"
)

const (
	// patience is how long an upload waits for memory that others use.
	patience = 20 * time.Second
	// maxWaiting bounds the uploads that wait for memory.
	maxWaiting = 64
)

// An allowance is memory that the uploads of a process share. Those that do not fit wait
// in order. A sender has at most half of it, unless one upload alone needs more; one
// that needs more than there is runs alone.
type allowance struct {
	mu   sync.Mutex
	used int64            // bytes
	held map[string]int64 // bytes by sender
	line []*claim         // that wait, the oldest first
	most int64            // that was ever used, for tests
}

// A claim is what one upload asks for.
type claim struct {
	sender string
	bytes  int64
	total  int64         // of the allowance
	ready  chan struct{} // closed when the claim is granted
}

// take waits until n bytes of total are free for the sender of ctx. The caller calls
// release once. An upload must not take twice from one allowance.
func (a *allowance) take(ctx context.Context, n, total int64) (release func(), err error) {
	c := &claim{sender: llm.SenderOf(ctx), bytes: n, total: total, ready: make(chan struct{})}
	if err := a.enter(c); err != nil {
		return nil, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.ready:
		return sync.OnceFunc(func() { a.release(c) }), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = tooMany()
	}
	a.leave(c)
	return nil, err
}

func tooMany() error {
	return &llm.Error{Code: llm.Overloaded, Message: "other uploads use the memory for uploads: try again later", RetryAfter: patience / 2}
}

// enter puts c at the end of the line.
func (a *allowance) enter(c *claim) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.line) >= maxWaiting {
		return tooMany()
	}
	if a.held == nil {
		a.held = map[string]int64{}
	}
	a.line = append(a.line, c)
	a.grant()
	return nil
}

// grant serves the line: the oldest claim goes first whose sender may have more. a.mu is
// held.
func (a *allowance) grant() {
	for {
		i := slices.IndexFunc(a.line, a.mayHave)
		if i < 0 {
			return
		}
		c := a.line[i]
		if a.used > 0 && a.used+c.bytes > c.total {
			return
		}
		a.line = slices.Delete(a.line, i, i+1)
		a.used += c.bytes
		a.most = max(a.most, a.used)
		a.held[c.sender] += c.bytes
		close(c.ready)
	}
}

// mayHave tells whether c is within its sender's share.
func (a *allowance) mayHave(c *claim) bool {
	held := a.held[c.sender]
	return held == 0 || held+c.bytes <= c.total/2
}

// release gives back what c was granted.
func (a *allowance) release(c *claim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= c.bytes
	if a.held[c.sender] -= c.bytes; a.held[c.sender] == 0 {
		delete(a.held, c.sender)
	}
	a.grant()
}

// leave takes c out of the line, or gives back what came at the same moment.
func (a *allowance) leave(c *claim) {
	a.mu.Lock()
	i := slices.Index(a.line, c)
	if i >= 0 {
		a.line = slices.Delete(a.line, i, i+1)
		a.grant() // it may have held up those behind it
	}
	a.mu.Unlock()
	if i < 0 {
		a.release(c)
	}
}
