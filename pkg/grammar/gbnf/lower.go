package gbnf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// compiler makes the rules of a program, the start first. No other rule matches the empty
// text: an optional call is an alternative to nothing. So every call reads a byte, and the
// first states show all left recursion.
type compiler struct {
	budget *automaton.Budget
	pieces []piece // source of each rule of the program
	ids    map[*node]pushdown.ID
	shared map[string]*automaton.DFA // by content

	at      *rule // contains the expression that is lowered
	divided bool  // split into several automata, because one would be too large
	total   int   // positions
	states  int
	retries int
}

// A piece is a node that became a rule of the program, and the rule that contains it.
type piece struct {
	*node
	in *rule
}

// program compiles root and its callees.
func (c *compiler) program(root *rule) (*pushdown.Program, error) {
	c.pieces = []piece{{root.body, root}}
	if !root.nullable { // else its callers call a rule without the empty text
		c.ids[root.body] = 0
	}
	p := &pushdown.Program{}
	for done := 0; done < len(c.pieces); done++ { // compile adds more
		r, err := c.compile(c.pieces[done])
		if err == nil && done > 0 {
			r, err = c.nonempty(r)
		}
		if err != nil {
			return nil, err
		}
		p.Rules = append(p.Rules, r)
	}
	if err := c.recursion(p); err != nil {
		return nil, err
	}
	return p, nil
}

// compile returns the rule of a piece, as a single automaton if possible.
func (c *compiler) compile(p piece) (pushdown.Rule, error) {
	c.at, c.divided = p.in, false
	if p.fits() {
		if err := c.countPositions(p.size); err != nil {
			return pushdown.Rule{}, err
		}
		d, err := c.budget.Compile(expression(p.node))
		if err == nil {
			return pushdown.Rule{Text: &pushdown.Text{DFA: c.share(d), Max: -1}}, c.countStates(len(d.States))
		}
		if c.retries++; !errors.Is(err, automaton.ErrTooLarge) || c.retries > maxRetries {
			return pushdown.Rule{}, p.in.failure(err)
		}
		c.divided = true
	}
	e, size := c.calls(p.node)
	if err := c.countPositions(size); err != nil {
		return pushdown.Rule{}, err
	}
	states, err := c.budget.CompileCalls(e)
	if err != nil {
		return pushdown.Rule{}, p.in.failure(err)
	}
	proc := &pushdown.Proc{}
	for _, s := range states {
		state := pushdown.ProcState{Edges: s.Edges, Accept: s.Accept}
		for _, call := range s.Calls {
			state.Calls = append(state.Calls, pushdown.Call{Rule: pushdown.ID(call.Symbol), Return: call.To})
		}
		proc.States = append(proc.States, state)
	}
	return pushdown.Rule{Proc: proc}, c.countStates(len(states))
}

// countStates charges states to the budget and the limit of a program.
func (c *compiler) countStates(states int) error {
	if c.states += states; c.states > maxStates {
		return c.at.failure(automaton.ErrTooLarge)
	}
	if err := c.budget.Spend(8*states, 64*states); err != nil {
		return c.at.failure(err)
	}
	return nil
}

// countPositions charges positions to the budget and the limit of a program.
func (c *compiler) countPositions(size int) error {
	if c.total += size; size > maxText || c.total > maxTotal {
		return c.at.failure(automaton.ErrTooLarge)
	}
	if err := c.budget.Spend(40*size, 200*size); err != nil {
		return c.at.failure(err)
	}
	return nil
}

// share returns one automaton for all equal automata: caches use pointers as keys.
func (c *compiler) share(d *automaton.DFA) *automaton.DFA {
	var key []byte
	for _, s := range d.States {
		accept := byte(0)
		if s.Accept {
			accept = 1
		}
		key = append(key, accept, byte(len(s.Edges)), byte(len(s.Edges)>>8))
		for _, e := range s.Edges {
			key = binary.LittleEndian.AppendUint32(append(key, e.Lo, e.Hi), uint32(e.To))
		}
	}
	if c.shared[string(key)] == nil {
		c.shared[string(key)] = d
	}
	return c.shared[string(key)]
}

// expression returns a regular node with its references expanded.
func expression(n *node) automaton.Expr {
	switch n.op {
	case literal:
		return automaton.Bytes(n.text)
	case class:
		return automaton.Class(n.set, automaton.UTF8)
	case reference:
		return expression(n.rule.body)
	case repetition:
		return automaton.Repeat(expression(n.of[0]), n.min, n.max)
	}
	of := make([]automaton.Expr, len(n.of))
	for i, child := range n.of {
		of[i] = expression(child)
	}
	if n.op == sequence {
		return automaton.Concat(of...)
	}
	return automaton.Alternate(of...)
}

// call returns the call of a node as a separate rule.
func (c *compiler) call(n *node, in *rule) automaton.Expr {
	if n.nullable {
		return automaton.Alternate(automaton.Concat(), c.callNonempty(n, in))
	}
	return c.callNonempty(n, in)
}

// callNonempty returns the call for the non-empty texts of a node.
func (c *compiler) callNonempty(n *node, in *rule) automaton.Expr {
	id, ok := c.ids[n]
	if !ok {
		id = pushdown.ID(len(c.pieces))
		c.ids[n], c.pieces = id, append(c.pieces, piece{n, in})
	}
	return automaton.Call(int32(id))
}

// calls expands a node that is not an automaton into calls, and returns its size.
func (c *compiler) calls(n *node) (automaton.Expr, int) {
	switch n.op {
	case reference:
		if n.rule.inline() {
			return expression(n.rule.body), n.size
		}
		return c.call(n.rule.body, n.rule), 1
	case sequence:
		return c.sequence(n.of)
	case alternatives:
		var all []automaton.Expr
		size := 0
		for _, child := range n.of {
			e, s := c.part(child)
			all, size = append(all, e), size+s
		}
		return automaton.Alternate(all...), size
	case repetition:
		times := max(n.min, n.max, 1)
		if n.of[0].nullable && times > maxEmpty { // at most that many non-empty texts
			return automaton.Repeat(c.callNonempty(n.of[0], c.at), 0, n.max), times
		}
		e, size := c.part(n.of[0])
		if size > 1 && size*times > maxBody {
			e, size = c.call(n.of[0], c.at), 1
		}
		return automaton.Repeat(e, n.min, n.max), size * times
	}
	return expression(n), n.size
}

// part expands a part of a node. An automaton with many characters becomes a call, so that
// its masks are cached.
func (c *compiler) part(n *node) (automaton.Expr, int) {
	if n.wide && n.fits() {
		return c.call(n, c.at), 1
	}
	return c.calls(n)
}

// sequence is calls of a sequence. It merges adjacent parts that fit into one automaton.
func (c *compiler) sequence(nodes []*node) (automaton.Expr, int) {
	var all []automaton.Expr
	size := 0
	add := func(n *node) {
		e, s := c.part(n)
		all, size = append(all, e), size+s
	}
	for len(nodes) > 0 {
		run := slices.IndexFunc(nodes, func(n *node) bool { return !n.regular || n.op == reference && !n.rule.inline() })
		if run < 0 {
			run = len(nodes)
		}
		if run > 1 && !c.divided {
			together := concat(nodes[:run]...)
			together.measure()
			if together.wide && together.fits() {
				add(together)
				nodes = nodes[run:]
				continue
			}
		}
		for _, n := range nodes[:max(run, 1)] {
			add(n)
		}
		nodes = nodes[max(run, 1):]
	}
	return automaton.Concat(all...), size
}

// nonempty returns the rule of the non-empty texts of r.
func (c *compiler) nonempty(r pushdown.Rule) (pushdown.Rule, error) {
	if r.Text != nil && r.Text.DFA.States[0].Accept {
		d, err := c.budget.Subtract(r.Text.DFA, automaton.Literals([]string{""}))
		if err != nil {
			return r, c.at.failure(err)
		}
		return pushdown.Rule{Text: &pushdown.Text{DFA: c.share(d), Max: -1}}, nil
	}
	if r.Proc != nil && r.Proc.States[0].Accept {
		// Edges to the first state lead to a copy of it, which accepts.
		first := r.Proc.States[0]
		states := append(r.Proc.States, pushdown.ProcState{Edges: slices.Clone(first.Edges), Calls: slices.Clone(first.Calls), Accept: true})
		states[0].Accept = false
		for _, s := range states {
			for i := range s.Edges {
				s.Edges[i].To = cmp.Or(s.Edges[i].To, int32(len(states)-1))
			}
			for i := range s.Calls {
				s.Calls[i].Return = cmp.Or(s.Calls[i].Return, int32(len(states)-1))
			}
		}
		return pushdown.Rule{Proc: &pushdown.Proc{States: states}}, nil
	}
	return r, nil
}
