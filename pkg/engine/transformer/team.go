package transformer

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Team is workers that compute passes together, shared by the models of a process.
// They run one program with barriers between its steps: a barrier between workers that
// spin takes a fraction of a microsecond, waking one that sleeps some sixty. Spinning
// is bounded, since on a machine that others use too the one that is waited for may
// not be running at all.
type Team struct {
	size    int
	start   sync.Once
	running atomic.Int32 // jobs, those of callers alone too

	program program
	round   atomic.Uint32 // of programs

	mu      sync.Mutex // with wake: for those that sleep
	wake    *sync.Cond
	sleeps  atomic.Int32
	closing bool // under mu
}

// A job is what a team can do: each worker does its share, and waits at the barrier
// where it needs what others do. A nil barrier is of one worker.
type job interface {
	work(worker, workers int, b *barrier)
}

// program is one job as the workers see it.
type program struct {
	job     job
	barrier barrier
	left    atomic.Int32 // workers that have not ended it
}

// NewTeam returns a team of that many workers, the caller of a pass among them. The
// others are goroutines that begin with the first job and end with [Team.Close].
func NewTeam(size int) *Team {
	t := &Team{size: max(1, size)}
	t.wake = sync.NewCond(&t.mu)
	return t
}

func (t *Team) hire() {
	for i := 1; i < t.size; i++ {
		go t.work(i)
	}
}

// Size returns the number of workers; a nil team has one.
func (t *Team) Size() int {
	if t == nil {
		return 1
	}
	return t.size
}

// Close ends the workers after the program that they are at.
func (t *Team) Close() {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.wake.Broadcast()
}

// do has the whole team work, if that is wanted and nobody else works: workers that
// wait for each other need a processor each. Otherwise the caller works alone. It
// tells which.
func (t *Team) do(wanted bool, j job) (shared bool) {
	defer t.running.Add(-1)
	if t.running.Add(1) > 1 || !wanted {
		j.work(0, 1, nil)
		return false
	}
	t.start.Do(t.hire)
	p := &t.program // that of before has ended: nobody looks at it
	p.job = j
	p.barrier.team, p.barrier.workers = t, int32(t.size)
	p.left.Store(int32(t.size) - 1)
	t.round.Add(1)
	t.rouse()
	j.work(0, t.size, &p.barrier)
	t.await(func() bool { return p.left.Load() == 0 })
	return true
}

// work is a worker's life.
func (t *Team) work(index int) {
	p := &t.program
	for seen := uint32(0); ; seen++ {
		if !t.await(func() bool { return t.round.Load() != seen }) {
			return
		}
		p.job.work(index, t.size, &p.barrier)
		if p.left.Add(-1) == 0 {
			t.rouse()
		}
	}
}

// How long a worker spins before it sleeps: looks, between which it lets others run.
const (
	looksAtOnce = 64
	spins       = 400 // some 50 µs
)

// await returns when ready says so; false that the team was closed.
func (t *Team) await(ready func() bool) bool {
	for range spins {
		for range looksAtOnce {
			if ready() {
				return true
			}
		}
		runtime.Gosched()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sleeps.Add(1)
	defer t.sleeps.Add(-1)
	for !ready() {
		if t.closing {
			return false
		}
		t.wake.Wait()
	}
	return true
}

// rouse wakes those that sleep to look again.
func (t *Team) rouse() {
	if t.sleeps.Load() > 0 {
		t.mu.Lock()
		t.wake.Broadcast()
		t.mu.Unlock()
	}
}

// A barrier holds workers until all have come.
type barrier struct {
	team    *Team
	workers int32
	arrived atomic.Int32
	round   atomic.Uint32
}

// wait returns when all workers have come; a nil barrier is of one.
func (b *barrier) wait() {
	if b == nil {
		return
	}
	round := b.round.Load()
	if b.arrived.Add(1) == b.workers {
		b.arrived.Store(0)
		b.round.Add(1)
		b.team.rouse()
		return
	}
	b.team.await(func() bool { return b.round.Load() != round })
}
