package gbnf

import (
	"slices"
	"strings"

	"glossa/pkg/grammar/pushdown"
)

// recursion returns an error if a rule calls itself before it reads a byte.
func (c *compiler) recursion(p *pushdown.Program) error {
	const open, done = 1, 2
	state := make([]int, len(p.Rules))
	var path []*rule
	var visit func(id pushdown.ID) error
	visit = func(id pushdown.ID) error {
		in := c.pieces[id].in
		if state[id] == open {
			return leftRecursion(append(path, in))
		}
		if state[id] == done || p.Rules[id].Proc == nil {
			return nil
		}
		state[id] = open
		path = append(path, in)
		for _, call := range p.Rules[id].Proc.States[0].Calls {
			if err := visit(call.Rule); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		state[id] = done
		return nil
	}
	for id := range p.Rules {
		if err := visit(pushdown.ID(id)); err != nil {
			return err
		}
	}
	return nil
}

// leftRecursion returns the error of a path whose last rule occurs in it earlier.
func leftRecursion(path []*rule) error {
	last := path[len(path)-1]
	path = slices.Compact(path[slices.Index(path, last):])
	if len(path) > 8 {
		path = append(path[:7:7], last)
	}
	names := make([]string, len(path))
	for i, r := range path {
		names[i] = r.name
	}
	if len(names) == 1 {
		names = append(names, last.name)
	}
	return last.errorf("left recursion: rule %s begins with itself (%s)", last.name, strings.Join(names, " > "))
}
