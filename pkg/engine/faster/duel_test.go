package faster

import (
	"testing"
	"time"
)

// The way that is faster is the better one, although some of its calls take long.
func TestDuel(t *testing.T) {
	var d Duel
	calls := 0
	duel := func(comparisons int, first, second time.Duration) bool {
		for i := range 2 * comparisons {
			took, use := second, i%2 == 0
			if use {
				took = first
			}
			if calls++; calls%7 == 0 {
				took *= 100
			}
			d.Note(use, 1, took)
		}
		return d.Best()
	}
	if !d.Best() {
		t.Error("the second way is the better one of two that are not known")
	}
	if !duel(1000, 100, 110) {
		t.Error("the first way is faster, but not the better one")
	}
	if duel(200, 110, 100) {
		t.Error("the second way is faster, but not the better one")
	}
	if !duel(200, 100, 110) {
		t.Error("the first way is faster again, but not the better one")
	}
}

// Times are compared by the amount of work.
func TestDuelAmounts(t *testing.T) {
	var d Duel
	for range 8 {
		d.Note(true, 1000, 1000)
		d.Note(false, 1, 2)
	}
	if !d.Best() {
		t.Error("a nanosecond a unit of work is more than two")
	}
}

// Ways that are equally fast have no lead, and calls of one way alone say nothing.
func TestDuelUndecided(t *testing.T) {
	var d Duel
	for range 8 {
		d.Note(true, 1, 100)
	}
	d.Note(false, 1, 100)
	if lead := d.lead.Load(); lead != 0 {
		t.Errorf("the lead is %d", lead)
	}
	d.Note(false, 1, 1)
	if lead := d.lead.Load(); lead != 0 {
		t.Errorf("the lead is %d before the first way has another call", lead)
	}
}

// One call of sixteen is timed, and the ways take turns.
func TestTurn(t *testing.T) {
	var timed, first int
	for call := range uint32(320) {
		if now, way := Turn(call); now {
			if timed++; way {
				first++
			}
		}
	}
	if timed != 20 || first != 10 {
		t.Errorf("%d of 320 calls are timed, of these %d the first way's", timed, first)
	}
}
