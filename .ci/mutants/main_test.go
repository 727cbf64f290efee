package main

import (
	"strings"
	"testing"
)

// A mutant that changes nothing is not noticed, one that breaks something is, and a
// mutant that cannot be tried is no success.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	t.Chdir("../..")
	const file, pkg = "pkg/language/sentences.go", "./pkg/language"
	for name, test := range map[string]struct {
		mutant
		want string // in the error
	}{
		"noticed":        {mutant{"", file, `word != "I"`, `true`, pkg, "."}, ""},
		"not noticed":    {mutant{"", file, "// A line feed ends both.", "// Nothing.", pkg, "."}, "noticed"},
		"no place":       {mutant{"", file, "not there", "", pkg, "."}, "0 times"},
		"no file":        {mutant{"", "gone.go", "a", "b", pkg, "."}, "gone.go"},
		"does not build": {mutant{"", file, "package language", "package", pkg, "."}, "did not run"},
		"no tests":       {mutant{"", file, `word != "I"`, `true`, pkg, "^TestNone$"}, "no test"},
	} {
		err := test.try(t.TempDir())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// Each mutant says all that is needed and has its place, and no two are the same.
func TestMutants(t *testing.T) {
	t.Chdir("../..")
	seen := map[string]bool{}
	for _, m := range mutants() {
		key := m.File + m.Old + m.New
		if m.Trap == "" || m.Old == m.New || m.Package == "" || m.Tests == "" || seen[key] {
			t.Errorf("%+v", m)
		}
		seen[key] = true
		if _, err := m.overlay(t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.Trap, err)
		}
	}
}
