package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// What all attacks are held to.
const (
	// goalWait is how long a bystander may wait for the beginning of its answer, whatever
	// others send.
	goalWait = time.Second
	// noise is how many times the longest wait for a server that nobody attacks it may be,
	// where that is more: on a machine that is busy with other things nobody answers in time.
	noise = 3
	// slower is how much more processor time than its goal an attack may take, as machines
	// differ.
	slower = 1.5
)

// alwaysRefused are the statuses above 499 that say which resource is short.
var alwaysRefused = []string{"503", "507"}

// goals are an attack's own expectations. What is zero is not asked for.
type goals struct {
	only    []string      // outcomes that may be; nil: all but faults of the server
	served  int           // at least so many 200 or cut: else it is no attack
	refused int           // at least so many statuses from 400 to 499, or 503, or 507
	cpu     time.Duration // of the server, at most
	busy    time.Duration // of the server, at least: else it is no attack
	grown   int64         // MB that the server's memory peaks above what it was, at most
}

// measured is what was seen of an attack.
type measured struct {
	answers      map[string]int
	samples      map[string]string // an answer of each kind
	calm, waits  waits
	cpu          time.Duration
	before, peak int64    // memory, bytes
	faults       []string // that the attack itself found
	fate         string   // of the server; "": it runs
}

// grown returns by how much memory grew at most, MB.
func (m *measured) grown() int64 { return max(0, m.peak-m.before) >> 20 }

// judge returns what is wrong; nothing, if the server held.
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

// counted names each of the faults once, and how often it was seen.
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

// allows tells whether an outcome may be.
func (g goals) allows(outcome string) bool {
	if g.only != nil {
		return slices.Contains(g.only, outcome)
	}
	return !strings.HasPrefix(outcome, "5") && outcome != lost || slices.Contains(alwaysRefused, outcome)
}
