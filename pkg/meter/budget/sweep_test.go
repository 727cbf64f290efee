package budget

import (
	"strconv"
	"testing"
	"time"

	"glossa/pkg/account"
)

// Many principals who send one request each do not make each other's dear: all leases and paces are
// looked at a few times only, and those that are over do not stay. One more that is over shows when
// all are looked at.
func TestSweeps(t *testing.T) {
	const principals = 20_000
	now := noon()
	m := NewMemory()
	b := New(Config{Ledger: m, Now: func() time.Time { return now }})
	rate, old, full := account.Rate{N: 2, Per: time.Minute}, dayOf("old", now.AddDate(0, 0, -1)), &account.Bucket{}
	leases, paces, entries := 0, 0, 0
	for i := range principals {
		if _, ok := b.leases[old]; !ok {
			b.leases[old] = &lease{at: old}
			leases++
		}
		if b.paces["full"] == nil {
			b.paces["full"] = full
			paces++
		}
		past := requestsOf("old", rate, now.Add(-time.Hour))
		if _, ok := m.book.Leased[past.key()]; !ok {
			m.book.Leased[past.key()] = entry{End: past.End}
			entries++
		}
		name := strconv.Itoa(i)
		if wait, _, _ := b.pace(name, rate, now); wait > 0 {
			t.Fatalf("%s waits", name)
		}
		if _, err := b.windowOf(name, rate, now).reserve(t.Context(), 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for what, n := range map[string]int{"leases": leases, "paces": paces, "entries": entries} {
		if n > 10 { // 128 doubled until it exceeds 20,000
			t.Errorf("%s: all are looked at %d times", what, n-1)
		}
	}
	for range 20 {
		now = now.Add(time.Minute)
		for i := range 2 * principals / 10 {
			name := strconv.Itoa(i)
			b.pace(name, rate, now)
			if _, err := b.windowOf(name, rate, now).reserve(t.Context(), 1, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(b.leases) > 3*principals || len(b.paces) > 3*principals || len(m.book.Leased) > 3*principals {
		t.Errorf("%d leases, %d paces and %d entries stay", len(b.leases), len(b.paces), len(m.book.Leased))
	}
}
