// Package layers holds the table of packages and their allowed imports, and checks a source
// tree against it. It parses the files itself and runs no command, so that the cache of go
// test tracks the files that it reads. It does not know what the packages do.
package layers

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Layer is one row of the table.
type Layer struct {
	Floor int
	May   []string // rows whose packages it may import; "..." is every lower floor

	Environment bool     // it may read the process's environment
	Outside     []string // prefixes of guarded modules that it may import
	Never       []string // rows that it may not import, even indirectly
}

// A Table has a row for each package. A key may end in "/*", which matches one element.
type Table struct {
	Module    string // the path of the module; "": that of go.mod
	Rows      map[string]Layer
	Guarded   []string // prefixes of import paths that only rows with Outside may import
	Forbidden []string // imports that no package may have
	Exclusive map[string][]string
}

// A Package holds the imports of a package.
type Package struct {
	imports map[string]token.Position // first position of each import
	faults  []error
}

// Check returns the violations of the table in the tree fsys.
func (t *Table) Check(fsys fs.FS) []error {
	if t.Module == "" {
		path, err := module(fsys)
		if err != nil {
			return []error{err}
		}
		t.Module = path
	}
	packages, err := t.load(fsys)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		key := t.row(dir)
		if key == "" {
			errs = append(errs, fmt.Errorf("%s: not in the table: add a row with its floor", dir))
			continue
		}
		errs = append(errs, packages[dir].faults...)
		errs = append(errs, t.checkImports(dir, key, packages[dir])...)
		errs = append(errs, t.checkReach(dir, key, packages)...)
	}
	return append(errs, t.checkRows()...)
}

// row returns the key of the row of a directory: its own or one with "/*".
func (t *Table) row(dir string) string {
	if _, ok := t.Rows[dir]; ok {
		return dir
	}
	if key := path.Dir(dir) + "/*"; dir != "." {
		if _, ok := t.Rows[key]; ok {
			return key
		}
	}
	return ""
}

func (t *Table) checkImports(dir, key string, p *Package) (errs []error) {
	row := t.Rows[key]
	for _, imported := range slices.Sorted(maps.Keys(p.imports)) {
		fault := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s: %s imports %s: %s", p.imports[imported], dir, imported, fmt.Sprintf(format, args...)))
		}
		if slices.Contains(t.Forbidden, imported) {
			fault("no package may")
		}
		for _, prefix := range t.Guarded {
			if under(imported, prefix) && !slices.ContainsFunc(row.Outside, func(p string) bool { return under(imported, p) }) {
				fault("the package's row does not allow it")
			}
		}
		ours, ok := strings.CutPrefix(imported, t.Module+"/")
		if !ok {
			continue
		}
		other := t.row(ours)
		if other == "" {
			fault("the imported package is not in the table")
			continue
		}
		floor := t.Rows[other].Floor
		named := slices.Contains(row.May, other)
		switch {
		case floor > row.Floor:
			fault("upwards, from floor %d to floor %d", row.Floor, floor)
		case !named && !slices.Contains(row.May, "..."):
			fault("it may import %s", orNone(row.May))
		case !named && floor == row.Floor:
			fault("sideways, on floor %d", floor)
		}
		if only := t.Exclusive[other]; only != nil && !slices.Contains(only, key) {
			fault("only %s may", strings.Join(only, ", "))
		}
	}
	return errs
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none of ours"
	}
	return strings.Join(list, ", ")
}

func under(name, prefix string) bool { return name == prefix || strings.HasPrefix(name, prefix+"/") }

// checkReach follows the imports of dir and checks the rows that it may never reach.
func (t *Table) checkReach(dir, key string, packages map[string]*Package) (errs []error) {
	if len(t.Rows[key].Never) == 0 {
		return nil
	}
	via := map[string]string{dir: ""} // the importer of each package
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		p := packages[queue[0]]
		if p == nil {
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(p.imports)) {
			ours, ok := strings.CutPrefix(imported, t.Module+"/")
			if _, seen := via[ours]; !ok || seen {
				continue
			}
			via[ours] = queue[0]
			queue = append(queue, ours)
			if slices.Contains(t.Rows[key].Never, t.row(ours)) {
				way := ours
				for from := queue[0]; from != ""; from = via[from] {
					way = from + " -> " + way
				}
				errs = append(errs, fmt.Errorf("%s may not reach %s: %s", dir, ours, way))
			}
		}
	}
	return errs
}

// checkRows checks the table itself: misspelt names would neither allow nor forbid
// anything.
func (t *Table) checkRows() (errs []error) {
	for _, key := range slices.Sorted(maps.Keys(t.Rows)) {
		row := t.Rows[key]
		for _, name := range slices.Concat(row.May, row.Never) {
			other, ok := t.Rows[name]
			switch {
			case name == "...":
			case !ok:
				errs = append(errs, fmt.Errorf("table: %s names %s, which has no row", key, name))
			case slices.Contains(row.May, name) && other.Floor > row.Floor:
				errs = append(errs, fmt.Errorf("table: %s may import %s, which is above it", key, name))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.Exclusive)) {
		if _, ok := t.Rows[key]; !ok {
			errs = append(errs, fmt.Errorf("table: exclusive %s has no row", key))
		}
	}
	return errs
}

// load parses the packages of the tree, by directory.
func (t *Table) load(fsys fs.FS) (map[string]*Package, error) {
	packages := map[string]*Package{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || base[0] == '.' || base[0] == '_' {
			return nil
		}
		return t.parse(fsys, name, packages)
	})
	if err == nil && len(packages) == 0 {
		err = errors.New("there are no Go files")
	}
	return packages, err
}

// parse adds one file to its package.
func (t *Table) parse(fsys fs.FS, name string, packages map[string]*Package) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ignored(file) {
		return nil
	}
	dir := path.Dir(name)
	p := packages[dir]
	if p == nil {
		p = &Package{imports: map[string]token.Position{}}
		packages[dir] = p
	}
	names := map[string]string{} // of imports in this file
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, ok := p.imports[imported]; !ok {
			p.imports[imported] = set.Position(spec.Pos())
		}
		names[path.Base(imported)] = imported
		if spec.Name != nil {
			names[spec.Name.Name] = imported
		}
	}
	p.faults = append(p.faults, t.uses(set, file, names, t.Rows[t.row(dir)])...)
	return nil
}

// ignored reports whether a build tag excludes the file from every build, as is usual for
// generators.
func ignored(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err == nil && !expr.Eval(func(tag string) bool { return tag != "ignore" }) && strings.Contains(c.Text, "ignore") {
				return true
			}
		}
	}
	return false
}

// environment lists the functions that read the process's environment.
var environment = map[string][]string{
	"os":      {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
	"syscall": {"Getenv", "Environ"},
}

// uses finds reads of the environment and init functions.
func (t *Table) uses(set *token.FileSet, file *ast.File, names map[string]string, row Layer) (errs []error) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				errs = append(errs, fmt.Errorf("%s: no package may have an init function", set.Position(n.Pos())))
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && !row.Environment && slices.Contains(environment[names[x.Name]], n.Sel.Name) {
				errs = append(errs, fmt.Errorf("%s: this package may not read the environment (%s.%s)", set.Position(n.Pos()), x.Name, n.Sel.Name))
			}
		}
		return true
	})
	return errs
}
