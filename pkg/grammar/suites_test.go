package grammar_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar"
	"glossa/pkg/grammar/automaton"
)

// An exception is a verdict of a suite with which we differ: a whole file, or a group or an
// instance in it.
type exception struct {
	File, Group, Instance string
	Reason                string
	used                  bool
}

func exceptions(t *testing.T) []exception {
	t.Helper()
	raw, err := os.ReadFile("testdata/exceptions.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []exception
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.File == "" || e.Reason == "" {
			t.Errorf("exceptions.json: %+v lacks its file or its reason", e)
		}
	}
	return list
}

// A tally counts the results of a suite.
type tally struct {
	files, accepted, refused int // schemas
	valid, invalid, exempt   int // instances of accepted schemas: accepted, refused, differing with a reason
	wrong                    int
	reasons                  map[string]int // of refusals, by keyword
}

// TestSuites checks every instance of the suites whose schema compiles: a valid one has a
// text in the grammar, an invalid one has none.
func TestSuites(t *testing.T) {
	known := exceptions(t)
	counts := make([]tally, len(suites))
	for i, s := range suites {
		groups, files := s.read(t)
		if files == 0 {
			t.Skipf("%s is not in %s: nothing to hold the schemas against (see -data)", s.name, *data)
		}
		counts[i] = tally{files: files, reasons: map[string]int{}}
		for _, g := range groups {
			counts[i].add(t, g, known)
		}
		if all := counts[i].accepted + counts[i].refused; s.dir == "maskbench" && counts[i].accepted*100 < 80*all {
			t.Errorf("%s: %d of %d schemas are accepted, it has to be 80 in 100", s.name, counts[i].accepted, all)
		}
	}
	for _, e := range known {
		if !e.used {
			t.Errorf("exceptions.json: %s %q %q is no exception any more", e.File, e.Group, e.Instance)
		}
	}
	compare(t, "testdata/suites.md", table(counts))
}

// add tries one schema.
func (c *tally) add(t *testing.T, g group, known []exception) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %s: panic: %v\n%s", g.file, g.Description, p, debug.Stack())
		}
	}()
	schema, err := grammar.Schema(g.Schema, automaton.Limits{})
	if err != nil {
		var e *grammar.Error
		if !errors.As(err, &e) || e.Message == "" {
			t.Errorf("%s: %s: refused with %v, which says nothing", g.file, g.Description, err)
			return
		}
		if testing.Verbose() {
			t.Logf("%s: %s: refused: %v", g.file, g.Description, err)
		}
		if e.Keyword == "" && slices.ContainsFunc(g.Tests, func(i instance) bool { return i.Valid }) {
			t.Errorf("%s: %s: there are valid instances, and %v", g.file, g.Description, err)
		}
		c.refused++
		c.reasons[e.Keyword]++
		return
	}
	c.accepted++
	for _, i := range g.Tests {
		fault := try(t, schema, g, i)
		if fault == "" {
			if i.Valid {
				c.valid++
			} else {
				c.invalid++
			}
			continue
		}
		if exempt(known, g, i) {
			c.exempt++
			continue
		}
		c.wrong++
		t.Errorf("%s: %s: %s: %s (%s)\n\tschema   %.600s\n\tinstance %.300s", g.file, g.Description, i.Description,
			fault, opinion(g.Schema, decode(t, i.Data)), compact(g.Schema), compact(i.Data))
	}
}

// try describes the error in the verdict on an instance, "" if there is none.
func try(t *testing.T, schema *grammar.Grammar, g group, i instance) string {
	value := decode(t, i.Data)
	text, ok := schema.Canonical(value)
	switch {
	case ok && !i.Valid:
		return "WRONGLY ACCEPTED as " + text
	case !ok && i.Valid:
		return "WRONGLY REFUSED"
	case ok && !schema.Match(text):
		return "its text " + text + " does not match"
	case ok && !equal(decode(t, []byte(text)), value):
		return "its text says something else: " + text
	}
	return ""
}

func exempt(known []exception, g group, i instance) bool {
	found := false
	for n := range known {
		e := &known[n]
		if e.File == g.file && (e.Group == "" || e.Group == g.Description) && (e.Instance == "" || e.Instance == i.Description) {
			e.used, found = true, true
		}
	}
	return found
}

func compact(raw json.RawMessage) string { return strings.Join(strings.Fields(string(raw)), " ") }

// table prints the counts.
func table(counts []tally) string {
	var b strings.Builder
	b.WriteString("# The suites of JSON Schema\n\nWritten by `go test ./pkg/grammar -run Suites -update`.\n\n")
	fmt.Fprintf(&b, "| | %s | %s |\n|---|---:|---:|\n", suites[0].name, suites[1].name)
	row := func(name string, of func(*tally) int) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", name, of(&counts[0]), of(&counts[1]))
	}
	row("files", func(c *tally) int { return c.files })
	row("schemas", func(c *tally) int { return c.accepted + c.refused })
	row("schemas accepted", func(c *tally) int { return c.accepted })
	row("schemas refused", func(c *tally) int { return c.refused })
	row("valid instances accepted", func(c *tally) int { return c.valid })
	row("invalid instances refused", func(c *tally) int { return c.invalid })
	row("exceptions", func(c *tally) int { return c.exempt })
	row("wrong verdicts", func(c *tally) int { return c.wrong })
	b.WriteString("\nThe exceptions and their reasons are in exceptions.json. Why schemas are refused, by keyword:\n\n")
	fmt.Fprintf(&b, "| keyword | %s | %s |\n|---|---:|---:|\n", suites[0].name, suites[1].name)
	sum := map[string]int{}
	for _, c := range counts {
		for k, n := range c.reasons {
			sum[k] += n
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(sum), func(a, b string) int {
		return cmp.Or(sum[b]-sum[a], strings.Compare(a, b))
	}) {
		name := k
		if k == "" {
			name = "(the schema as a whole)"
		}
		row(name, func(c *tally) int { return c.reasons[k] })
	}
	return b.String()
}

// compare compares a text with a committed file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the suites give today; -update writes it anew:\n%s", name, got)
	}
}
