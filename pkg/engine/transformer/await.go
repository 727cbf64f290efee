package transformer

import "sync/atomic"

// An awaiter tells a pass when weights are there that come while it computes.
type awaiter struct {
	await  func(stage int) error // nil: all are there
	stages int
	there  atomic.Int32 // stages that are
	err    atomic.Pointer[error]
}

func newAwaiter(w *Weights, parts []part) *awaiter {
	a := &awaiter{await: w.Await, stages: parts[len(parts)-1].stage + 1}
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
