package automaton

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// A CallState is a state that may also call symbols.
type CallState struct {
	State
	Calls []Arc // by Symbol, each once
}

// An Arc leads from one state to another by a text of its symbol.
type Arc struct{ Symbol, To int32 }

// Compile returns the automaton of e, which must not have calls.
func Compile(e Expr) (*DFA, error) { return (*Budget)(nil).Compile(e) }

// Compile is [Compile] within a budget.
func (budget *Budget) Compile(e Expr) (*DFA, error) {
	g, err := budget.determine(e)
	if err != nil {
		return nil, err
	}
	if len(g.arcs) > 0 {
		return nil, fmt.Errorf("an expression with calls cannot become a DFA")
	}
	return g.dfa()
}

// CompileCalls returns the states of e, beginning with the start. They are deterministic
// for bytes and for symbols, but a state may have both edges and calls.
func CompileCalls(e Expr) ([]CallState, error) { return (*Budget)(nil).CompileCalls(e) }

// CompileCalls is [CompileCalls] within a budget.
func (budget *Budget) CompileCalls(e Expr) ([]CallState, error) {
	g, err := budget.determine(e)
	if err != nil {
		return nil, err
	}
	return g.states()
}

// must returns d. It panics if err is not nil: callers know that the automaton is small.
func must(d *DFA, err error) *DFA {
	if err != nil {
		panic(err)
	}
	return d
}

func (budget *Budget) determine(e Expr) (*graph, error) {
	n := &nfa{budget: budget}
	start := n.build(e, n.add(place{kind: accept, symbol: noSymbol}))
	if n.err != nil {
		return nil, n.err
	}
	return n.subsets([]int32{start})
}

// subsets is a subset construction (Rabin and Scott 1959): each state is a set of places.
type subsets struct {
	*nfa
	g         *graph
	members   []int32          // set after set: places that read or accept, in order
	past      []int32          // the end of each state in members
	number    map[string]int32 // the state of each set of several places, by its bytes
	ofPlace   []int32          // 1 + the state of each set of one place, by place
	ofClosure []int32          // 1 + the state of the closure of each place

	seen, ends []int32   // by place: the mark of the last closure that reached it
	top        []highest // by chain
	mark, work int
	stack, set []int32
	key        []byte
	out, open  []Edge     // the edges of a set, and those that a byte may take
	from       [256]int32 // by byte: 1 + the last edge in out that begins with it
	previous   []int32    // by edge in out: 1 + the previous one that begins with the same byte
	calls      []Arc
	goal       []int32
}

// highest is the highest rank of a chain in the closure with a mark.
type highest struct{ rank, mark int32 }

// subsets returns the deterministic automaton from any of the places of start.
func (n *nfa) subsets(start []int32) (*graph, error) {
	size := len(n.places)
	slab := make([]int32, 4*size)
	s := &subsets{nfa: n, g: &graph{budget: n.budget}, number: map[string]int32{}, members: make([]int32, 0, size),
		ofClosure: slab[:size], ofPlace: slab[size : 2*size], seen: slab[2*size : 3*size], ends: slab[3*size:]}
	if n.ranked {
		s.top = make([]highest, size)
	}
	s.state(start)
	for i, first := 0, int32(0); i < len(s.past); i++ {
		past := s.past[i]
		s.expand(s.members[first:past])
		if s.err != nil {
			return nil, s.err
		}
		first = past
	}
	return s.g, nil
}

// spend counts steps and bytes. It reports whether the bounds allow more.
func (s *subsets) spend(steps, bytes int) bool {
	s.work += steps
	err := s.budget.Spend(steps, bytes)
	if s.err == nil && (len(s.past) > maxStates || s.work > maxWork) {
		err = fmt.Errorf("more than %d states or %d steps: %w", maxStates, maxWork, ErrTooLarge)
	}
	if s.err == nil {
		s.err = err
	}
	return s.err == nil
}

// expand adds the edges of the next state, whose set is given.
func (s *subsets) expand(set []int32) {
	s.out, s.calls = s.out[:0], s.calls[:0]
	v := vertex{}
	readers := 0
	for _, p := range set {
		at := &s.places[p]
		v.content = v.content || at.content
		v.accept = v.accept || at.kind == accept
		switch {
		case at.symbol != noSymbol:
			s.calls = append(s.calls, Arc{at.symbol, at.first})
		case at.past > at.first:
			readers++
			s.out = append(s.out, s.edges[at.first:at.past]...)
		}
	}
	s.g.begin(v)
	if readers > 1 {
		s.segments()
	} else {
		for _, e := range s.out {
			s.g.edge(e.Lo, e.Hi, s.closureState(e.To))
		}
	}
	s.arcs()
	s.spend(4+len(set)+len(s.out), 32+8*(len(s.g.edges)-int(s.g.vertices[len(s.g.vertices)-1].edge)))
}

// linearEdges is the most edges of a set that segments scans for each segment.
const linearEdges = 32

// segments adds the edges of a set: one for each range of bytes that no edge of out splits.
func (s *subsets) segments() {
	var at cuts
	at.edges(s.out)
	few := len(s.out) <= linearEdges
	if !few {
		s.begins()
	}
	lo := -1
	for w, word := range at {
		for ; word != 0; word &= word - 1 {
			hi := w<<6 | bits.TrailingZeros64(word)
			if lo >= 0 && few {
				s.segment(byte(lo), byte(hi-1), s.out)
			} else if lo >= 0 {
				s.reopen(byte(lo))
				s.segment(byte(lo), byte(hi-1), s.open)
			}
			lo = hi
		}
	}
}

// begins lists the edges of out by their first byte.
func (s *subsets) begins() {
	s.previous, s.open = s.previous[:0], s.open[:0]
	for i, e := range s.out {
		s.previous = append(s.previous, s.from[e.Lo])
		s.from[e.Lo] = int32(i) + 1
	}
}

// reopen drops the open edges that end before lo and adds those that begin at lo.
func (s *subsets) reopen(lo byte) {
	kept := s.open[:0]
	for _, e := range s.open {
		if e.Hi >= lo {
			kept = append(kept, e)
		}
	}
	for i := s.from[lo]; i != 0; i = s.previous[i-1] {
		kept = append(kept, s.out[i-1])
	}
	s.open, s.from[lo] = kept, 0
}

func (s *subsets) segment(lo, hi byte, of []Edge) {
	s.goal = s.goal[:0]
	for _, e := range of {
		if e.Lo <= lo && hi <= e.Hi {
			s.goal = append(s.goal, e.To)
		}
	}
	if !s.spend(len(of), 0) {
		return
	}
	switch len(s.goal) {
	case 0:
	case 1:
		s.g.edge(lo, hi, s.closureState(s.goal[0]))
	default:
		s.g.edge(lo, hi, s.state(s.goal))
	}
}

// arcs adds the calls of a state.
func (s *subsets) arcs() {
	slices.SortFunc(s.calls, func(a, b Arc) int { return int(a.Symbol) - int(b.Symbol) })
	for i := 0; i < len(s.calls); {
		symbol := s.calls[i].Symbol
		s.goal = s.goal[:0]
		for ; i < len(s.calls) && s.calls[i].Symbol == symbol; i++ {
			s.goal = append(s.goal, s.calls[i].To)
		}
		s.g.arc(symbol, s.state(s.goal))
	}
}

// closureState returns the state of the closure of a place.
func (s *subsets) closureState(p int32) int32 {
	if s.ofClosure[p] == 0 {
		s.goal = append(s.goal[:0], p)
		s.ofClosure[p] = s.state(s.goal) + 1
	}
	return s.ofClosure[p] - 1
}

// state returns the state of the closure of places.
func (s *subsets) state(places []int32) int32 {
	work := s.work
	s.closure(places)
	work, s.work = s.work-work, work
	if !s.spend(work+4*len(s.set), 0) {
		return 0
	}
	if len(s.set) == 1 {
		p := s.set[0]
		if s.ofPlace[p] == 0 {
			s.ofPlace[p] = s.create() + 1
		}
		return s.ofPlace[p] - 1
	}
	slices.Sort(s.set)
	s.key = s.key[:0]
	for _, p := range s.set {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(p))
	}
	i, ok := s.number[string(s.key)]
	if !ok {
		i = s.create()
		s.number[string(s.key)] = i
		s.spend(8, 64+12*len(s.set))
	}
	return i
}

// create makes a state of the set.
func (s *subsets) create() int32 {
	s.members = append(s.members, s.set...)
	s.past = append(s.past, int32(len(s.members)))
	return int32(len(s.past)) - 1
}

// closure sets s.set to the places that read or accept and are reachable without a byte.
func (s *subsets) closure(from []int32) {
	s.mark++
	mark := int32(s.mark)
	first := len(from) == 1 && s.places[from[0]].kind == enter
	s.set, s.stack = s.set[:0], append(s.stack[:0], from...)
	for len(s.stack) > 0 {
		p := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if s.seen[p] == mark {
			continue
		}
		s.seen[p] = mark
		s.work++
		at := &s.places[p]
		switch at.kind {
		case reads, accept:
			s.set = append(s.set, p)
			continue
		case begin:
			if !first {
				continue
			}
		case end:
			if last := s.ending(s.exits[at.first], first); last >= 0 {
				s.stack = append(s.stack, last)
			}
			continue
		case anyEnd: // it matches whatever the other places match
			s.set, s.stack = s.set[:0], s.stack[:0]
			s.mark++
			mark = int32(s.mark)
			s.seen[p] = mark
		}
		s.stack = append(s.stack, s.exits[at.first:at.past]...)
		if at.kind == anyEnd {
			s.finish(mark)
			return
		}
	}
	if s.ranked && len(s.set) > 1 {
		s.prune(mark)
	}
}

// prune keeps only the highest place of each chain.
func (s *subsets) prune(mark int32) {
	s.work += len(s.set)
	for _, p := range s.set {
		if at := &s.places[p]; at.chain != 0 {
			if top := &s.top[at.chain]; top.mark != mark || top.rank < at.rank {
				*top = highest{at.rank, mark}
			}
		}
	}
	s.set = slices.DeleteFunc(s.set, func(p int32) bool {
		at := &s.places[p]
		return at.chain != 0 && at.rank < s.top[at.chain].rank
	})
}

// finish ends a closure at anyEnd. All its exits read.
func (s *subsets) finish(mark int32) {
	for _, p := range s.stack {
		if s.seen[p] != mark {
			s.seen[p] = mark
			s.set = append(s.set, p)
		}
	}
}

// ending returns the closing quote of the string if its final is reachable from p without
// a byte, or else -1. If first is set, the text so far is empty.
func (s *subsets) ending(p int32, first bool) int32 {
	s.mark++
	mark := int32(s.mark)
	stack := []int32{p}
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := &s.places[p]
		if s.ends[p] == mark {
			continue
		}
		s.ends[p] = mark
		s.work++
		switch {
		case at.kind == final:
			return s.exits[at.first]
		case at.kind == passes, at.kind == end, at.kind == begin && first:
			stack = append(stack, s.exits[at.first:at.past]...)
		}
	}
	return -1
}
