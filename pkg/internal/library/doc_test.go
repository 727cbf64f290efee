package library_test

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unresolved matches a link in a text, where go doc shows its brackets.
var unresolved = regexp.MustCompile(`\[\*?[A-Z]\w*(\.\w+)?\]|\[\*?[a-z]+\.[A-Z]\w*(\.\w+)?\]`)

// A link in a doc comment names something that exists.
func TestLinks(t *testing.T) {
	packages := documented(t)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		for subject, text := range comments(p) {
			walk(p.Parser().Parse(text), func(part comment.Text) {
				switch part := part.(type) {
				case comment.Plain:
					if link := unresolved.FindString(string(part)); link != "" {
						t.Errorf("%s: the comment of %s links to %s", name, subject, link)
					}
				case *comment.DocLink:
					other, ours := packages[part.ImportPath]
					if ours && part.Name != "" && !slices.ContainsFunc(slices.Collect(maps.Keys(comments(other))), func(s string) bool {
						return s == strings.TrimPrefix(part.Recv+"."+part.Name, ".")
					}) {
						t.Errorf("%s: the comment of %s links to %s.%s, which does not exist", name, subject, part.ImportPath, part.Name)
					}
				}
			})
		}
	}
}

// documented returns the documentation of the packages under pkg by their import paths.
func documented(t *testing.T) map[string]*doc.Package {
	t.Helper()
	module, _ := module(t)
	files, sets := map[string][]*ast.File{}, token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(root, "pkg"), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(sets, name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if f.Name.Name != "main" {
			at := path.Join(module, filepath.ToSlash(dir))
			files[at] = append(files[at], f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]*doc.Package{}
	for name, list := range files {
		p, err := doc.NewFromFiles(sets, list, name)
		if err != nil {
			t.Fatal(err)
		}
		packages[name] = p
	}
	return packages
}

// comments returns the doc comments of the exported names of a package, and of the package.
func comments(p *doc.Package) map[string]string {
	all := map[string]string{p.Name: p.Doc}
	add := func(funcs []*doc.Func, values []*doc.Value, prefix string) {
		for _, f := range funcs {
			all[prefix+f.Name] = f.Doc
		}
		for _, v := range values {
			for _, name := range v.Names {
				all[name] = v.Doc
			}
		}
	}
	add(p.Funcs, slices.Concat(p.Consts, p.Vars), "")
	for _, t := range p.Types {
		all[t.Name] = t.Doc
		add(t.Funcs, slices.Concat(t.Consts, t.Vars), "")
		add(t.Methods, nil, t.Name+".")
		for _, spec := range t.Decl.Specs {
			ast.Inspect(spec, func(n ast.Node) bool { // fields, and the methods of interfaces
				if f, ok := n.(*ast.Field); ok {
					for _, name := range f.Names {
						all[t.Name+"."+name.Name] = ""
					}
				}
				return true
			})
		}
	}
	return all
}

// walk calls f with each piece of text of a comment.
func walk(d *comment.Doc, f func(comment.Text)) {
	var blocks func([]comment.Block)
	blocks = func(list []comment.Block) {
		for _, b := range list {
			switch b := b.(type) {
			case *comment.Paragraph:
				for _, text := range b.Text {
					f(text)
				}
			case *comment.Heading:
				for _, text := range b.Text {
					f(text)
				}
			case *comment.List:
				for _, item := range b.Items {
					blocks(item.Content)
				}
			}
		}
	}
	blocks(d.Content)
}
