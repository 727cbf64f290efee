package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// fine returns measurements without failures.
func fine() measured {
	return measured{
		answers: map[string]int{"200": 6, "429": 2},
		calm:    waits{n: 9, first: 20 * time.Millisecond},
		waits:   waits{n: 99, first: 900 * time.Millisecond},
		cpu:     900 * time.Millisecond, before: 50 << 20, peak: 250 << 20,
	}
}

func TestJudge(t *testing.T) {
	all := goals{served: 6, refused: 2, cpu: time.Second, busy: 500 * time.Millisecond, grown: 256}
	for name, test := range map[string]struct {
		change func(*goals, *measured)
		want   string // part of the only failure; "": no failure
	}{
		"as it should be":           {func(*goals, *measured) {}, ""},
		"a wait":                    {func(_ *goals, m *measured) { m.waits.first = 1100 * time.Millisecond }, "waited 1.10s, at most 1s"},
		"a wait on a busy machine":  {func(_ *goals, m *measured) { m.waits.first, m.calm.first = 2*time.Second, 700*time.Millisecond }, ""},
		"too long for that, too":    {func(_ *goals, m *measured) { m.waits.first, m.calm.first = 4*time.Second, time.Second }, "at most 3s"},
		"the bystander is refused":  {func(_ *goals, m *measured) { m.waits.bad = "1x429" }, "bystander got 1x429"},
		"a fault of the server":     {func(_ *goals, m *measured) { m.answers["500"] = 1 }, "1x500"},
		"a lost connection":         {func(_ *goals, m *measured) { m.answers[lost] = 3 }, "3xlost"},
		"busy, and it says so":      {func(_ *goals, m *measured) { m.answers["503"] = 1 }, ""},
		"the disk is full":          {func(_ *goals, m *measured) { m.answers["507"] = 1 }, ""},
		"cut is served":             {func(_ *goals, m *measured) { m.answers = map[string]int{cut: 6, "429": 2} }, ""},
		"not all that may be":       {func(g *goals, _ *measured) { g.only = []string{"200"} }, "2x429"},
		"a fault that may be":       {func(g *goals, m *measured) { g.only = []string{"200", "429", lost}; m.answers[lost] = 1 }, ""},
		"hardly anything is served": {func(_ *goals, m *measured) { m.answers["200"] = 5 }, "no attack: 5 served"},
		"hardly any is refused":     {func(_ *goals, m *measured) { m.answers["429"] = 1 }, "1 refused, at least 2"},
		"processor time":            {func(_ *goals, m *measured) { m.cpu = 2100 * time.Millisecond }, "2.10 s of processor time, goal 1.00 s"},
		"a slower machine":          {func(_ *goals, m *measured) { m.cpu = 1900 * time.Millisecond }, ""},
		"nothing to do":             {func(_ *goals, m *measured) { m.cpu = 400 * time.Millisecond }, "no attack: 0.40 s"},
		"memory":                    {func(_ *goals, m *measured) { m.peak = 310 << 20 }, "260 MB, at most 256 MB"},
		"no bound of memory":        {func(g *goals, m *measured) { g.grown, m.peak = 0, 310<<20 }, ""},
		"a fault seen thrice":       {func(_ *goals, m *measured) { m.faults = []string{"it is so", "it is so", "it is so"} }, "3x it is so"},
		"the server died":           {func(_ *goals, m *measured) { m.fate = "the server died" }, "the server died"},
	} {
		g, m := all, fine()
		test.change(&g, &m)
		failures := g.judge(m)
		if test.want == "" && failures != nil || test.want != "" && (len(failures) != 1 || !strings.Contains(failures[0], test.want)) {
			t.Errorf("%s: %q, want %q", name, failures, test.want)
		}
	}
}

// Only an attack that failed by times alone is repeated.
func TestTooSlow(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*measured)
		want   bool
	}{
		"held":             {func(*measured) {}, false},
		"a wait":           {func(m *measured) { m.waits.first = 2 * time.Second }, true},
		"both":             {func(m *measured) { m.waits.first, m.cpu = 2*time.Second, 5*time.Second }, true},
		"a fault and time": {func(m *measured) { m.cpu, m.fate = 5*time.Second, "killed" }, false},
		"memory":           {func(m *measured) { m.peak = 900 << 20 }, false},
	} {
		r := row{attack: attack{goals: goals{cpu: time.Second, grown: 256}}, measured: fine()}
		test.change(&r.measured)
		r.failures = r.goals.judge(r.measured)
		if r.tooSlow() != test.want {
			t.Errorf("%s: %q", name, r.failures)
		}
	}
}

// A killed server fails even an attack without expectations.
func TestJudgeOfNothing(t *testing.T) {
	if failures := (goals{}).judge(measured{}); failures != nil {
		t.Errorf("%q", failures)
	}
	if failures := (goals{}).judge(measured{fate: "killed", faults: []string{"b", "a", "b"}}); !slices.Equal(failures, []string{"killed", "a", "2x b"}) {
		t.Errorf("%q", failures)
	}
}
