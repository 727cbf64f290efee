package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Limits of all attacks.
const (
	// goalWait is a bystander's longest allowed wait for the beginning of its answer, whatever
	// others send.
	goalWait = time.Second
	// noise relaxes goalWait on a busy machine: the wait may be noise times the longest wait
	// for a server that is not attacked.
	noise = 3
	// slower is the allowed factor over an attack's goal of processor time, as machines
	// differ.
	slower = 2
)

// alwaysRefused lists the statuses above 499 that name an exhausted resource.
var alwaysRefused = []string{"503", "507"}

// goals holds an attack's expectations. Zero values are not checked.
type goals struct {
	only    []string      // allowed outcomes; nil: all except server errors
	served  int           // minimum number of 200 or cut; with fewer it is not an attack
	refused int           // minimum number of statuses from 400 to 499, 503 or 507
	cpu     time.Duration // maximum of the server
	busy    time.Duration // minimum of the server; with less it is not an attack
	grown   int64         // maximum growth of the server's peak memory, MB
}

// measured holds the measurements of an attack.
type measured struct {
	answers      map[string]int
	samples      map[string]string // an answer of each kind
	calm, waits  waits
	cpu          time.Duration
	before, peak int64    // memory, bytes
	faults       []string // found by the attack itself
	fate         string   // how the server ended; "": it runs
}

// grown returns the peak growth of memory, MB.
func (m *measured) grown() int64 { return max(0, m.peak-m.before) >> 20 }

// judge returns the failures, none if the server held.
func (g goals) judge(m measured) (failures []string) {
	fail := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	if m.fate != "" {
		fail("%s", m.fate)
	}
	if limit := max(goalWait, noise*m.calm.first); m.waits.first > limit {
		fail("the bystander waited %s, at most %s", brief(m.waits.first), brief(limit))
	}
	if m.waits.bad != "" {
		fail("the bystander got %s", m.waits.bad)
	}
	for _, outcome := range slices.Sorted(maps.Keys(m.answers)) {
		if !g.allows(outcome) {
			fail("%dx%s", m.answers[outcome], outcome)
		}
	}
	served, refused := m.answers["200"]+m.answers[cut], 0
	for outcome, n := range m.answers {
		if outcome[0] == '4' || slices.Contains(alwaysRefused, outcome) {
			refused += n
		}
	}
	if served < g.served {
		fail("no attack: %d served, at least %d", served, g.served)
	}
	if refused < g.refused {
		fail("%d refused, at least %d", refused, g.refused)
	}
	if limit := time.Duration(float64(g.cpu) * slower); g.cpu > 0 && m.cpu > limit {
		fail("%.2f s of processor time, goal %.2f s", m.cpu.Seconds(), g.cpu.Seconds())
	}
	if m.cpu < g.busy {
		fail("no attack: %.2f s of processor time, at least %.2f s", m.cpu.Seconds(), g.busy.Seconds())
	}
	if g.grown > 0 && m.grown() > g.grown {
		fail("%d MB, at most %d MB", m.grown(), g.grown)
	}
	return append(failures, counted(m.faults)...)
}

// tooSlow reports whether the server failed by times alone.
func (r *row) tooSlow() bool {
	timeless, m := r.goals, r.measured
	timeless.cpu, m.waits.first = 0, 0
	return len(r.failures) > 0 && len(timeless.judge(m)) == 0
}

// counted lists each fault once, with its count.
func counted(faults []string) (list []string) {
	counts := map[string]int{}
	for _, f := range faults {
		counts[f]++
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[f]; n > 1 {
			f = fmt.Sprintf("%dx %s", n, f)
		}
		list = append(list, f)
	}
	return list
}

// allows reports whether an outcome is allowed.
func (g goals) allows(outcome string) bool {
	if g.only != nil {
		return slices.Contains(g.only, outcome)
	}
	return !strings.HasPrefix(outcome, "5") && outcome != lost || slices.Contains(alwaysRefused, outcome)
}
