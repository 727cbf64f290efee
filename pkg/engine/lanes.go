package engine

import (
	"slices"
	"sync"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// lanes are an engine's way to the batches of its weights, which engines of adapters share.
type lanes struct {
	name    string               // of the model, for errors
	adapter *transformer.Adapter // of all sequences of the engine; nil: there is none
	kernels *kernel.Kernels
	*batches
}

// batches compute the passes over weights. Usually there is one, so that all generations share
// each read of the weights. A model whose token is too little work for two processors has
// a batch per processor, since waiting for each other would cost more than computing
// alone. Members are balanced across the batches, also when others leave.
type batches struct {
	mu  sync.Mutex // held to join and to change batches
	all []*batch
}

func newBatches(m *transformer.Model, team *transformer.Team) *batches {
	n := 1
	if m.Small() {
		n = team.Size()
	}
	b := &batches{}
	for range n {
		b.all = append(b.all, newBatch(m, team))
	}
	return b
}

// join makes a generation, with its sender and worker, a member of the batch with the
// fewest members.
func (l *lanes) join(sender string, w *worker) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &member{lanes: l, worker: w, sender: sender, wake: make(chan struct{}, 1)}
	l.leastLoaded().enter(m)
	return m
}

// leastLoaded returns the batch with the fewest members.
func (b *batches) leastLoaded() *batch {
	return slices.MinFunc(b.all, func(a, b *batch) int { return int(a.members.Load() - b.members.Load()) })
}

// rebalance moves m, which has no work at the moment, to a less crowded batch if there is
// one.
func (b *batches) rebalance(m *member) {
	if b.lessCrowded(m.batch) == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if to := b.lessCrowded(m.batch); to != nil {
		m.batch.quit(m)
		to.enter(m)
	}
}

// lessCrowded returns a batch with fewer members than another even after one of these has moved
// to it, nil if there is none.
func (b *batches) lessCrowded(than *batch) *batch {
	if to := b.leastLoaded(); than.members.Load()-to.members.Load() > 1 {
		return to
	}
	return nil
}
