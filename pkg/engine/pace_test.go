package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The number of steps is that of the remaining time without the reserve: fewer if steps
// differ, and more again after equal steps for a while.
func TestPace(t *testing.T) {
	const alike = 100
	for _, test := range []struct {
		name        string
		steps       func(i int) time.Duration
		first, last [2]int // at least and at most, after one step and after a hundred
	}{
		{"alike", func(int) time.Duration { return 10 * time.Millisecond }, [2]int{120, 140}, [2]int{195, 199}},
		{"by turns", func(i int) time.Duration { return time.Duration(5+i%2*10) * time.Millisecond }, [2]int{250, 280}, [2]int{60, 80}},
		{"the first is long", func(i int) time.Duration { return max(10, 200-time.Duration(i)*200) * time.Millisecond }, [2]int{5, 8}, [2]int{180, 199}},
		{"no time at all", func(int) time.Duration { return 0 }, [2]int{unbounded, unbounded}, [2]int{unbounded, unbounded}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			check := func(p *pace, what string, want [2]int) {
				p.deadline = p.last.Add(2 * time.Second)
				if n := p.steps(); n < want[0] || n > want[1] {
					t.Errorf("%s: %d steps after %s, want %v", test.name, n, what, want)
				}
			}
			p := &pace{}
			p.start(t.Context())
			p.endStep()
			if p.steps() != unbounded {
				t.Error("a deadline, where there is none")
			}
			p.start(ctx)
			check(p, "none", [2]int{unbounded, unbounded})
			for i := range alike {
				time.Sleep(test.steps(i))
				p.endStep()
				if i == 0 {
					check(p, "one", test.first)
				}
			}
			check(p, "a hundred", test.last)
			p.deadline = p.last.Add(deadlineReserve + p.mean - 1)
			if n := p.steps(); n != 0 && n != unbounded {
				t.Errorf("%s: %d steps in the reserve", test.name, n)
			}
			p.deadline = p.last.Add(-time.Hour)
			if n := p.steps(); n != 0 && n != unbounded {
				t.Errorf("%s: %d steps after the deadline", test.name, n)
			}
		})
	}
}
