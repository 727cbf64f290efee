package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// rename gives the module in root another path. Nested modules keep theirs.
func rename(root, to string) error {
	if err := module.CheckPath(to); err != nil {
		return fmt.Errorf("%w: must be HOST/OWNER/NAME, as github.com/owner/glossa", err)
	}
	name := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		return err
	}
	from := mod.Module.Mod.Path
	if err := mod.AddModuleStmt(to); err != nil {
		return err
	}
	if text, err = mod.Format(); err != nil {
		return err
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skipped(path):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md"}, filepath.Ext(path)):
			return nil
		}
		return rewrite(path, from, to)
	})
}

// skipped reports whether a directory is not part of the module's sources.
func skipped(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil || slices.Contains([]string{".git", ".cache", "node_modules", "bin", "dist"}, filepath.Base(dir))
}

// rewrite renames the module in a file.
func rewrite(path, from, to string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	renamed := documents(text, from, to)
	if filepath.Ext(path) == ".go" {
		if renamed, err = imports(text, from, to); err != nil {
			if filepath.Base(filepath.Dir(path)) == "testdata" { // it may be broken on purpose
				return nil
			}
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if bytes.Equal(text, renamed) {
		return nil
	}
	return os.WriteFile(path, renamed, 0o644)
}

// imports returns a Go file with its imports, and the links to packages in its comments,
// renamed. The rest of the file stays, except for gofmt's order of imports.
func imports(text []byte, from, to string) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	type edit struct {
		start, end int
		text       string
	}
	var edits []edit
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(path, from+"/"); ok {
			edits = append(edits, edit{set.Position(spec.Path.Pos()).Offset, set.Position(spec.Path.End()).Offset, strconv.Quote(to + "/" + rest)})
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if renamed := documents([]byte(c.Text), from, to); string(renamed) != c.Text {
				start := set.Position(c.Pos()).Offset
				edits = append(edits, edit{start, start + len(c.Text), string(renamed)})
			}
		}
	}
	if len(edits) == 0 {
		return text, nil
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	done := 0
	for _, e := range edits {
		if e.start < done {
			return nil, errors.New("an import and a comment overlap")
		}
		out = append(append(out, text[done:e.start]...), e.text...)
		done = e.end
	}
	return format.Source(append(out, text[done:]...))
}

// documents returns a text with the paths of packages renamed where they are links of Go's
// comments, [glossa/pkg/llm], or arguments of go doc and go install.
func documents(text []byte, from, to string) []byte {
	link := regexp.MustCompile(`(\[|\bgo (?:doc|install) )` + regexp.QuoteMeta(from) + `/(pkg|functions|schemas|infra)\b`)
	return link.ReplaceAll(text, []byte("${1}"+to+"/${2}"))
}
