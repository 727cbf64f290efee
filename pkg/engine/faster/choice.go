// Package faster chooses the faster of two ways to compute the same results, by the time that
// each takes. It does not know what is computed.
package faster

import (
	"sync"
	"time"
)

// A Choice records the speed of two ways. The zero Choice knows nothing. Goroutines may share it.
type Choice struct {
	Near bool // the ways take about the same time: both are tried early, however long that is

	mu            sync.Mutex
	calls         int
	next          int // the call with which the slower way is tried again; 0: not known yet
	first, second way
}

// A way has the nanoseconds a unit of work of one way to compute.
type way struct {
	calls int
	mean  float64 // of the first trials the smallest, then a moving average of bounded ones
}

const (
	trials  = 2                              // calls of each way before one of them is chosen
	brief   = float64(20 * time.Millisecond) // calls that take longer are not tried early, unless the ways are near
	explore = 64                             // calls before the second way is tried, if they are not brief
	excess  = 1.5                            // of a way's mean: a call counts as at most that, so that few which others hold up decide nothing
)

// First reports whether the first way should compute this amount of work. It is tried first.
func (c *Choice) First(amount int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	tried := min(c.first.calls, c.second.calls) >= trials
	switch {
	case c.first.calls == 0:
		return true
	case !tried && (c.Near || c.first.mean*float64(amount) < brief):
		return c.first.calls <= c.second.calls
	}
	best := c.second.calls == 0 || c.first.mean <= c.second.mean
	if c.next == 0 {
		c.next = c.calls + c.interval()
	}
	if c.calls < c.next {
		return best
	}
	c.next = c.calls + c.interval()
	return !best
}

// interval returns the number of calls after which trying the slower way costs a hundredth
// of their time.
func (c *Choice) interval() int {
	if c.second.calls == 0 {
		return explore
	}
	slower := max(c.first.mean, c.second.mean) / min(c.first.mean, c.second.mean)
	return int(min(max(100*(slower-1), 8), 4*explore))
}

// Note records a call. The first reads weights and makes room: it says nothing about its way.
func (c *Choice) Note(first bool, amount int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls <= 1 {
		return
	}
	w, now := &c.second, max(1, float64(took))/float64(amount)
	if first {
		w = &c.first
	}
	w.calls++
	switch {
	case w.calls == 1:
		w.mean = now
	case w.calls <= trials:
		w.mean = min(w.mean, now)
	default:
		w.mean += (min(now, w.mean*excess) - w.mean) / 4
	}
}
