package grammar

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrBusy is the error of a sender with too many forms that wait to be compiled.
var ErrBusy = errors.New("too many forms wait to be compiled: try again later")

// maxLine is how many forms of one sender may wait, and maxSenders how many senders.
const (
	maxLine    = 32
	maxSenders = 1024
)

// Turns bounds how many forms a process compiles at once, so that their budgets do not
// add up. The others wait, and senders are served in turn, however many forms each has.
// Nil bounds nothing. It is safe for concurrent use.
type Turns struct {
	mu   sync.Mutex
	free int
	line []*sender // the next to be served first; each has a form that waits
}

// A sender is whose forms wait.
type sender struct {
	name  string
	forms []chan struct{} // closed when it is their turn
}

// NewTurns returns turns of so many compilations at once, one at least.
func NewTurns(atOnce int) *Turns { return &Turns{free: max(1, atOnce)} }

// Take waits for a turn. The caller calls done once when it is over. The error is
// [ErrBusy] or that of the context.
func (t *Turns) Take(ctx context.Context, name string) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	turn, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-turn:
		return t.next, nil
	default:
	}
	select {
	case <-turn:
		return t.next, nil
	case <-ctx.Done():
		t.leave(name, turn)
		return nil, ctx.Err()
	}
}

// enter takes a turn, which is closed, or a place in the line.
func (t *Turns) enter(name string) (turn chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn = make(chan struct{})
	if t.free > 0 {
		t.free--
		close(turn)
		return turn, nil
	}
	i := slices.IndexFunc(t.line, func(s *sender) bool { return s.name == name })
	switch {
	case i < 0 && len(t.line) >= maxSenders, i >= 0 && len(t.line[i].forms) >= maxLine:
		return nil, ErrBusy
	case i < 0:
		i = len(t.line)
		t.line = append(t.line, &sender{name: name})
	}
	t.line[i].forms = append(t.line[i].forms, turn)
	return turn, nil
}

// leave gives up a place in the line, or the turn that came at the same moment.
func (t *Turns) leave(name string, turn chan struct{}) {
	t.mu.Lock()
	for i, s := range t.line {
		if at := slices.Index(s.forms, turn); s.name == name && at >= 0 {
			if s.forms = slices.Delete(s.forms, at, at+1); len(s.forms) == 0 {
				t.line = slices.Delete(t.line, i, i+1)
			}
			t.mu.Unlock()
			return
		}
	}
	t.mu.Unlock()
	t.next()
}

// next hands a turn on to the sender at the head of the line, who then is its last.
func (t *Turns) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) == 0 {
		t.free++
		return
	}
	s := t.line[0]
	t.line = slices.Delete(t.line, 0, 1)
	close(s.forms[0])
	if s.forms = slices.Delete(s.forms, 0, 1); len(s.forms) > 0 {
		t.line = append(t.line, s)
	}
}
