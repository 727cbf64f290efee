package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A mutant is tried again if its file or its tests change, and after some changes of other files.
func TestRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("a", 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, source string) {
		if err := os.WriteFile(filepath.Join("a", name), []byte("package a\n"+source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	now := func() record {
		m := mutant{Name: "m", Package: "a", Function: "f", Old: "x + 1", New: "x", Tests: "a", Run: "^TestF$/^sub$"}
		r, err := m.record(sums{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	write("f.go", "func f(x int) int { return x + 1 }\n")
	write("other.go", "func g() {}\n")
	write("f_test.go", "func TestF(t *testing.T) {}\n")
	write("other_test.go", "func TestFar(t *testing.T) {}\n")
	r := now()
	for _, test := range []struct {
		name, source string
		near         bool
	}{
		{"other.go", "func g() { h() }\n", false},
		{"other_test.go", "func TestFar(t *testing.T) { g() }\n", false},
		{"f_test.go", "func TestF(t *testing.T) { g() }\n", true},
		{"f.go", "func f(x int) int { return x + 1 }\nvar n int\n", true},
	} {
		write(test.name, test.source)
		next := now()
		if (next.near != r.near) != test.near || next.wide == r.wide {
			t.Errorf("%s has changed: %v after %v", test.name, next, r)
		}
		r = next
	}
}

func TestDue(t *testing.T) {
	tried := record{"n", "0100000000000000"}
	for _, test := range []struct {
		now  record
		want bool
	}{
		{tried, false}, {record{"m", tried.wide}, true}, {record{"n", "0200000000000000"}, false}, {record{"n", "f000000000000000"}, true},
	} {
		if got := tried.isDue(test.now); got != test.want {
			t.Errorf("%v after %v: %v", test.now, tried, got)
		}
	}
	if !(record{}).isDue(tried) {
		t.Error("what was never tried is not due")
	}
}

// Mutants that were never noticed come first, the others in the order of their digests.
func TestNewComeFirst(t *testing.T) {
	list := []due{{now: record{wide: "c"}, seen: true}, {now: record{wide: "d"}}, {now: record{wide: "a"}, seen: true}, {now: record{wide: "b"}}}
	slices.SortFunc(list, due.compare)
	var order string
	for _, d := range list {
		order += d.now.wide
	}
	if order != "bdac" {
		t.Errorf("the order is %s", order)
	}
}
