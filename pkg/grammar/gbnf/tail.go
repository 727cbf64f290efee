package gbnf

import "slices"

// unwind turns tail recursion into a loop:
//
//	ws ::= ([ \t] ws)?   becomes   ws ::= [ \t]*
//
// so that one automaton can contain the rule.
func (r *rule) unwind() {
	if !slices.Contains(r.refs, r) {
		return
	}
	recursive, ends, ok := r.split(r.body)
	if !ok || slices.ContainsFunc(recursive, (*node).empty) { // the latter is left recursion
		return
	}
	loop := &node{op: repetition, of: []*node{either(recursive...)}, max: -1}
	r.body = concat(loop, either(ends...))
	r.refs = slices.DeleteFunc(r.refs, func(to *rule) bool { return to == r })
}

// split returns n as alternatives: recursive has the prefixes of those that end with a call of r,
// ends those without a call of r. ok is false if a call of r is elsewhere.
func (r *rule) split(n *node) (recursive, ends []*node, ok bool) {
	if !n.mentions(r) {
		return nil, []*node{n}, true
	}
	switch {
	case n.op == reference:
		return []*node{{op: sequence}}, nil, true
	case n.op == repetition && n.min == 0 && n.max == 1:
		recursive, ends, ok = r.split(n.of[0])
		return recursive, append(ends, &node{op: sequence}), ok
	case n.op == alternatives:
		for _, child := range n.of {
			a, e, ok := r.split(child)
			if !ok {
				return nil, nil, false
			}
			recursive, ends = append(recursive, a...), append(ends, e...)
		}
		return recursive, ends, true
	case n.op == sequence:
		last := len(n.of) - 1
		before := concat(n.of[:last]...)
		if before.mentions(r) {
			return nil, nil, false
		}
		if recursive, ends, ok = r.split(n.of[last]); !ok {
			return nil, nil, false
		}
		for i := range recursive {
			recursive[i] = concat(before, recursive[i])
		}
		for i := range ends {
			ends[i] = concat(before, ends[i])
		}
		return recursive, ends, true
	}
	return nil, nil, false
}

func (n *node) mentions(r *rule) bool {
	return n.op == reference && n.rule == r || slices.ContainsFunc(n.of, func(c *node) bool { return c.mentions(r) })
}
