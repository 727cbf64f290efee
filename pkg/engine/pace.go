package engine

import (
	"context"
	"math"
	"time"
)

// deadlineReserve is the time kept before the deadline for the last chunk of a
// constrained row to reach the client.
const deadlineReserve = 10 * time.Millisecond

// A pace estimates how many steps of a generation fit before its deadline. A step is
// expected to take no longer than the mean plus four mean deviations of the previous
// steps (Jacobson 1988, for round trips).
type pace struct {
	deadline        time.Time // zero: there is none
	last            time.Time // the end of the previous step
	mean, deviation time.Duration
}

// unbounded is a number of tokens that is never reached.
const unbounded = math.MaxInt32

// start begins the first step.
func (p *pace) start(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok {
		p.deadline, p.last = deadline, time.Now()
	}
}

// endStep ends a step and begins the next.
func (p *pace) endStep() {
	if p.deadline.IsZero() {
		return
	}
	now := time.Now()
	took := now.Sub(p.last)
	p.last = now
	if p.mean == 0 {
		p.mean, p.deviation = took, took/8
		return
	}
	off := took - p.mean
	p.mean += off / 8
	p.deviation += (off.Abs() - p.deviation) / 4
}

// steps returns how many steps fit between the end of the last one and the deadline.
func (p *pace) steps() int {
	if p.mean == 0 {
		return unbounded
	}
	left := p.deadline.Sub(p.last) - deadlineReserve
	return int(max(0, left/(p.mean+4*p.deviation)))
}
