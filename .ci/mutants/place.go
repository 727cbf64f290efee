package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A place is where a mutant changes a file.
type place struct {
	file     string
	source   []byte
	from, to int // bytes of source that are replaced
}

// with returns the file's source with text at the place.
func (p *place) with(text string) []byte {
	return slices.Concat(p.source[:p.from], []byte(text), p.source[p.to:])
}

// find returns the one place of m.Old in the declaration m.Function, in whatever file of
// the package that stands. White space and comments do not matter.
func (m *mutant) find() (*place, error) {
	names, err := filepath.Glob(filepath.Join(m.Package, "*.go"))
	if err != nil {
		return nil, err
	}
	var found []place
	declared := false
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range declarations(file, m.Function) {
			declared = true
			for _, span := range occurrences(source, d, file.FileStart, m.Old) {
				found = append(found, place{name, source, span[0], span[1]})
			}
		}
	}
	switch {
	case !declared:
		return nil, fmt.Errorf("%s declares no %s: the mutant needs a new place", m.Package, m.Function)
	case len(found) != 1:
		return nil, fmt.Errorf("%q is %d times in %s: the mutant needs a new place", m.Old, len(found), m.Function)
	}
	return &found[0], nil
}

// declarations returns the top-level declarations of a name in a file. A method's name is
// Type.Method.
func declarations(file *ast.File, name string) (list []ast.Node) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if functionName(d) == name {
				list = append(list, d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(id *ast.Ident) bool { return id.Name == name }) {
					list = append(list, v)
				}
			}
		}
	}
	return list
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr: // of a generic type
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// occurrences returns where declaration d has code that is old, in bytes of source.
func occurrences(source []byte, d ast.Node, base token.Pos, old string) (spans [][2]int) {
	start := int(d.Pos() - base)
	code, want := scan(source[start:int(d.End()-base)]), scan([]byte(old))
	for i := range len(code) - len(want) + 1 {
		part := code[i : i+len(want)]
		if len(want) == 0 || !slices.EqualFunc(part, want, func(a, b lexeme) bool { return a.text == b.text }) {
			continue
		}
		from, to := start+part[0].at, start+part[len(part)-1].end()
		if whole(d, base+token.Pos(from), base+token.Pos(to)) {
			spans = append(spans, [2]int{from, to})
		}
	}
	return spans
}

// whole reports whether the code between two positions is an expression, a statement,
// another node of the syntax, or several that follow each other in one.
func whole(d ast.Node, from, to token.Pos) bool {
	begins, ends := map[ast.Node]bool{}, map[ast.Node]bool{} // by parent
	found := false
	ast.PreorderStack(d, nil, func(n ast.Node, parents []ast.Node) bool {
		if len(parents) > 0 {
			parent := parents[len(parents)-1]
			begins[parent] = begins[parent] || n.Pos() == from
			ends[parent] = ends[parent] || n.End() == to
			found = found || begins[parent] && ends[parent]
		}
		return !found && n.Pos() <= from && to <= n.End()
	})
	return found
}

// A lexeme is a token of Go as it is written.
type lexeme struct {
	text string
	at   int // byte
}

func (l lexeme) end() int { return l.at + len(l.text) }

// scan splits source into lexemes. It leaves out comments, and the semicolons and commas
// that gofmt adds or removes with a line's end.
func scan(source []byte) (list []lexeme) {
	positions := token.NewFileSet()
	file := positions.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if n := len(list); n > 0 {
			last := list[n-1].text
			if last == ";" && (tok == token.EOF || tok == token.RBRACE || tok == token.RPAREN) ||
				last == "," && (tok == token.RBRACE || tok == token.RPAREN || tok == token.RBRACK) {
				list = list[:n-1]
			}
		}
		if tok == token.EOF {
			return list
		}
		if !tok.IsLiteral() && !tok.IsKeyword() {
			text = tok.String() // of a line's end, a semicolon
		}
		list = append(list, lexeme{text, file.Offset(pos)})
	}
}
