package transformer

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// panicOf returns what f panics with, "" if it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if cause := recover(); cause != nil {
			text, _ = cause.(string)
		}
	}()
	f()
	return ""
}

// A panic of any worker ends the program of all, whether the others are asleep at a barrier or come to
// one later, and its caller panics with it. The next program runs as ever.
func TestTeamPanics(t *testing.T) {
	for _, size := range []int{2, 3, 7} {
		for faulty := range size {
			for _, asleep := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					team := NewTeam(size)
					defer team.Close()
					var after atomic.Int32
					cause := panicOf(func() {
						team.do(true, jobFunc(func(worker, workers int, b *barrier) {
							b.wait()
							if worker == faulty {
								if asleep {
									synctest.Wait()
								}
								panic("a fault")
							}
							b.wait()
							after.Add(1)
						}))
					})
					if !strings.HasPrefix(cause, "a fault\n") || !strings.Contains(cause, "TestTeamPanics") || after.Load() > 0 {
						t.Errorf("%d workers, a fault of %d: %d have passed the barrier, and the caller has %q", size, faulty, after.Load(), cause)
					}
					var all counts
					if !team.do(true, jobFunc(func(worker, workers int, b *barrier) {
						all.work(worker, workers, b)
						b.wait()
						if n := all.sum(workers); n < int32(workers) {
							t.Errorf("%d workers: after a fault %d arrive at the next barrier", size, n)
						}
					})) {
						t.Errorf("%d workers: after a fault the team does not work", size)
					}
				})
			}
		}
	}
}

// sum returns the work of all workers.
func (c *counts) sum(workers int) (n int32) {
	for i := range workers {
		n += c[i].Load()
	}
	return n
}

// A portion does not wait for one that has panicked.
func TestChainPanics(t *testing.T) {
	const size = 3
	for faulty := range size {
		synctest.Test(t, func(t *testing.T) {
			team := NewTeam(size)
			defer team.Close()
			passes := Chain(team, size)
			var mixed atomic.Int32
			cause := panicOf(func() {
				team.do(true, jobFunc(func(worker, _ int, _ *barrier) {
					passes[worker].Follow()
					if worker == faulty {
						synctest.Wait() // those behind it are asleep
						panic("a fault")
					}
					mixed.Add(1)
					passes[worker].Precede()
				}))
			})
			if !strings.HasPrefix(cause, "a fault\n") || int(mixed.Load()) != faulty {
				t.Errorf("a fault of portion %d: %d have mixed tokens, and the caller has %q", faulty, mixed.Load(), cause)
			}
		})
	}
}

// Concurrently panics if one of its goroutines does, after the others have ended.
func TestConcurrently(t *testing.T) {
	for faulty := range 3 {
		var ended atomic.Int32
		cause := panicOf(func() {
			Concurrently(3, func(i int) {
				if i == faulty {
					panic("a fault")
				}
				ended.Add(1)
			})
		})
		if !strings.HasPrefix(cause, "a fault\n") || ended.Load() != 2 {
			t.Errorf("a fault of %d: %d others have ended, and the caller has %q", faulty, ended.Load(), cause)
		}
	}
	var sum atomic.Int32
	for n := range int32(4) {
		Concurrently(int(n), func(i int) { sum.Add(int32(i)) })
	}
	if sum.Load() != 0+1+1+2 {
		t.Errorf("the numbers of goroutines add up to %d", sum.Load())
	}
}
