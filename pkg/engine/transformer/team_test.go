package transformer

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

type jobFunc func(worker, workers int, b *barrier)

func (f jobFunc) work(worker, workers int, b *barrier) { f(worker, workers, b) }

// Every worker runs each step of a program before any runs the next.
func TestTeam(t *testing.T) {
	for _, size := range []int{1, 2, 3, 7} {
		team := NewTeam(size)
		var sum atomic.Int64
		for round := range 200 {
			const steps = 5
			var at [steps]atomic.Int32
			team.do(true, jobFunc(func(_, workers int, b *barrier) {
				for s := range steps {
					if s > 0 && at[s-1].Load() != int32(workers) {
						t.Errorf("size %d, round %d: step %d began with %d workers at the step before", size, round, s, at[s-1].Load())
					}
					at[s].Add(1)
					sum.Add(1)
					b.wait()
				}
			}))
		}
		if want := int64(200 * 5 * size); sum.Load() != want {
			t.Errorf("size %d: %d steps were run, want %d", size, sum.Load(), want)
		}
		team.Close()
	}
}

// A team has rested when its last job, of all workers or of its caller, ended long ago.
func TestRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := NewTeam(2)
		defer team.Close()
		slow := jobFunc(func(int, int, *barrier) { time.Sleep(time.Second) })
		for _, shared := range []bool{true, false} {
			team.do(shared, slow)
			if team.rested() {
				t.Errorf("shared %v: rested at the end of a job", shared)
			}
			time.Sleep(rest)
			if team.rested() {
				t.Errorf("shared %v: rested too early", shared)
			}
			if time.Sleep(time.Nanosecond); !team.rested() {
				t.Errorf("shared %v: has not rested", shared)
			}
		}
	})
}

// A program ends as it began when its team is closed meanwhile, and later ones have one worker.
func TestTeamClosed(t *testing.T) {
	team := NewTeam(3)
	var arrived, after atomic.Int32
	team.do(true, jobFunc(func(worker, workers int, b *barrier) {
		if worker == 0 {
			for team.sleeps.Load() < int32(workers)-1 { // the others sleep at the barrier
				runtime.Gosched()
			}
			team.Close()
		}
		arrived.Add(1)
		b.wait()
		if arrived.Load() < int32(workers) {
			t.Errorf("worker %d passed the barrier when %d had arrived", worker, arrived.Load())
		}
		after.Add(1)
	}))
	if after.Load() != 3 {
		t.Errorf("%d workers had ended", after.Load())
	}
	if team.do(true, jobFunc(func(int, int, *barrier) {})) {
		t.Error("a closed team works")
	}
}

// A worker that sleeps when the team is closed goes on waiting.
func TestAwaitClosed(t *testing.T) {
	team := NewTeam(2)
	var checks atomic.Int32
	var ready atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		team.await(func() bool { checks.Add(1); return ready.Load() })
	}()
	for team.sleeps.Load() == 0 {
		runtime.Gosched()
	}
	team.mu.Lock() // it waits
	before := checks.Load()
	team.mu.Unlock()
	team.Close()
	for checks.Load() == before {
		runtime.Gosched()
	}
	team.mu.Lock() // it has woken, and waits again
	if team.sleeps.Load() != 1 {
		t.Error("it waits no longer")
	}
	team.mu.Unlock()
	ready.Store(true)
	team.rouse()
	<-done
}

// The caller does jobs alone if the team is not wanted or busy.
func TestTeamOfOne(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	alone := jobFunc(func(worker, workers int, b *barrier) {
		if worker != 0 || workers != 1 || b != nil {
			t.Errorf("worker %d of %d", worker, workers)
		}
		b.wait()
	})
	team.do(false, alone)
	team.do(true, jobFunc(func(worker, _ int, _ *barrier) {
		if worker == 0 && team.do(true, alone) {
			t.Error("a team works for two")
		}
	}))
}

// counts is a job that counts the work of each worker.
type counts [100]atomic.Int32

func (c *counts) work(worker, _ int, _ *barrier) { c[worker].Add(1) }

// A team does not keep its last job, which leads to a model's weights.
func TestTeamForgets(t *testing.T) {
	team, job := NewTeam(2), new(counts)
	defer team.Close()
	made := weak.Make(job)
	if !team.do(true, job) {
		t.Fatal("one worker")
	}
	if runtime.GC(); made.Value() != nil {
		t.Error("the job is still in memory")
	}
}
