// Command prose finds wordings that users stumbled over in the texts that users read: the
// documents, the strings of the Go code (errors, help, descriptions of parameters and
// settings), the playground, and the records. It knows nothing of comments and tests, and
// judges no other style.
package main

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A hit is a phrase in a file.
type hit struct {
	path    string
	line    int
	text    string
	instead string
}

func (h hit) String() string {
	return fmt.Sprintf("%s:%d: %q: write %q", h.path, h.line, h.text, h.instead)
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	hits, err := find(root)
	if err == nil {
		err = report(hits, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

// report prints the hits.
func report(hits []hit, out io.Writer) error {
	for _, h := range hits {
		fmt.Fprintln(out, h)
	}
	if len(hits) > 0 {
		return fmt.Errorf("%d phrases that must not come back", len(hits))
	}
	return nil
}

// find returns the hits in the tree under root.
func find(root string) ([]hit, error) {
	c := &checker{phrases: phrases()}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && path != root && skipped(d.Name()):
			return fs.SkipDir
		case d.IsDir() || begins(name, exempt):
			return nil
		}
		return c.file(path, name)
	})
	if err == nil && c.files == 0 {
		err = errors.New("no documents or Go files under " + root)
	}
	return c.hits, err
}

// exempt lists files whose words are data: training texts, the phrases of this command,
// templates that models were trained on, and programs that only developers run.
var exempt = []string{".ci/", "pkg/starter/", "pkg/host/runtimeapi/", "pkg/table/tabletest/", "pkg/bucket/buckettest/", "infra/policy/"}

func begins(name string, list []string) bool {
	for _, prefix := range list {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// skipped reports whether a directory holds no text of the project.
func skipped(name string) bool {
	return name == "node_modules" || name == "testdata" || name == "shared" || strings.HasPrefix(name, ".")
}

// A checker collects hits.
type checker struct {
	phrases []phrase
	files   int
	hits    []hit
}

// file checks a file by its kind.
func (c *checker) file(path, name string) error {
	read := c.lines
	switch ext := filepath.Ext(name); {
	case strings.HasSuffix(name, "_test.go"):
		return nil
	case ext == ".go":
		read = c.strings
	case ext == ".js":
		read = c.script
	case ext != ".md" && ext != ".html" && !(ext == ".json" && strings.HasPrefix(name, "schemas/")) && name != "Makefile":
		return nil
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c.files++
	return read(name, source)
}

// lines checks the lines of a document.
func (c *checker) lines(name string, source []byte) error {
	n := 0
	for line := range strings.Lines(string(source)) {
		n++
		c.text(name, n, line)
	}
	return nil
}

// script checks the lines of a program that are not comments.
func (c *checker) script(name string, source []byte) error {
	n := 0
	for line := range strings.Lines(string(source)) {
		n++
		if code, _, _ := strings.Cut(" "+line, " //"); !strings.HasPrefix(strings.TrimSpace(code), "*") {
			c.text(name, n, code)
		}
	}
	return nil
}

// strings checks the string literals of a Go file, tags of fields included.
func (c *checker) strings(name string, source []byte) error {
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(source))
	var s scanner.Scanner
	var failed error
	s.Init(file, source, func(at token.Position, message string) { failed = fmt.Errorf("%s: %s", at, message) }, 0)
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return failed
		case token.STRING:
			c.text(name, file.Line(pos), text)
		}
	}
}

// text looks for the phrases in one text.
func (c *checker) text(name string, line int, text string) {
	if !strings.Contains(text, " ") {
		return
	}
	text = strings.ToLower(text)
	for i := range c.phrases {
		p := &c.phrases[i]
		for _, found := range p.bad.FindAllString(text, -1) {
			if p.fine == nil || !p.fine.MatchString(found) {
				c.hits = append(c.hits, hit{name, line, found, p.instead})
			}
		}
	}
}
