package gbnf

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
)

// check returns the first error in the rules. Rules that root does not need are checked only
// for references to undefined rules.
func (g *grammar) check(budget *automaton.Budget, size int) error {
	if g.root == nil || g.root.body == nil {
		return errorAt(1, "the rule root is missing")
	}
	rules := slices.SortedFunc(maps.Values(g.rules), func(a, b *rule) int { return cmp.Or(a.line-b.line, strings.Compare(a.name, b.name)) })
	for _, r := range rules {
		if r.body == nil {
			return r.errorf("rule %s is not defined", r.name)
		}
		r.refs = slices.Compact(slices.SortedFunc(maps.Keys(r.body.references(map[*rule]bool{})), func(a, b *rule) int { return strings.Compare(a.name, b.name) }))
	}
	g.sort()
	for changed := true; changed; {
		if err := budget.Spend(2*size, 0); err != nil {
			return errorAt(g.root.line, "%v", err)
		}
		changed = false
		for _, r := range g.order {
			if !r.productive && r.body.productive() {
				r.productive, changed = true, true
			}
			if !r.nullable && r.body.empty() {
				r.nullable, changed = true, true
			}
			if n := r.body.least(); n < r.least {
				r.least, changed = n, true
			}
		}
	}
	for _, r := range rules {
		if slices.Contains(g.order, r) && !r.productive {
			return r.errorf("no text matches rule %s: it never ends", r.name)
		}
	}
	if g.root.least > maxLeast {
		at := slices.IndexFunc(g.order, func(r *rule) bool { return r.least > maxLeast }) // callees come first
		return g.order[at].errorf("the shortest text of rule %s exceeds the limit of %d bytes", g.order[at].name, maxLeast)
	}
	return nil
}

// unbounded is more bytes than any text has. Its product with maxCount does not overflow.
const unbounded = 1 << 32

// least returns the bytes of the shortest text of n, given the current values of rules.
func (n *node) least() (bytes int) {
	switch n.op {
	case literal:
		return len(n.text)
	case class:
		return 1
	case reference:
		return n.rule.least
	case alternatives:
		bytes = unbounded
		for _, child := range n.of {
			bytes = min(bytes, child.least())
		}
		return bytes
	case repetition:
		if n.min == 0 {
			return 0
		}
		return min(unbounded, n.min*n.of[0].least())
	}
	for _, child := range n.of {
		bytes = min(unbounded, bytes+child.least())
	}
	return bytes
}

// references adds the rules that n refers to.
func (n *node) references(to map[*rule]bool) map[*rule]bool {
	if n.op == reference {
		to[n.rule] = true
	}
	for _, child := range n.of {
		child.references(to)
	}
	return to
}

// productive reports whether some text matches n, given the current values of rules.
func (n *node) productive() bool {
	switch n.op {
	case reference:
		return n.rule.productive
	case sequence:
		return !slices.ContainsFunc(n.of, func(c *node) bool { return !c.productive() })
	case alternatives:
		return slices.ContainsFunc(n.of, (*node).productive)
	case repetition:
		return n.min == 0 || n.of[0].productive()
	}
	return true
}

// empty reports whether the empty text matches n, given the current values of rules.
func (n *node) empty() bool {
	switch n.op {
	case literal:
		return n.text == ""
	case reference:
		return n.rule.nullable
	case sequence:
		return !slices.ContainsFunc(n.of, func(c *node) bool { return !c.empty() })
	case alternatives:
		return slices.ContainsFunc(n.of, (*node).empty)
	case repetition:
		return n.min == 0 || n.max == 0 || n.of[0].empty()
	}
	return false
}

// sort computes g.order.
func (g *grammar) sort() {
	g.order = nil
	seen := map[*rule]bool{}
	var visit func(r *rule)
	visit = func(r *rule) {
		if seen[r] {
			return
		}
		seen[r] = true
		for _, to := range r.refs {
			visit(to)
		}
		g.order = append(g.order, r)
	}
	visit(g.root)
}

// measure computes the properties of r and its body. Rules are measured in g.order: in a
// cycle of references, the first rule refers to a rule that was not measured yet and so is
// not regular, and neither are the others, each of which refers to an earlier one.
func (r *rule) measure() {
	r.body.measure()
	r.regular = r.body.fits()
	r.wide = r.body.wide || slices.ContainsFunc(r.refs, func(to *rule) bool { return to.wide })
}

// fits reports whether one automaton may hold n.
func (n *node) fits() bool { return n.regular && n.size <= maxText && n.depth <= maxDepth }

func (n *node) measure() {
	for _, child := range n.of {
		child.measure()
	}
	n.nullable, n.regular, n.wide, n.size, n.depth = n.empty(), true, false, 1, 1
	switch n.op {
	case literal:
		n.size = len(n.text)
		return
	case class:
		n.measureSet()
		return
	case reference:
		if n.regular = n.rule.regular; n.regular {
			n.size, n.depth = n.rule.body.size, n.rule.body.depth+1
		}
		return
	}
	for _, child := range n.of {
		n.regular = n.regular && child.regular
		n.wide = n.wide || child.wide
		n.size = min(n.size+child.size, maxTotal+1)
		n.depth = max(n.depth, child.depth+1)
	}
	if n.op == repetition {
		times := max(n.min, n.max, 1)
		if n.of[0].nullable && times > maxEmpty {
			times *= times // each of them may reach all that follow directly
		}
		n.size = min(n.of[0].size*times, maxTotal+1)
	}
}

// many is the number of characters from which on a state that allows one of them allows
// most tokens of a vocabulary.
const many = 256

func (n *node) measureSet() {
	n.size = 0
	characters := 0
	for i := 0; i < len(n.set); i += 2 {
		characters += int(n.set[i+1]-n.set[i]) + 1
		n.size++
		if n.set[i+1] >= 0x80 {
			n.size += 7 // an estimate: a range is a few sequences of up to 4 bytes
		}
	}
	n.wide = characters > many
}
