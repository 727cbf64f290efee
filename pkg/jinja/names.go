package jinja

import (
	"maps"
	"slices"
)

// Names is what a template mentions.
type Names struct {
	// Variables are the names that the template reads without having bound them before: variables of the caller and
	// globals such as strftime_now. Sorted.
	Variables []string
	// Attributes are the names after a dot and the strings in brackets and in the method get. Sorted.
	Attributes []string
}

// Variable reports whether the template reads a variable.
func (n Names) Variable(name string) bool {
	_, ok := slices.BinarySearch(n.Variables, name)
	return ok
}

// Attribute reports whether the template mentions an attribute or a key.
func (n Names) Attribute(name string) bool {
	_, ok := slices.BinarySearch(n.Attributes, name)
	return ok
}

// A scanner collects names while the parser runs.
type scanner struct {
	scopes     []map[string]bool
	variables  map[string]bool
	attributes map[string]bool
}

func newScanner() *scanner {
	return &scanner{scopes: []map[string]bool{{}}, variables: map[string]bool{}, attributes: map[string]bool{}}
}

func (s *scanner) push()            { s.scopes = append(s.scopes, map[string]bool{}) }
func (s *scanner) bind(name string) { s.scopes[len(s.scopes)-1][name] = true }

// pop closes the innermost scope and returns what it bound.
func (s *scanner) pop() map[string]bool {
	last := len(s.scopes) - 1
	scope := s.scopes[last]
	s.scopes = s.scopes[:last]
	return scope
}

// bindCommon binds the names that all branches bound.
func (s *scanner) bindCommon(branches []map[string]bool) {
	for name := range branches[0] {
		if !slices.ContainsFunc(branches, func(b map[string]bool) bool { return !b[name] }) {
			s.bind(name)
		}
	}
}

// outside runs f in the scope around the innermost.
func (s *scanner) outside(f func()) {
	last := len(s.scopes) - 1
	inner := s.scopes[last]
	s.scopes = s.scopes[:last]
	f()
	s.scopes = append(s.scopes, inner)
}

func (s *scanner) bindTarget(p *parser, t target) {
	switch {
	case t.tuple:
		for _, part := range t.parts {
			s.bindTarget(p, part)
		}
	case t.attr == "":
		s.bind(p.names[t.slot])
	}
}

func (s *scanner) read(name string) {
	for _, scope := range s.scopes {
		if scope[name] {
			return
		}
	}
	s.variables[name] = true
}

func (s *scanner) attribute(name string) { s.attributes[name] = true }

func (s *scanner) names() Names {
	return Names{slices.Sorted(maps.Keys(s.variables)), slices.Sorted(maps.Keys(s.attributes))}
}
