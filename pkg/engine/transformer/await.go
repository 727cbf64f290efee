package transformer

import (
	"errors"
	"sync"
	"sync/atomic"
)

// An awaiter makes passes wait for weights that are still loading, and keeps the memory of
// the weights until the last pass ends.
type awaiter struct {
	await  func(stage int) error // nil: all are loaded
	stages int
	loaded atomic.Int32 // number of loaded stages
	err    atomic.Pointer[error]

	release func() // nil: nothing to release
	mu      sync.Mutex
	passes  int // running
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

// close releases the weights when the last pass ends.
func (a *awaiter) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		a.last()
	}
}

// last releases the weights of a closed model without passes; a.mu is held.
func (a *awaiter) last() {
	if a.closed && a.passes == 0 && a.release != nil {
		a.release()
		a.release = nil
	}
}

func newAwaiter(w *Weights, parts []part) *awaiter {
	a := &awaiter{await: w.Await, release: w.Release, stages: parts[len(parts)-1].stage + 1}
	if a.await == nil {
		a.loaded.Store(int32(a.stages))
	}
	return a
}

// stage waits until the weights up to a stage are loaded or have failed. After a failure the
// pass continues with undefined weights, and its result is discarded.
func (a *awaiter) stage(stage int) {
	if int(a.loaded.Load()) > stage {
		return
	}
	if err := a.await(stage); err != nil {
		a.fail(err)
		a.loaded.Store(int32(a.stages))
		return
	}
	for {
		old := a.loaded.Load()
		if int(old) > stage || a.loaded.CompareAndSwap(old, int32(stage+1)) {
			return
		}
	}
}

// fail keeps an error of reading weights, unless it is nil.
func (a *awaiter) fail(err error) {
	if err != nil {
		a.err.Store(&err)
	}
}

// all waits for all weights.
func (a *awaiter) all() error {
	a.stage(a.stages - 1)
	return a.failed()
}

// failed returns the error of loading weights, if any.
func (a *awaiter) failed() error {
	if err := a.err.Load(); err != nil {
		return *err
	}
	return nil
}
