package faster

import (
	"sync"
	"time"
)

// A Duel chooses between two ways whose calls are so short that the time of one says little: a call of
// the first is compared with one of the second, and the way that wins more often is the better one,
// however long some calls took. The zero Duel knows nothing. Goroutines may share it.
type Duel struct {
	mu      sync.Mutex
	pending [2]float64 // nanoseconds a unit of work of calls that have not been compared; 0: none
	lead    int        // wins of the first way more than of the second, from -mostLead to mostLead
}

// mostLead bounds what has to be lost before the other way is the better one.
const mostLead = 16

// Note records a call, which computed an amount of work. Each goroutine should let the ways take turns: its
// processor may be slower than another's.
func (d *Duel) Note(first bool, amount int, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := &d.pending[0]
	if !first {
		of = &d.pending[1]
	}
	*of = max(1, float64(took)) / float64(amount)
	a, b := d.pending[0], d.pending[1]
	switch {
	case a == 0 || b == 0:
		return
	case a < b:
		d.lead = min(d.lead+1, mostLead)
	case a > b:
		d.lead = max(d.lead-1, -mostLead)
	}
	d.pending = [2]float64{}
}

// Best reports whether the first way is the better one, as far as is known.
func (d *Duel) Best() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lead >= 0
}
