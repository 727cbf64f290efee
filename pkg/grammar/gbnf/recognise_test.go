package gbnf

import (
	"fmt"
	"unicode/utf8"

	"glossa/pkg/grammar/pushdown"
)

// A recogniser runs programs by exhaustive search: it computes the possible ends of the texts
// of a rule that begin at a place.
type recogniser struct {
	*pushdown.Program
	text string
	ends map[[2]int]map[int]bool // of a rule and a place
}

func match(p *pushdown.Program, text string) bool {
	r := &recogniser{p, text, map[[2]int]map[int]bool{}}
	return r.from(p.Start, 0)[len(text)]
}

func (r *recogniser) from(id pushdown.ID, at int) map[int]bool {
	key := [2]int{int(id), at}
	if known, ok := r.ends[key]; ok {
		if known == nil {
			panic("left recursion")
		}
		return known
	}
	r.ends[key] = nil
	ends := map[int]bool{}
	if t := r.Rules[id].Text; t != nil {
		state := int32(0)
		for i := at; state >= 0; i++ {
			if t.DFA.States[state].Accept {
				ends[i] = true
			}
			if i == len(r.text) {
				break
			}
			state = t.DFA.Next(state, r.text[i])
		}
	} else {
		r.proc(r.Rules[id].Proc, 0, at, ends, map[[2]int]bool{})
	}
	r.ends[key] = ends
	return ends
}

func (r *recogniser) proc(p *pushdown.Proc, state, at int, ends map[int]bool, seen map[[2]int]bool) {
	if key := [2]int{state, at}; seen[key] {
		return
	} else {
		seen[key] = true
	}
	s := p.States[state]
	if s.Accept {
		ends[at] = true
	}
	for _, e := range s.Edges {
		if at < len(r.text) && e.Lo <= r.text[at] && r.text[at] <= e.Hi {
			r.proc(p, int(e.To), at+1, ends, seen)
		}
	}
	for _, c := range s.Calls {
		for end := range r.from(c.Rule, at) {
			r.proc(p, int(c.Return), end, ends, seen)
		}
	}
}

// check returns an error if a program is malformed.
func check(p *pushdown.Program) error {
	for id, r := range p.Rules {
		start := pushdown.ID(id) == p.Start
		switch {
		case r.Text != nil && r.Proc == nil:
			if r.Text.DFA.States[0].Accept && !start {
				return fmt.Errorf("rule %d matches the empty text", id)
			}
		case r.Proc != nil && r.Text == nil:
			if r.Proc.States[0].Accept && !start {
				return fmt.Errorf("rule %d matches the empty text", id)
			}
			for _, s := range r.Proc.States {
				last := -1
				for _, e := range s.Edges {
					if int(e.Lo) <= last || e.Hi < e.Lo || int(e.To) >= len(r.Proc.States) {
						return fmt.Errorf("rule %d: edges %v", id, s.Edges)
					}
					last = int(e.Hi)
				}
				for _, c := range s.Calls {
					if int(c.Rule) >= len(p.Rules) || int(c.Return) >= len(r.Proc.States) {
						return fmt.Errorf("rule %d: calls %v", id, s.Calls)
					}
				}
			}
		default:
			return fmt.Errorf("rule %d is %+v", id, r)
		}
	}
	return nil
}

// A reader matches texts against the parsed nodes of a grammar, independently of the
// compiler.
type reader struct {
	text string
	ends map[reading]map[int]bool
}

type reading struct {
	*node
	at int
}

// reads reports whether g, which has no left recursion, matches text.
func reads(g *grammar, text string) bool {
	r := &reader{text, map[reading]map[int]bool{}}
	return r.from(g.root.body, 0)[len(text)]
}

func (r *reader) from(n *node, at int) map[int]bool {
	key := reading{n, at}
	if known, ok := r.ends[key]; ok {
		return known
	}
	ends := map[int]bool{}
	switch n.op {
	case literal:
		if end := at + len(n.text); end <= len(r.text) && r.text[at:end] == n.text {
			ends[end] = true
		}
	case class:
		c, size := utf8.DecodeRuneInString(r.text[at:])
		for i := 0; i < len(n.set); i += 2 {
			if n.set[i] <= c && c <= n.set[i+1] && (c != utf8.RuneError || size == 3) {
				ends[at+size] = true
			}
		}
	case reference:
		ends = r.from(n.rule.body, at)
	case sequence:
		ends[at] = true
		for _, child := range n.of {
			ends = r.after(ends, child)
		}
	case alternatives:
		for _, child := range n.of {
			for end := range r.from(child, at) {
				ends[end] = true
			}
		}
	case repetition:
		ends = r.repeated(n, at)
	}
	r.ends[key] = ends
	return ends
}

func (r *reader) after(ends map[int]bool, n *node) map[int]bool {
	next := map[int]bool{}
	for at := range ends {
		for end := range r.from(n, at) {
			next[end] = true
		}
	}
	return next
}

func (r *reader) repeated(n *node, at int) map[int]bool {
	ends, now := map[int]bool{}, map[int]bool{at: true}
	for i := 0; len(now) > 0; i++ {
		fresh := i <= n.min
		if i >= n.min {
			for end := range now {
				fresh = fresh || !ends[end]
				ends[end] = true
			}
		}
		if !fresh || i == n.max {
			break
		}
		now = r.after(now, n.of[0])
	}
	return ends
}
