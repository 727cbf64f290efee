package transformer

import (
	"math/bits"
	"sync"
	"time"
)

// A pace records the speed of passes by a team and by one worker, so that the faster of the
// two computes. A team is slower if other processors of the machine are busy, because workers
// that wait for each other are as slow as the slowest.
type pace struct {
	mu      sync.Mutex
	classes [8]class // by the number of tokens: 1, 2-3, 4-7, ...
}

type class struct {
	passes      int
	next        int // the pass with which the slower way is tried again; 0: not known yet
	team, alone way
}

// A way has the nanoseconds a token of one way to compute.
type way struct {
	passes int
	mean   float64 // of the first trials the smallest, then a moving average
}

const (
	trials  = 2                              // passes of each way before one of them is chosen
	brief   = float64(20 * time.Millisecond) // passes that take longer are not tried early
	explore = 64                             // passes before the other way is tried, if they are not brief
)

func (p *pace) class(tokens int) *class {
	return &p.classes[min(bits.Len(uint(tokens)), len(p.classes))-1]
}

// useTeam reports whether the team should compute this number of tokens.
func (p *pace) useTeam(tokens int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.class(tokens)
	c.passes++
	tried := min(c.team.passes, c.alone.passes) >= trials
	switch {
	case c.team.passes == 0:
		return true
	case !tried && c.team.mean*float64(tokens) < brief:
		return c.team.passes <= c.alone.passes
	}
	faster := c.alone.passes == 0 || c.team.mean <= c.alone.mean
	if c.next == 0 {
		c.next = c.passes + c.interval()
	}
	if c.passes < c.next {
		return faster
	}
	c.next = c.passes + c.interval()
	return !faster
}

// interval returns the number of passes after which trying the slower way costs a hundredth
// of their time.
func (c *class) interval() int {
	if c.alone.passes == 0 {
		return explore
	}
	slower := max(c.team.mean, c.alone.mean) / min(c.team.mean, c.alone.mean)
	return int(min(max(100*(slower-1), 8), 4*explore))
}

// note records a pass. The first reads weights and makes room: it says nothing about its way.
func (p *pace) note(tokens int, team bool, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.class(tokens)
	if c.passes <= 1 {
		return
	}
	w, now := &c.alone, max(1, float64(took))/float64(tokens)
	if team {
		w = &c.team
	}
	w.passes++
	switch {
	case w.passes == 1:
		w.mean = now
	case w.passes <= trials:
		w.mean = min(w.mean, now)
	default:
		w.mean += (now - w.mean) / 4
	}
}

// work estimates the multiplications between two barriers of a pass over layers of
// weights: a layer has about five.
func (m *Model) work(tokens, layers int) int64 {
	return m.active / int64(5*max(1, layers)) * int64(tokens)
}

// Small reports whether a token of a decoder is too little work for two workers.
func (m *Model) Small() bool {
	return len(m.decoder) > 0 && m.work(1, len(m.decoder)) < worthSharing
}
