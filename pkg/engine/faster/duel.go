package faster

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Duel chooses between two ways whose calls are so short that the time of one says little: a call of
// the first is compared with one of the second, and the way that wins more often is the better one,
// however long some calls took. Few calls are timed, see [Turn]. The zero Duel knows nothing. Goroutines
// may share it.
type Duel struct {
	lead atomic.Int32 // wins of the first way more than of the second, from -mostLead to mostLead

	mu      sync.Mutex
	pending [2]float64 // nanoseconds a unit of work of calls that have not been compared; 0: none
}

// mostLead bounds what has to be lost before the other way is the better one.
const mostLead = 16

// timedCalls is the number of calls of which one is timed: the slower way computes one of twice as many.
const timedCalls = 16

// Turn reports whether a call with a number is timed, and whether it is the first way's turn. One goroutine
// should count, or each its own calls: another's processor may be slower.
func Turn(call uint32) (timed, first bool) {
	return call%timedCalls == 0, call/timedCalls%2 == 0
}

// Note records a call that was timed, which computed an amount of work.
func (d *Duel) Note(first bool, amount int, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := &d.pending[0]
	if !first {
		of = &d.pending[1]
	}
	*of = max(1, float64(took)) / float64(amount)
	a, b, lead := d.pending[0], d.pending[1], d.lead.Load()
	switch {
	case a == 0 || b == 0:
		return
	case a < b:
		d.lead.Store(min(lead+1, mostLead))
	case a > b:
		d.lead.Store(max(lead-1, -mostLead))
	}
	d.pending = [2]float64{}
}

// Best reports whether the first way is the better one, as far as is known.
func (d *Duel) Best() bool { return d.lead.Load() >= 0 }
