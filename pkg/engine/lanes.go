package engine

import (
	"slices"
	"sync"

	"glossa/pkg/engine/transformer"
)

// lanes are the batches of an engine. Usually there is one, so that all generations share
// each read of the weights. A model whose token is too little work for two processors has
// a batch per processor, since waiting for each other would cost more than computing
// alone. Members are balanced across the batches, also when others leave.
type lanes struct {
	name string     // of the model, for errors
	mu   sync.Mutex // held to join and to change batches
	all  []*batch
}

func newLanes(name string, m *transformer.Model, team *transformer.Team) *lanes {
	n := 1
	if m.Small() {
		n = team.Size()
	}
	l := &lanes{name: name}
	for range n {
		l.all = append(l.all, newBatch(m, team))
	}
	return l
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
func (l *lanes) leastLoaded() *batch {
	return slices.MinFunc(l.all, func(a, b *batch) int { return int(a.members.Load() - b.members.Load()) })
}

// rebalance moves m, which has no work at the moment, to a less crowded batch if there is
// one.
func (l *lanes) rebalance(m *member) {
	if l.lessCrowded(m.batch) == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if to := l.lessCrowded(m.batch); to != nil {
		m.batch.quit(m)
		to.enter(m)
	}
}

// lessCrowded returns a batch with fewer members than b even after one of b's has moved
// to it, nil if there is none.
func (l *lanes) lessCrowded(b *batch) *batch {
	if to := l.leastLoaded(); b.members.Load()-to.members.Load() > 1 {
		return to
	}
	return nil
}
