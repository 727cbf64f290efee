package engine

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"glossa/pkg/engine/transformer"
)

// read computes a token for m and returns its logits.
func read(t *testing.T, e *Engine, m *member, id int) []float32 {
	logits, err := m.forward(t.Context(), []transformer.Sequence{{Cache: e.model.NewCache(1), Tokens: []int{id}, Logits: 1}})
	if err != nil {
		t.Error(err)
	}
	return logits
}

// Members keep their logits while others run passes, however many still read theirs. They read those
// of one pass where it wrote them.
func TestLogitsStay(t *testing.T) {
	e := larger(t, nil)
	var members [5]*member
	for i := range members {
		members[i] = e.lanes.join("", nil)
	}
	var wants [len(members)][]float32
	for i := range wants {
		wants[i] = slices.Clone(read(t, e, members[0], i))
		if i > 0 && slices.Equal(wants[i], wants[i-1]) {
			t.Fatal("tokens do not matter")
		}
	}
	for round := range 4 {
		for _, m := range members {
			m.rest()
		}
		for i := range members {
			at := (i + round) % len(members)
			read(t, e, members[at], at)
			if direct := members[at].lent != nil; direct != (i == 0) {
				t.Errorf("round %d: the logits of pass %d are read in place: %v", round, i, direct)
			}
			for j := range i + 1 {
				if at := (j + round) % len(members); !slices.Equal(members[at].logits, wants[at]) {
					t.Errorf("round %d: the logits of pass %d changed in pass %d", round, j, i)
				}
			}
		}
	}
	for _, m := range members {
		m.leave()
	}
	for _, l := range e.lanes.all[0].lent {
		if l.readers.Load() != 0 || l.memory != nil {
			t.Errorf("%d readers have left %d logits", l.readers.Load(), len(l.memory))
		}
	}
}

// The members of a pass read their own parts of its logits.
func TestLogitsOfAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := larger(t, nil)
		var wants [4][]float32
		alone := e.lanes.join("", nil)
		for i := range wants {
			wants[i] = slices.Clone(read(t, e, alone, i))
		}
		hold := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { _ = alone.runExclusive(t.Context(), holdPass(hold)) })
		synctest.Wait()
		for i, want := range wants {
			wg.Go(func() {
				m := e.lanes.join("", nil)
				if got := read(t, e, m, i); !slices.Equal(got, want) || m.own != nil {
					t.Errorf("token %d: other logits, or a copy", i)
				}
			})
			synctest.Wait()
		}
		close(hold)
		alone.rest()
		wg.Wait()
	})
}
