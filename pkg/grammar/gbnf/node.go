package gbnf

import (
	"fmt"

	"glossa/pkg/grammar/fault"
)

// A grammar is a parsed source.
type grammar struct {
	rules map[string]*rule
	root  *rule
	order []*rule // those that root needs, callees first except in cycles
}

type rule struct {
	name string
	line int   // of its definition; of its first use if there is none
	body *node // nil: not defined
	refs []*rule

	productive bool // some text matches it
	least      int  // estimate of the bytes of its shortest text; unbounded at first
	nullable   bool // the empty text matches it
	regular    bool // not recursive: one automaton may contain it with its references
	wide       bool // regular, with a choice of many characters
}

// inline reports whether references to r are expanded.
func (r *rule) inline() bool { return r.regular && !r.wide && r.body.size <= maxInline }

type op int8

const (
	literal op = iota
	class
	reference
	sequence
	alternatives
	repetition
)

// A node is an expression. It may be part of several others.
type node struct {
	op       op
	text     string  // of a literal
	set      []rune  // of a class: pairs of first and last, ascending
	rule     *rule   // of a reference
	of       []*node // of a sequence or alternatives; the one of a repetition
	min, max int     // of a repetition; max < 0: unbounded

	nullable bool
	regular  bool
	wide     bool // it contains a class of many characters, references not counted
	size     int  // positions
	depth    int
}

// concat returns the sequence of nodes. It flattens nested sequences.
func concat(nodes ...*node) *node {
	all := &node{op: sequence}
	for _, n := range nodes {
		if n.op == sequence {
			all.of = append(all.of, n.of...)
		} else {
			all.of = append(all.of, n)
		}
	}
	if len(all.of) == 1 {
		return all.of[0]
	}
	return all
}

func either(nodes ...*node) *node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &node{op: alternatives, of: nodes}
}

func errorAt(line int, format string, args ...any) error {
	return fault.New(fmt.Sprintf("line %d", line), "", format, args...)
}
