package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No text that users read has one of the phrases.
func TestRepository(t *testing.T) {
	hits, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := report(hits, t.Output()); err != nil {
		t.Error(err)
	}
}

// Each phrase finds its example, and its suggestion has none of the phrases.
func TestPhrases(t *testing.T) {
	list := phrases()
	for i, p := range list {
		c := &checker{phrases: list[i : i+1]}
		c.text("example", 1, p.example)
		if len(c.hits) == 0 {
			t.Errorf("%s does not find %q", p.bad, p.example)
		}
		c = &checker{phrases: list}
		c.text("suggestion", 1, p.instead)
		for _, h := range c.hits {
			t.Errorf("%s: %s", p.bad, h)
		}
	}
}

func TestFine(t *testing.T) {
	c := &checker{phrases: phrases()}
	for _, text := range []string{
		"there is no model", "it is no longer served", "there are no tools to call", "it has no more than 3 parts",
		"a model that a group's record describes is served", "the status is 413", "side by side", "besides the checkpoint",
	} {
		c.text("fine", 1, text)
	}
	for _, h := range c.hits {
		t.Error(h)
	}
}

func TestFiles(t *testing.T) {
	const bad = "the client left"
	for _, test := range []struct {
		name, source string
		want         string // the hits; "" is none
	}{
		{"a.md", "one\nThe client left.\n", "a.md:2: "},
		{"Makefile", "a: ## the client left\n", "Makefile:1: "},
		{"schemas/a.json", `{"description": "the client left"}`, "schemas/a.json:1: "},
		{"other/a.json", `{"description": "the client left"}`, ""},
		{"a.go", "package a\n\n// the client left\nvar s = \"the client left\"\n", "a.go:4: "},
		{"a.go", "package a\n\ntype t struct {\n\tA int `doc:\"the client left\"`\n}\n", "a.go:4: "},
		{"a_test.go", "package a\n\nvar s = \"the client left\"\n", ""},
		{"a.js", "// the client left\nlet a = 'the client left' // the client left\n", "a.js:2: "},
		{"a.html", "<p>The client left</p>", "a.html:1: "},
		{"README.md", "the client left", "README.md:1: "},
		{"testdata/a.md", "the client left", ""},
		{".ci/a.md", "the client left", ""},
		{"a.txt", "the client left", ""},
	} {
		root := t.TempDir()
		for name, source := range map[string]string{test.name: test.source, "fine.md": "fine"} {
			path := filepath.Join(root, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if test.want != "" {
			want = fmt.Sprintf("%s%q: write %q\n", test.want, bad, "the client disconnected")
		}
		hits, err := find(root)
		var out strings.Builder
		found := report(hits, &out)
		if got := out.String(); err != nil || got != want || (found == nil) != (want == "") {
			t.Errorf("%s %q: got %q, %v, %v", test.name, test.source, got, err, found)
		}
	}
	if _, err := find(t.TempDir()); err == nil {
		t.Error("an empty tree passes")
	}
}
