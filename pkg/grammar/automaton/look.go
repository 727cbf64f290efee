package automaton

import "slices"

// look returns the place of a look-around that continues at next. Copies of a look-around
// share its body.
func (n *nfa) look(of *node, next int32) int32 {
	body, ok := n.bodies[of]
	switch {
	case ok:
	case of.behind:
		start := n.build(of.of[0], n.here)
		if !anchored(of.of[0], opBegin) {
			start = n.after(start)
		}
		body = int32(len(n.behinds)) // inner look-behinds have lower numbers
		n.behinds = append(n.behinds, start)
		n.bodies[of] = body
	default:
		body = n.build(of.of[0], n.met)
		n.bodies[of] = body
	}
	p := n.add(place{kind: ahead, not: of.not, symbol: body})
	if of.behind {
		n.places[p].kind = behind
	}
	n.leave(p, next)
	return p
}

// after returns the start of any characters followed by start.
func (n *nfa) after(start int32) int32 {
	loop := n.add(place{kind: passes})
	n.leave(loop, n.build(anyCharacter(), loop), start)
	return loop
}

// stringWithLooks returns the start of the content of a string with look-arounds, which it
// eliminates.
func (n *nfa) stringWithLooks(of *node) int32 {
	n.met, n.here = n.add(place{kind: met}), n.add(place{kind: here})
	n.ended = n.add(place{kind: ended})
	n.bodies, n.behinds = map[*node]int32{}, nil
	start := n.build(of.of[0], n.pass(final, n.last, n.anything()))
	if !anchored(of.of[0], opBegin) {
		start = n.after(start)
	}
	return n.resolve(start)
}

// contextual reports, for each place, whether a look-around or the start of the text is
// reachable from it. Other places mean the same in every context.
func (n *nfa) contextual() []bool {
	found := make([]bool, len(n.places))
	for changed := true; changed && n.err == nil; {
		changed = false
		n.err = n.budget.Spend(len(n.places)+len(n.edges)+len(n.exits), len(n.places))
		for i, p := range n.places { // successors precede places, except in loops
			if !found[i] && n.reaches(p, found) {
				found[i], changed = true, true
			}
		}
	}
	return found
}

// reaches reports whether p is contextual, given the places found so far.
func (n *nfa) reaches(p place, found []bool) bool {
	switch p.kind {
	case ahead, behind, begin:
		return true
	case reads, accept:
		return slices.ContainsFunc(n.edges[p.first:p.past], func(e Edge) bool { return found[e.To] })
	}
	return slices.ContainsFunc(n.exits[p.first:p.past], func(to int32) bool { return found[to] })
}

// looks reports whether e has look-arounds.
func looks(e Expr) bool {
	if e.n == nil {
		return false
	}
	if e.n.op == opLook {
		return true
	}
	for _, o := range e.n.of {
		if looks(o) {
			return true
		}
	}
	return false
}
