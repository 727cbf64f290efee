package transformer

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// dealt runs some steps of as many units as steps has for a team, and returns how often each unit was
// dealt. Before each step a worker yields its processor at random.
func dealt(t *testing.T, workers, grain int, ready bool, steps []int) (counts [][]int32) {
	t.Helper()
	for _, n := range steps {
		counts = append(counts, make([]int32, n))
	}
	run := func(w *worker) {
		random := rand.New(rand.NewPCG(uint64(w.index), uint64(grain)))
		for i, n := range steps {
			for range random.IntN(200) {
				runtime.Gosched()
			}
			w.deal(n, grain, ready, func(from, to, end int) {
				if from >= to || to > end || end > n || w.count > 1 && to-from > max(1, grain) {
					t.Errorf("a piece from %d to %d of a share that ends at %d, of %d units", from, to, end, n)
				}
				for u := from; u < to; u++ {
					atomic.AddInt32(&counts[i][u], 1)
				}
				runtime.Gosched()
			})
			if !ready {
				w.barrier.wait()
			}
		}
	}
	together(workers, run)
	return counts
}

// together runs a program of a team.
func together(workers int, run func(w *worker)) {
	team := NewTeam(workers)
	defer team.Close()
	b := &barrier{}
	b.begin(team)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() { run(&worker{index: i, count: workers, barrier: b}) })
	}
	group.Wait()
}

// Every unit of every step is dealt once, whoever is slow, with barriers between steps or not.
func TestDeal(t *testing.T) {
	t.Parallel()
	steps := []int{0, 1, 2, 3, 17, 64, 1, 0, 100, 5, 1000}
	for _, workers := range []int{1, 2, 3, 7} {
		for _, grain := range []int{0, 1, 4, 50, 2000} {
			for _, ready := range []bool{false, true} {
				for i, list := range dealt(t, workers, grain, ready, steps) {
					if at := slices.IndexFunc(list, func(n int32) bool { return n != 1 }); at >= 0 {
						t.Errorf("%d workers, grain %d, ready %t: unit %d of step %d was dealt %d times", workers, grain, ready, at, i, list[at])
					}
				}
			}
		}
	}
}

// A worker that is done computes what another has not begun, unless that is not ready.
func TestDealHelps(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{false, true} {
		var first [2]int // units of each worker while the other has not begun
		wait := make(chan struct{})
		together(2, func(w *worker) {
			if w.index == 1 {
				<-wait
			}
			w.deal(10, 1, ready, func(from, to, _ int) { first[w.index] += to - from })
			if w.index == 0 {
				close(wait)
			}
		})
		want := [2]int{5, 5}
		if ready {
			want = [2]int{10, 0}
		}
		if first != want {
			t.Errorf("ready %t: units %v, want %v", ready, first, want)
		}
	}
}

// Shares of more pieces than can be counted have larger pieces.
func TestDealMany(t *testing.T) {
	t.Parallel()
	const n = 5 * mostPieces
	var total, calls atomic.Int64
	together(2, func(w *worker) {
		w.deal(n, 1, true, func(from, to, _ int) {
			total.Add(int64(to - from))
			calls.Add(1)
		})
	})
	if total.Load() != n || calls.Load() > 2*mostPieces {
		t.Errorf("%d of %d units in %d pieces", total.Load(), n, calls.Load())
	}
}
