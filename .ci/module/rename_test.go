package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files into a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRename(t *testing.T) {
	before := map[string]string{
		"go.mod":              "module a\n\ngo 1.26.0\n\nrequire golang.org/x/mod v0.41.0 // indirect\n",
		"pkg/x/x.go":          "// Package x uses [a/pkg/y.T] and a/pkg/y of a.\npackage x\n\nimport (\n\t\"fmt\"\n\n\tother \"a/pkg/z\"\n\t\"a/pkg/y\"\n\t\"ab/pkg/y\"\n)\n\nvar _ = fmt.Sprint(\"a/pkg/y\", other.Z, y.T)\n",
		"pkg/x/README.md":     "`go doc a/pkg/x` and `go install a/functions/a`; a/pkg/x is a directory, [a/b].\n",
		"pkg/x/plain.go":      "package x\n\nvar Plain   = 1 // not formatted, not touched\n",
		"pkg/testdata/bad.go": "package\n",
		".ci/t/t.go":          "package t\n\nimport _ \"a/pkg/x\"\n",
		"nested/go.mod":       "module nested\n",
		"nested/n.go":         "package n\n\nimport _ \"a/pkg/x\"\n",
	}
	root := tree(t, before)
	if err := rename(root, "example.com/b/c"); err != nil {
		t.Fatal(err)
	}
	after := map[string]string{
		"go.mod":          strings.Replace(before["go.mod"], "module a", "module example.com/b/c", 1),
		"pkg/x/x.go":      "// Package x uses [example.com/b/c/pkg/y.T] and a/pkg/y of a.\npackage x\n\nimport (\n\t\"fmt\"\n\n\t\"ab/pkg/y\"\n\t\"example.com/b/c/pkg/y\"\n\tother \"example.com/b/c/pkg/z\"\n)\n\nvar _ = fmt.Sprint(\"a/pkg/y\", other.Z, y.T)\n",
		"pkg/x/README.md": "`go doc example.com/b/c/pkg/x` and `go install example.com/b/c/functions/a`; a/pkg/x is a directory, [a/b].\n",
		".ci/t/t.go":      "package t\n\nimport _ \"example.com/b/c/pkg/x\"\n",
	}
	for name, content := range before {
		if changed, ok := after[name]; ok {
			content = changed
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || string(got) != content {
			t.Errorf("%s, %v:\n%s\nwant\n%s", name, err, got, content)
		}
	}
	if err := rename(root, "a"); err == nil || !strings.Contains(err.Error(), "HOST/OWNER/NAME") {
		t.Errorf("a path without a host: %v", err)
	}
}

func TestRenameBrokenFile(t *testing.T) {
	root := tree(t, map[string]string{"go.mod": "module a\n", "x/x.go": "package\n"})
	if err := rename(root, "example.com/b"); err == nil || !strings.Contains(err.Error(), "x.go") {
		t.Errorf("%v", err)
	}
}
