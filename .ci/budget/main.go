// Command budget checks the length budgets of the repository's Go files and functions.
// Generated files are exempt. It only parses; the limits are those of the design.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A budget is a hard limit for each and a softer limit for most, in lines.
type budget struct {
	what       string
	most, each int // 90 in 100 have at most most lines, each has at most each
}

var (
	files     = budget{"files", 400, 600}
	functions = budget{"functions", 45, 100}
)

// A length is the size of a file or a function and its location.
type length struct {
	where string
	lines int
}

func main() {
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	if err := run(root, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(1)
	}
}

// run measures the tree under root and reports violations.
func run(root string, out io.Writer) error {
	fileLengths, functionLengths, err := measure(root)
	if err != nil {
		return err
	}
	if len(fileLengths) == 0 {
		return fmt.Errorf("no Go files under %s", root)
	}
	return errors.Join(files.check(fileLengths, out), functions.check(functionLengths, out))
}

// measure parses every hand-written Go file of the project under root.
func measure(root string) (files, functions []length, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && skipped(d.Name()):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		files = append(files, length{path, bytes.Count(source, []byte("\n"))})
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				from, to := set.Position(f.Pos()), set.Position(f.End())
				functions = append(functions, length{fmt.Sprintf("%s:%d: %s", path, from.Line, f.Name.Name), to.Line - from.Line + 1})
			}
		}
		return nil
	})
	return files, functions, err
}

// skipped reports whether a directory holds no code of the project; .ci does.
func skipped(name string) bool {
	return name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") && name != ".ci"
}

// check prints one line about lengths and returns an error if a limit is exceeded.
func (b budget) check(lengths []length, out io.Writer) error {
	slices.SortFunc(lengths, func(x, y length) int { return y.lines - x.lines })
	over := slices.IndexFunc(lengths, func(l length) bool { return l.lines <= b.most })
	if over < 0 {
		over = len(lengths)
	}
	fmt.Fprintf(out, "%s: %d, %d over %d lines, longest %d\n", b.what, len(lengths), over, b.most, longest(lengths))
	var errs []error
	for _, l := range lengths {
		if l.lines <= b.each {
			break
		}
		errs = append(errs, fmt.Errorf("%s has %d lines, at most %d are allowed", l.where, l.lines, b.each))
	}
	if over*10 > len(lengths) {
		err := fmt.Errorf("%d of %d %s have more than %d lines, one in ten may", over, len(lengths), b.what, b.most)
		for _, l := range lengths[:over] {
			err = fmt.Errorf("%w\n\t%s: %d", err, l.where, l.lines)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func longest(lengths []length) int {
	if len(lengths) == 0 {
		return 0
	}
	return lengths[0].lines
}
