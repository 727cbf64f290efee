package main

import (
	"os"
	"path/filepath"
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
	const dir, function, old = "pkg/language", "initial", `word != "I"`
	for name, test := range map[string]struct {
		mutant
		want string // in the error
	}{
		"noticed":        {mutant{"", dir, function, old, `true`, dir, "."}, ""},
		"not noticed":    {mutant{"", dir, function, old, `"I" != word`, dir, "."}, "noticed"},
		"no place":       {mutant{"", dir, function, "not", "", dir, "."}, "0 times"},
		"no function":    {mutant{"", dir, "gone", old, "", dir, "."}, "declares no gone"},
		"no package":     {mutant{"", "pkg/gone", function, old, "", dir, "."}, "pkg/gone"},
		"does not build": {mutant{"", dir, function, old, "word !=", dir, "."}, "did not run"},
		"no tests":       {mutant{"", dir, function, old, `true`, dir, "^TestNone$"}, "no test"},
	} {
		err := test.try(t.TempDir())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// Each mutant says all that is needed and has one place, and no two are the same.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("parses for a minute under the race detector")
	}
	t.Chdir("../..")
	seen := map[mutant]bool{}
	for _, m := range mutants() {
		key := mutant{Package: m.Package, Function: m.Function, Old: m.Old, New: m.New}
		if m.Name == "" || m.Old == m.New || m.Tests == "" || m.Run == "" || seen[key] {
			t.Errorf("%+v", m)
		}
		seen[key] = true
		if _, err := m.overlay(t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// A place is found by its function and its code, in any file, however it is written.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, source := range map[string]string{
		"a.go": `package a

var limits = map[string]int{"a": 1, "b": 2}

func f(a, b int) int {
	if b > 0 && a+b > 0 { // b > 0
		return f(a, b) // a comment
	}
	return g(
		a,
		b,
	)
}
`,
		"b.go": `package a

type list[T any] struct{ n int }

func (l *list[T]) f(b int) { l.n = b; l.n++ }

func g(a, b int) (n int) {
	n = a
	n += b
	return
}
`,
		"a_test.go": "package a\n\nfunc g(a, b int) int { return a*b }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ function, old, file, want string }{
		{"f", "b > 0", "a.go", "if X && a+b > 0 {"}, // a+b > 0 is another expression
		{"f", "a+b>0", "a.go", "if b > 0 && X {"},
		{"f", "return f(a, b)", "a.go", "\t\tX // a comment"},
		{"f", "g(a, b)", "a.go", "return X\n"},
		{"f", "g(a, b,)", "a.go", "return X\n"},
		{"f", "a, b", "", "3 times"},
		{"f", "0 && a", "", "0 times"}, // a part of two expressions
		{"g", "n = a; n += b", "b.go", "\tX\n\treturn"},
		{"g", "a*b", "", "0 times"}, // in a test
		{"list.f", "l.n = b", "b.go", "{ X; l.n++ }"},
		{"list.f", "l.n", "", "2 times"},
		{"limits", `"b": 2`, "a.go", `"a": 1, X}`},
		{"h", "a", "", "declares no h"},
		{"g", "", "", "0 times"},
	} {
		m := mutant{Package: dir, Function: test.function, Old: test.old}
		p, err := m.find()
		switch {
		case test.file == "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %q: %v, want %q", test.function, test.old, err, test.want)
			}
		case err != nil:
			t.Errorf("%s %q: %v", test.function, test.old, err)
		default:
			if text := string(p.with("X")); filepath.Base(p.file) != test.file || !strings.Contains(text, test.want) {
				t.Errorf("%s %q: %s in\n%s", test.function, test.old, p.file, text)
			}
		}
	}
}
