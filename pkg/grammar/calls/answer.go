package calls

import (
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// answer makes the states of a whole answer: text, as texts of automata, and calls, as a trie
// of bytes in which they share common prefixes.
func (b *builder) answer(syntax *Syntax, tools []Tool, form Form) error {
	start := b.state()
	calls := start
	switch {
	case form.Must:
	case syntax.Text != "" || form.Text != nil:
		if err := b.only(b.chain(start, syntax.Text), form.Text); err != nil {
			return err
		}
	default:
		calls = b.state()
		if err := b.text(start, calls, syntax); err != nil {
			return err
		}
	}
	opened := b.chain(calls, syntax.Begin())
	last := b.state() // after the arguments
	for _, head := range syntax.Heads() {
		b.names(b.chain(calls, head.Call), last, head.Middle, tools)
	}
	if strings.HasPrefix(syntax.Text, syntax.Begin()) { // no text may follow a call
		opened = b.state()
		b.names(opened, last, syntax.Middle, tools)
	}
	last = b.chain(last, syntax.End)
	b.states[b.chain(last, syntax.Close)].Accept = true
	switch next := syntax.Between + syntax.Call; {
	case form.One || syntax.One:
	case strings.HasPrefix(syntax.Close, next): // a path of its own would have the same bytes
		at := b.chain(last, next)
		b.states[at].Calls = append(b.states[at].Calls, b.reads(automaton.Literal(""), opened))
	default:
		b.join(last, next, opened)
	}
	return nil
}

// names adds the names of tools and their arguments to a state.
func (b *builder) names(from, to int32, middle string, tools []Tool) {
	for i, tool := range tools {
		at := b.chain(from, tool.Name+middle)
		b.states[at].Calls = []pushdown.Call{{Rule: b.tools[i], Return: to}}
	}
}

// only adds the texts of a program, nil for any, which end the answer, to a state.
func (b *builder) only(at int32, p *pushdown.Program) error {
	end := b.state()
	b.states[end].Accept = true
	if p == nil {
		b.states[at].Calls = []pushdown.Call{b.reads(automaton.Text(), end)}
		return nil
	}
	start, err := b.include(p)
	b.states[at].Calls = []pushdown.Call{{Rule: start, Return: end}}
	return err
}

// text adds the texts that are not calls, to start. Those before calls lead to the state
// after the trigger.
func (b *builder) text(start, calls int32, syntax *Syntax) error {
	end := b.state()
	b.states[end].Accept = true
	if !syntax.Anywhere {
		only, err := b.budget.Subtract(automaton.Text(), automaton.Starting(syntax.Trigger))
		if err != nil {
			return err
		}
		b.states[start].Calls = []pushdown.Call{b.reads(only, end), b.reads(automaton.Literal(syntax.Trigger), b.chain(calls, syntax.Trigger))}
		return nil
	}
	only, err := b.budget.Without(automaton.Text(), syntax.Trigger)
	if err != nil {
		return err
	}
	before, err := b.budget.Until(automaton.Text(), syntax.Trigger)
	if err != nil {
		return err
	}
	b.states[start].Calls = []pushdown.Call{b.reads(only, end), b.reads(before, b.chain(calls, syntax.Trigger))}
	return nil
}

// reads returns the call of a new rule that reads the texts of an automaton.
func (b *builder) reads(d *automaton.DFA, to int32) pushdown.Call {
	return pushdown.Call{Rule: b.rule(pushdown.Rule{Text: &pushdown.Text{DFA: d}}), Return: to}
}

func (b *builder) state() int32 {
	b.states = append(b.states, pushdown.ProcState{})
	return int32(len(b.states) - 1)
}

// edge adds an edge whose bytes no other edge of the state reads.
func (b *builder) edge(from int32, lo, hi byte, to int32) {
	edges := b.states[from].Edges
	at, _ := slices.BinarySearchFunc(edges, lo, func(e automaton.Edge, lo byte) int { return int(e.Lo) - int(lo) })
	b.states[from].Edges = slices.Insert(edges, at, automaton.Edge{Lo: lo, Hi: hi, To: to})
}

// join adds a path of a text, which is not empty, from a state to another.
func (b *builder) join(from int32, text string, to int32) {
	last := text[len(text)-1]
	b.edge(b.chain(from, text[:len(text)-1]), last, last, to)
}

// chain returns the state after text, and adds the missing part of the path.
func (b *builder) chain(at int32, text string) int32 {
	for _, c := range []byte(text) {
		to := automaton.Next(b.states[at].Edges, c)
		if to < 0 {
			to = b.state()
			b.edge(at, c, c, to)
		}
		at = to
	}
	return at
}

// shift returns a copy of a rule with by added to the ids of its callees.
func shift(r *pushdown.Rule, by pushdown.ID) pushdown.Rule {
	raise := func(ids []pushdown.ID) []pushdown.ID {
		out := slices.Clone(ids)
		for i := range out {
			out[i] += by
		}
		return out
	}
	s := pushdown.Rule{Text: r.Text, Any: raise(r.Any)}
	switch {
	case r.Array != nil:
		a := *r.Array
		a.Prefix = raise(a.Prefix)
		if a.Items >= 0 {
			a.Items += by
		}
		s.Array = &a
	case r.Object != nil:
		o := *r.Object
		o.Props, o.Extra = slices.Clone(o.Props), slices.Clone(o.Extra)
		for i := range o.Props {
			o.Props[i].Value += by
		}
		for i := range o.Extra {
			o.Extra[i].Key += by
			o.Extra[i].Value += by
		}
		s.Object = &o
	case r.Proc != nil:
		s.Proc = &pushdown.Proc{States: slices.Clone(r.Proc.States), Unique: r.Proc.Unique}
		for i, state := range s.Proc.States {
			s.Proc.States[i].Calls = slices.Clone(state.Calls)
			for c := range state.Calls {
				s.Proc.States[i].Calls[c].Rule += by
			}
		}
	}
	return s
}
