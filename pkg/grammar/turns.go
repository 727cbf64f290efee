package grammar

import (
	"context"
	"errors"
	"sync"

	"glossa/pkg/fair"
)

// ErrBusy is the error of a sender with too many compilations waiting.
var ErrBusy = errors.New("too many schemas and grammars are waiting to be compiled: try again later")

// maxWaiting bounds the waiting compilations of one sender, maxSenders the waiting senders.
const (
	maxWaiting = 32
	maxSenders = 1024
)

// Turns bounds the concurrent compilations of a process, so that their budgets do not add
// up. Other compilations wait. Senders are served in turn, regardless of how many
// compilations each has. Nil bounds nothing. It is safe for concurrent use.
type Turns struct {
	mu    sync.Mutex
	free  int
	turns fair.Turns[*compilation]
}

// A compilation is one turn of a sender, which waits until turn is closed.
type compilation struct {
	line *fair.Line[*compilation]
	turn chan struct{}
}

// NewTurns returns turns for atOnce concurrent compilations, at least one.
func NewTurns(atOnce int) *Turns { return &Turns{free: max(1, atOnce)} }

// Take waits for a turn. The caller must call done once, after its compilation. The error
// is [ErrBusy] or that of the context.
func (t *Turns) Take(ctx context.Context, name string) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	c, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.turn:
		return func() { t.leave(c) }, nil
	default:
	}
	select {
	case <-c.turn:
		return func() { t.leave(c) }, nil
	case <-ctx.Done():
		t.leave(c)
		return nil, ctx.Err()
	}
}

// enter queues a compilation of a sender, and serves it if a turn is free.
func (t *Turns) enter(name string) (*compilation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.turns.Enter(name)
	if n := len(l.Waiting); n >= maxWaiting || n == 0 && len(t.turns.Waiting()) >= maxSenders {
		t.turns.Leave(l)
		return nil, ErrBusy
	}
	c := &compilation{line: l, turn: make(chan struct{})}
	t.turns.Wait(l, c, len(l.Waiting))
	t.serve()
	return c, nil
}

// leave ends the turn of c, or its wait.
func (t *Turns) leave(c *compilation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.turns.Cancel(c.line, c) {
		t.turns.Free(c.line, c)
		t.free++
	}
	t.turns.Leave(c.line)
	t.serve()
}

// serve hands out the free turns.
func (t *Turns) serve() {
	for l := t.turns.Next(); l != nil && t.free > 0; l = t.turns.Next() {
		t.free--
		close(t.turns.Serve(l).turn)
	}
}
