package transformer

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Team is workers that compute passes together, shared by the models of a process.
// They run one program with barriers between its steps. A barrier between spinning workers
// takes a fraction of a microsecond, waking a sleeping worker some sixty. Spinning is bounded,
// because on a shared machine the awaited worker may not be running.
//
// A panic of one worker ends the program of all, and its caller panics.
type Team struct {
	size    int
	start   sync.Once
	running atomic.Int32 // jobs, including those that callers do alone
	made    time.Time
	last    atomic.Int64 // nanoseconds from made to the end of the last job

	program program
	round   atomic.Uint32 // of programs

	mu      sync.Mutex // with wake: for sleeping workers
	wake    *sync.Cond
	sleeps  atomic.Int32
	closing atomic.Bool // set under mu
}

// A job is work for a team: each worker does its share, and waits at the barrier for the
// results of other workers. A nil barrier has one worker.
type job interface {
	work(worker, workers int, b *barrier)
}

// A program is the current job of the workers.
type program struct {
	job     job
	barrier barrier
	left    atomic.Int32 // workers that have not finished it
	fault   fault        // of a worker
}

// begin prepares a job for a team. The previous program has ended: no worker reads it.
func (p *program) begin(t *Team, j job) {
	p.job = j
	p.fault.cause.Store(nil)
	p.barrier.begin(t)
	p.left.Store(int32(t.size) - 1)
}

// NewTeam returns a team of size workers, including the caller of a pass. The others are
// goroutines that start with the first job and end with [Team.Close].
func NewTeam(size int) *Team {
	t := &Team{size: max(1, size), made: time.Now()}
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

// Close ends the workers after their current program. Later jobs are done by their callers alone.
func (t *Team) Close() {
	t.mu.Lock()
	t.closing.Store(true)
	t.mu.Unlock()
	t.wake.Broadcast()
}

// open begins the next round, unless the team is closed.
func (t *Team) open() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing.Load() {
		return false
	}
	t.round.Add(1)
	return true
}

// ended reports whether no round follows one.
func (t *Team) ended(round uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.round.Load() == round
}

// rested reports whether the last job is so long ago that workers and their processors sleep.
func (t *Team) rested() bool { return time.Since(t.made)-time.Duration(t.last.Load()) > rest }

// rest is the time after which a team has rested.
const rest = 5 * time.Millisecond

// do runs a job on the whole team, if that is wanted and no other job runs: workers that wait
// for each other need a processor each. Otherwise the caller works alone. shared reports
// whether the team worked. If a worker panics, do panics after all have ended.
func (t *Team) do(wanted bool, j job) (shared bool) {
	defer func() {
		t.last.Store(int64(time.Since(t.made)))
		t.running.Add(-1)
	}()
	if t.running.Add(1) > 1 || !wanted {
		j.work(0, 1, nil)
		return false
	}
	t.start.Do(t.hire)
	p := &t.program
	p.begin(t, j)
	defer func() { p.job = nil }() // or it would keep the weights of a model that is closed
	if !t.open() {
		j.work(0, 1, nil)
		return false
	}
	t.rouse()
	t.part(0)
	t.await(func() bool { return p.left.Load() == 0 })
	p.fault.raise()
	return true
}

// work is the loop of a worker.
func (t *Team) work(index int) {
	p := &t.program
	for seen := uint32(0); ; seen++ {
		t.await(func() bool { return t.round.Load() != seen || t.closing.Load() })
		if t.ended(seen) {
			return
		}
		t.part(index)
		if p.left.Add(-1) == 0 {
			t.rouse()
		}
	}
}

// part runs a worker's part of the program. A panic ends those of the others when they next wait.
func (t *Team) part(index int) {
	p := &t.program
	defer func() {
		if p.fault.note(recover()) {
			t.rouse()
		}
	}()
	p.job.work(index, t.size, &p.barrier)
}

// Limits of the checks that a worker makes before it sleeps; it yields the processor between
// them.
const (
	checksPerSpin = 64
	spins         = 400 // some 50 µs
)

// await waits until ready reports true.
func (t *Team) await(ready func() bool) {
	t.awaitUnless(func() bool { return false }, ready)
}

// awaitOthers waits until ready reports true because of other workers of the program. If one of
// them panics meanwhile, it panics, which ends the caller's part.
func (t *Team) awaitOthers(ready func() bool) {
	if !t.awaitUnless(t.program.fault.occurred, ready) {
		panic("another worker of the pass panicked")
	}
}

// awaitUnless waits until ready reports true. It returns false if it sees before that broken does.
func (t *Team) awaitUnless(broken, ready func() bool) bool {
	for range spins {
		for range checksPerSpin {
			if ready() {
				return true
			}
		}
		if broken() {
			return false
		}
		runtime.Gosched()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sleeps.Add(1)
	defer t.sleeps.Add(-1)
	for !ready() {
		if broken() {
			return false
		}
		t.wake.Wait()
	}
	return true
}

// rouse wakes sleeping workers to check again.
func (t *Team) rouse() {
	if t.sleeps.Load() > 0 {
		t.mu.Lock()
		t.wake.Broadcast()
		t.mu.Unlock()
	}
}

// A barrier blocks workers until all have arrived, and deals them the work before the next.
type barrier struct {
	team    *Team
	workers int32
	arrived atomic.Int32
	round   atomic.Uint32
	deals   []deal // of each worker
}

// begin prepares a program.
func (b *barrier) begin(t *Team) {
	b.team, b.workers = t, int32(t.size)
	b.arrived.Store(0) // a broken program leaves some
	if b.deals == nil {
		b.deals = make([]deal, t.size)
	}
	for i := range b.deals {
		b.deals[i].state.Store(0)
	}
}

// wait returns when all workers have arrived. A nil barrier has one worker.
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
	b.team.awaitOthers(func() bool { return b.round.Load() != round })
}
