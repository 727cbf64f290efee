package engine

import (
	"slices"
	"sync"

	"glossa/pkg/engine/transformer"
)

// lanes are the batches of an engine: one, so that weights are read once for all. A
// model whose token is too little work for two processors has a batch for each, since
// there waiting for each other costs more than computing alone. Members are spread
// evenly, and spread again as others leave.
type lanes struct {
	mu  sync.Mutex // held to join and to change batches
	all []*batch
}

func newLanes(m *transformer.Model, team *transformer.Team) *lanes {
	n := 1
	if m.Small() {
		n = team.Size()
	}
	l := &lanes{}
	for range n {
		l.all = append(l.all, newBatch(m, team))
	}
	return l
}

// join makes a generation of a sender, with its worker, a member of the batch that has
// the fewest.
func (l *lanes) join(sender string, w *worker) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &member{lanes: l, worker: w, sender: sender, wake: make(chan struct{}, 1)}
	l.emptiest().enter(m)
	return m
}

// emptiest returns the batch that has the fewest members.
func (l *lanes) emptiest() *batch {
	return slices.MinFunc(l.all, func(a, b *batch) int { return int(a.members.Load() - b.members.Load()) })
}

// spread has m, which wants nothing at the moment, change to a batch that is less
// crowded than its own.
func (l *lanes) spread(m *member) {
	if l.roomier(m.batch) == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if to := l.roomier(m.batch); to != nil {
		m.batch.quit(m)
		to.enter(m)
	}
}

// roomier returns a batch that is less crowded than b even with one member of b more,
// nil if there is none.
func (l *lanes) roomier(b *batch) *batch {
	if to := l.emptiest(); b.members.Load()-to.members.Load() > 1 {
		return to
	}
	return nil
}
