package automaton

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A partition divides 0..n-1 into blocks. Members of a block can be marked and then split
// off (Valmari and Lehtinen 2008).
type partition struct {
	members    []int32 // block after block
	position   []int32 // by member: its index in members
	block      []int32 // by member
	start, end []int32 // by block: its range in members
	marked     []int32 // by block: how many are marked, at its front
	touched    []int32 // blocks with marked members
}

// newPartition makes blocks of equal keys. members must be sorted by key.
func newPartition(members []int32, key func(int32) int32) *partition {
	n := len(members)
	slab := make([]int32, 5*n)
	p := &partition{members: members, position: slab[:n:n], block: slab[n : 2*n : 2*n],
		start: slab[2*n : 2*n : 3*n], end: slab[3*n : 3*n : 4*n], marked: slab[4*n : 4*n : 5*n]}
	for i, m := range members {
		if i == 0 || key(m) != key(members[i-1]) {
			p.addBlock(int32(i), int32(i))
		}
		b := int32(len(p.start)) - 1
		p.position[m], p.block[m] = int32(i), b
		p.end[b]++
	}
	return p
}

func (p *partition) addBlock(first, past int32) {
	p.start, p.end, p.marked = append(p.start, first), append(p.end, past), append(p.marked, 0)
}

func (p *partition) of(b int) []int32 { return p.members[p.start[b]:p.end[b]] }

func (p *partition) mark(m int32) {
	b := p.block[m]
	i, j := p.position[m], p.start[b]+p.marked[b]
	if i < j {
		return
	}
	p.members[i], p.members[j] = p.members[j], m
	p.position[p.members[i]], p.position[m] = i, j
	if p.marked[b]++; p.marked[b] == 1 {
		p.touched = append(p.touched, b)
	}
}

// split makes new blocks of the marked members, or of the others if they are fewer.
func (p *partition) split() {
	for _, b := range p.touched {
		cut := p.start[b] + p.marked[b]
		less := p.marked[b] <= p.end[b]-cut
		p.marked[b] = 0
		switch {
		case cut == p.end[b]:
			continue
		case less:
			p.addBlock(p.start[b], cut)
			p.start[b] = cut
		default:
			p.addBlock(cut, p.end[b])
			p.end[b] = cut
		}
		z := len(p.start) - 1
		for _, m := range p.of(z) {
			p.block[m] = int32(z)
		}
	}
	p.touched = p.touched[:0]
}

// A move is an edge of one class of bytes, or an arc.
type move struct{ from, label, to int32 }

// refine sets the block of each state for which in is true. States of a block have the
// same texts, calls and marks. Edges from such states must lead to such states.
// It is Valmari's method for partial functions ("Fast brief practical DFA minimization",
// 2012): m log n steps for m moves. It returns the count of blocks.
func (g *graph) refine(in []bool, block []int32) int32 {
	states := newPartition(g.byKind(in))
	moves := g.labelled(in)
	all := make([]int32, len(moves))
	for i := range all {
		all[i] = int32(i)
	}
	cords := newPartition(all, func(m int32) int32 { return moves[m].label })
	into, ways := incoming(len(in), moves)
	_ = g.budget.Spend(8*len(moves), 40*len(moves)) // the next construction fails if the budget is spent
	for b, c := 1, 0; c < len(cords.start); c++ {
		if g.budget.Spend(6*len(cords.of(c)), 0) != nil {
			break // the caller reports it
		}
		for _, m := range cords.of(c) {
			states.mark(moves[m].from)
		}
		states.split()
		for ; b < len(states.start); b++ {
			marked := 0
			for _, s := range states.of(b) {
				for _, m := range ways[into[s]:into[s+1]] {
					cords.mark(m)
					marked++
				}
			}
			_ = g.budget.Spend(6*(len(states.of(b))+marked), 0)
			cords.split()
		}
	}
	for i := range in {
		if in[i] {
			block[i] = states.block[i]
		}
	}
	return int32(len(states.start))
}

// byKind returns all states, sorted by their kind, and the kind.
func (g *graph) byKind(in []bool) ([]int32, func(int32) int32) {
	kind := func(i int32) int32 {
		if !in[i] {
			return 4
		}
		return g.vertices[i].kind()
	}
	order := make([]int32, 0, len(in))
	for k := range int32(5) {
		for i := range int32(len(in)) {
			if kind(i) == k {
				order = append(order, i)
			}
		}
	}
	return order, kind
}

// labelled returns the moves of the states for which in is true, by label. Labels are
// classes of bytes that no edge separates, and after them symbols.
func (g *graph) labelled(in []bool) []move {
	class := g.classes()
	var start [258]int // by class: its first move
	each := func(f func(move)) {
		for i := range int32(len(in)) {
			if !in[i] {
				continue
			}
			for _, e := range g.edgesOf(i) {
				for c := class[e.Lo]; c <= class[e.Hi] && in[e.To]; c++ {
					f(move{i, c, e.To})
				}
			}
		}
	}
	each(func(m move) { start[m.label+1]++ })
	for c := 1; c < len(start); c++ {
		start[c] += start[c-1]
	}
	total := start[len(start)-1]
	moves := make([]move, total, total+len(g.arcs))
	each(func(m move) {
		moves[start[m.label]] = m
		start[m.label]++
	})
	for i := range int32(len(in)) {
		for _, a := range g.arcsOf(i) {
			if in[i] && in[a.To] {
				moves = append(moves, move{i, 257 + a.Symbol, a.To})
			}
		}
	}
	slices.SortFunc(moves[total:], func(a, b move) int { return cmp.Compare(a.label, b.label) })
	return moves
}

// classes returns the class of each byte, numbered from 0 in the order of bytes.
func (g *graph) classes() [256]int32 {
	var cuts [257]bool // before a byte
	for _, e := range g.edges {
		cuts[e.Lo], cuts[int(e.Hi)+1] = true, true
	}
	var class [256]int32
	for b := 1; b < 256; b++ {
		class[b] = class[b-1]
		if cuts[b] {
			class[b]++
		}
	}
	return class
}

// incoming returns the moves sorted by target, and by state the index of its first.
func incoming(n int, moves []move) (into, ways []int32) {
	into, ways = make([]int32, n+2), make([]int32, len(moves))
	for _, m := range moves {
		into[m.to+2]++
	}
	for i := 2; i < len(into); i++ {
		into[i] += into[i-1]
	}
	for i, m := range moves {
		ways[into[m.to+1]] = int32(i)
		into[m.to+1]++
	}
	return into, ways
}

// minimize returns the block of each live state. States that no cycle leads to need no
// refinement: visited from the last to the first, two are equal if they lead to the same
// blocks (Revuz 1992).
func (g *graph) minimize(live []bool) []int32 {
	block := make([]int32, len(live))
	peeled := g.peel(live)
	in := slices.Clone(live)
	for _, i := range peeled {
		in[i] = false
	}
	count := int32(0)
	same := make(map[string]int32, len(peeled)) // block by the signature of its states
	var key []byte
	if slices.Contains(in, true) {
		count = g.refine(in, block)
		known := make([]bool, count)
		for i := range int32(len(in)) {
			if in[i] && !known[block[i]] {
				known[block[i]] = true
				key = g.signature(key[:0], i, live, block)
				same[string(key)] = block[i]
			}
		}
	}
	for _, i := range slices.Backward(peeled) {
		key = g.signature(key[:0], i, live, block)
		b, ok := same[string(key)]
		if !ok {
			b = count
			count++
			same[string(key)] = b
		}
		block[i] = b
	}
	return block
}

// peel returns the live states that no cycle leads to, in topological order (Kahn 1962).
func (g *graph) peel(live []bool) []int32 {
	into := make([]int32, len(live))
	g.moves(func(from, to int32) {
		if live[from] && live[to] {
			into[to]++
		}
	})
	order := make([]int32, 0, len(live))
	if into[0] == 0 { // all others are reachable from the first
		order = append(order, 0)
	}
	leave := func(to int32) {
		if into[to]--; into[to] == 0 && live[to] {
			order = append(order, to)
		}
	}
	for n := 0; n < len(order); n++ {
		for _, e := range g.edgesOf(order[n]) {
			leave(e.To)
		}
		for _, a := range g.arcsOf(order[n]) {
			leave(a.To)
		}
	}
	return order
}

// signature appends the marks of state i and the target blocks of its edges and arcs.
func (g *graph) signature(key []byte, i int32, live []bool, block []int32) []byte {
	key = append(key, byte(g.vertices[i].kind()))
	last := -1 // the block of the last edge
	var hi byte
	for _, e := range g.edgesOf(i) {
		switch {
		case !live[e.To]:
			continue
		case last == int(block[e.To]) && hi+1 == e.Lo:
			key[len(key)-5] = e.Hi
		default:
			key = binary.LittleEndian.AppendUint32(append(key, e.Lo, e.Hi), uint32(block[e.To]))
		}
		last, hi = int(block[e.To]), e.Hi
	}
	for _, a := range g.arcsOf(i) {
		if live[a.To] { // 1, 0 is not an edge
			key = binary.LittleEndian.AppendUint32(append(key, 1, 0), uint32(a.Symbol))
			key = binary.LittleEndian.AppendUint32(key, uint32(block[a.To]))
		}
	}
	return key
}
