package calls

import (
	"slices"
	"sync"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// answer makes the states of a whole answer: a trie of bytes, in which calls share common
// prefixes.
func (b *builder) answer(syntax Syntax, tools []Tool, must, one bool) {
	start := b.state()
	opened := b.chain(start, syntax.Open)
	last := b.state() // after the arguments
	for i, tool := range tools {
		at := b.chain(opened, tool.Name+syntax.Arguments)
		b.states[at].Calls = []pushdown.Call{{Rule: b.tools[i], Return: last}}
	}
	last = b.chain(last, syntax.Close)
	b.states[last].Accept = true
	if !one {
		next := syntax.Between + syntax.Open
		at, end := b.chain(last, next[:len(next)-1]), next[len(next)-1]
		b.edge(at, end, end, opened)
	}
	if !must {
		b.text(start, syntax.Mark)
	}
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

// chain returns the state after text, and adds the missing part of the path.
func (b *builder) chain(at int32, text string) int32 {
	for _, c := range []byte(text) {
		i := slices.IndexFunc(b.states[at].Edges, func(e automaton.Edge) bool { return e.Lo <= c && c <= e.Hi })
		if i < 0 {
			to := b.state()
			b.edge(at, c, c, to)
			at = to
			continue
		}
		at = b.states[at].Edges[i].To
	}
	return at
}

// text adds the answers that deviate from the mark or end within it: these are text.
func (b *builder) text(start int32, mark string) {
	rest, end := b.state(), b.state()
	b.states[rest].Calls = []pushdown.Call{{Rule: b.rule(pushdown.Rule{Text: &pushdown.Text{DFA: anyText()}}), Return: end}}
	b.states[end].Accept = true
	more := []int32{rest, b.state(), b.state(), b.state()} // by the remaining bytes of a character
	for i := 1; i < len(more); i++ {
		b.edge(more[i], 0x80, 0xBF, more[i-1])
	}
	to := make([]int32, len(leads))
	for i, l := range leads {
		to[i] = more[l.more]
		if l.more > 0 && (l.lo != 0x80 || l.hi != 0xBF) {
			to[i] = b.state()
			b.edge(to[i], l.lo, l.hi, more[l.more-1])
		}
	}
	for i, at := 0, start; i < len(mark); i++ {
		b.states[at].Accept = true
		c := mark[i]
		if c > 0 {
			b.edge(at, 0, c-1, rest)
		}
		if c < 0x7F {
			b.edge(at, c+1, 0x7F, rest)
		}
		for k, l := range leads {
			b.edge(at, l.first, l.last, to[k])
		}
		at = b.chain(at, mark[i:i+1])
	}
}

// leads lists the first bytes of multi-byte characters with the number of bytes that follow;
// the first of these is between lo and hi (Unicode 16, table 3-7).
var leads = []struct {
	first, last byte
	more        int
	lo, hi      byte
}{
	{0xC2, 0xDF, 1, 0x80, 0xBF},
	{0xE0, 0xE0, 2, 0xA0, 0xBF},
	{0xE1, 0xEC, 2, 0x80, 0xBF},
	{0xED, 0xED, 2, 0x80, 0x9F},
	{0xEE, 0xEF, 2, 0x80, 0xBF},
	{0xF0, 0xF0, 3, 0x90, 0xBF},
	{0xF1, 0xF3, 3, 0x80, 0xBF},
	{0xF4, 0xF4, 3, 0x80, 0x8F},
}

// anyText accepts any text in UTF-8. All programs share it, so that its masks over a
// vocabulary are computed once.
var anyText = sync.OnceValue(func() *automaton.DFA {
	d := &automaton.DFA{States: make([]automaton.State, 4)} // by the number of remaining bytes
	d.States[0] = automaton.State{Accept: true, Edges: []automaton.Edge{{Hi: 0x7F}}}
	for i := 1; i < 4; i++ {
		d.States[i].Edges = []automaton.Edge{{Lo: 0x80, Hi: 0xBF, To: int32(i - 1)}}
	}
	for _, l := range leads {
		to := int32(l.more)
		if l.lo != 0x80 || l.hi != 0xBF {
			to = int32(len(d.States))
			d.States = append(d.States, automaton.State{Edges: []automaton.Edge{{Lo: l.lo, Hi: l.hi, To: int32(l.more - 1)}}})
		}
		d.States[0].Edges = append(d.States[0].Edges, automaton.Edge{Lo: l.first, Hi: l.last, To: to})
	}
	return d
})

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
