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
	jobs        int
	team, alone float64 // nanoseconds a token, moving averages; 0: unknown
}

// explore is the number of passes after which the slower way is tried once.
const explore = 64

func (p *pace) class(tokens int) *class {
	return &p.classes[min(bits.Len(uint(tokens)), len(p.classes))-1]
}

// useTeam reports whether the team should compute this number of tokens.
func (p *pace) useTeam(tokens int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.class(tokens)
	c.jobs++
	faster := c.team == 0 || c.alone == 0 || c.team <= c.alone
	return faster != (c.jobs%explore == 0)
}

// note records a pass.
func (p *pace) note(tokens int, team bool, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.class(tokens)
	v := &c.alone
	if team {
		v = &c.team
	}
	if now := float64(took) / float64(tokens); *v == 0 {
		*v = now
	} else {
		*v += (now - *v) / 4
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
