package transformer

import (
	"errors"
	"sync"
	"sync/atomic"
)

// An awaiter tells a pass when weights are there that come while it computes, and keeps
// what they lie in until the last pass has ended.
type awaiter struct {
	await  func(stage int) error // nil: all are there
	stages int
	there  atomic.Int32 // stages that are
	err    atomic.Pointer[error]

	release func() // nil: there is nothing to give back
	mu      sync.Mutex
	passes  int // that compute
	closed  bool
}

// errClosed is the error of passes of a model that was closed.
var errClosed = errors.New("the model was closed")

// enter begins a pass, after which the weights stay until leave.
func (a *awaiter) enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errClosed
	}
	a.passes++
	return nil
}

func (a *awaiter) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.passes--
	a.last()
}

// close has the weights given back with the last pass.
func (a *awaiter) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		a.last()
	}
}

// last gives the weights back if nobody needs them any more; a.mu is held.
func (a *awaiter) last() {
	if a.closed && a.passes == 0 && a.release != nil {
		a.release()
		a.release = nil
	}
}

func newAwaiter(w *Weights, parts []part) *awaiter {
	a := &awaiter{await: w.Await, release: w.Release, stages: parts[len(parts)-1].stage + 1}
	if a.await == nil {
		a.there.Store(int32(a.stages))
	}
	return a
}

// stage returns when the weights up to a stage are there, or will never be: the pass goes
// on with what it finds, and its result is not used.
func (a *awaiter) stage(stage int) {
	if int(a.there.Load()) > stage {
		return
	}
	if err := a.await(stage); err != nil {
		a.err.Store(&err)
		a.there.Store(int32(a.stages))
		return
	}
	for {
		old := a.there.Load()
		if int(old) > stage || a.there.CompareAndSwap(old, int32(stage+1)) {
			return
		}
	}
}

// all waits for all weights.
func (a *awaiter) all() error {
	a.stage(a.stages - 1)
	return a.failed()
}

// failed is why weights will never be there.
func (a *awaiter) failed() error {
	if err := a.err.Load(); err != nil {
		return *err
	}
	return nil
}
