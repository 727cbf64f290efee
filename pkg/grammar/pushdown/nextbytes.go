package pushdown

import "math/bits"

// A byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

func (s *byteSet) addEdges(edges []edge) {
	for _, e := range edges {
		for b := int(e.Lo); b <= int(e.Hi); b++ {
			s.add(byte(b))
		}
	}
}

func lowest(w uint64) int { return bits.TrailingZeros64(w) }

// nextBytes returns the bytes that elements may read next. It may include bytes that
// they reject.
func (r *run) nextBytes(elements []element) (s byteSet) {
	for i := range elements {
		e := &elements[i]
		if e.rule == ended {
			continue
		}
		switch u := &r.m.rules[e.rule]; {
		case u.Text != nil:
			s.addEdges(u.Text.DFA.States[e.state].Edges)
		case u.Proc != nil:
			s.addEdges(u.Proc.States[e.state].Edges)
		case u.Array != nil:
			r.nextBytesOfArray(u.Array, e, &s)
		default:
			r.nextBytesOfObject(u, e, &s)
		}
	}
	return s
}

func (r *run) nextBytesOfArray(a *Array, e *element, s *byteSet) {
	switch e.state {
	case atStart:
		s.add('[')
	case atFirst:
		if a.Min <= 0 {
			s.add(']')
		}
	case afterOne:
		if int(e.reg) >= a.Min {
			s.add(']')
		}
		if item := a.item(e.reg); item >= 0 && !r.impassable(item) && (a.Max < 0 || int(e.reg) < a.Max) {
			s.add(',')
		}
	}
}

func (r *run) nextBytesOfObject(u *rule, e *element, s *byteSet) {
	switch {
	case e.state < 0:
		s.add(':')
		return
	case e.state == atStart:
		s.add('{')
		return
	}
	if (e.state == atFirst || e.state == afterOne) && r.mayEnd(u, e) {
		s.add('}')
	}
	if e.state == afterOne {
		if r.mayAny(u, e, 0) || u.object.mayExtra(u.Object, e.reg, e.count) {
			s.add(',')
		}
		return
	}
	n := &u.object.nodes[max(0, e.state-inKey)]
	for c := n.child; c < n.child+n.children; c++ {
		if r.mayAny(u, e, c) {
			s.add(u.object.nodes[c].b)
		}
	}
}
