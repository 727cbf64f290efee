package automaton

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A pattern with look-arounds is an alternating automaton (Chandra, Kozen and Stockmeyer
// 1981): a match is a path through the pattern whose look-arounds all hold. This file
// makes it nondeterministic. It pairs each place with the condition that the look-aheads on
// the path put on the rest of the text, and with the states of all look-behinds. Both
// change deterministically with each byte.

// A prefix holds the states of all look-behinds after some text.
type prefix struct {
	id      int32 // -1 while behinds is incomplete
	first   bool  // the position is the start of the text
	behinds []int32
	moves   []Edge // to prefixes; nil until first needed
}

// A config is a place with its condition and prefix.
type config struct{ place, cond, prefix int32 }

// A transition of a set depends on the prefix after the byte.
type transition struct {
	set, prefix int32
	from        byte // the first byte of a range with equal moves
}

// An alternation replaces configurations by places without look-arounds.
type alternation struct {
	*nfa
	sets       []set
	conds      []condition
	prefixes   []prefix
	setOf      map[string]int32
	condOf     map[string]int32
	prefixOf   map[string]int32
	moved      map[transition]int32
	placeOf    map[config]int32 // the place that replaces a configuration
	chainOf    map[config]int32 // the chain that replaces the chain named place
	queue      []config         // configurations whose edges are not built yet
	contextual []bool           // by place
	marks      []int32          // by place: the last closure that reached it without a condition
	mark       int32
	work       int
	key        []byte
}

// resolve returns a place that matches the same texts as start, without look-arounds.
func (n *nfa) resolve(start int32) int32 {
	if n.err != nil {
		return start
	}
	a := &alternation{nfa: n, setOf: map[string]int32{}, condOf: map[string]int32{}, prefixOf: map[string]int32{},
		moved: map[transition]int32{}, placeOf: map[config]int32{}, chainOf: map[config]int32{},
		marks: make([]int32, len(n.places)), contextual: n.contextual()}
	a.conds = []condition{{ends: true}}
	a.set(nil)
	a.sets = append(a.sets, set{items: []item{{n.met, satisfied}}, ends: true})
	a.set([]item{{n.ended, satisfied}})
	first := prefix{id: -1, first: true}
	for _, start := range n.behinds {
		first.behinds = append(first.behinds, a.set(a.closure(&first, []item{{start, satisfied}})))
	}
	first.id = 0
	a.prefixes = []prefix{first}
	resolved := a.replace(config{start, satisfied, 0})
	for len(a.queue) > 0 && n.err == nil {
		at := a.queue[len(a.queue)-1]
		a.queue = a.queue[:len(a.queue)-1]
		a.expand(at)
	}
	return resolved
}

// spend takes steps and bytes from the budget.
func (a *alternation) spend(steps, bytes int) {
	a.work += steps
	err := a.budget.Spend(steps, bytes)
	if err == nil && a.work > maxWork {
		err = fmt.Errorf("more than %d steps for look-arounds: %w", maxWork, ErrTooLarge)
	}
	if a.err == nil {
		a.err = err
	}
}

// A walk collects the items reachable without a byte.
type walk struct {
	*alternation
	prefix     *prefix
	stack, out []item
	mark       int32
	seen       map[item]bool // items with a condition; marks has the others
}

// closure returns the items that are reachable from some without a byte.
func (a *alternation) closure(c *prefix, from []item) []item {
	if len(from) == 1 && a.places[from[0].place].kind == reads {
		return from
	}
	a.mark++
	w := &walk{alternation: a, prefix: c, stack: append(make([]item, 0, 8), from...), mark: a.mark}
	for len(w.stack) > 0 && a.err == nil {
		it := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		a.spend(20, 24)
		if w.first(it) {
			w.visit(it)
		}
	}
	return w.out
}

// first reports whether neither the item nor its place without a condition was visited.
func (w *walk) first(it item) bool {
	switch {
	case w.marks[it.place] == w.mark || w.seen[it]:
		return false
	case it.cond == satisfied:
		w.marks[it.place] = w.mark
	case w.seen == nil:
		w.seen = map[item]bool{it: true}
	default:
		w.seen[it] = true
	}
	return true
}

// visit adds the successors of an item, or the item itself if it needs a byte.
func (w *walk) visit(it item) {
	at := w.places[it.place]
	switch at.kind {
	case passes, final:
		w.follow(at, it.cond)
	case begin:
		if w.prefix.first {
			w.follow(at, it.cond)
		}
	case end:
		w.follow(at, w.require(it.cond, onlyEnd, false))
	case ahead:
		body := w.set(w.closure(w.prefix, []item{{at.symbol, satisfied}}))
		w.follow(at, w.require(it.cond, body, at.not))
	case behind:
		for _, cond := range w.behindConds(w.prefix.behinds[at.symbol], it.cond, at.not) {
			w.follow(at, cond)
		}
	case anyEnd:
		if it.cond != satisfied {
			w.follow(at, it.cond)
			return
		}
		w.out = append(w.out, it)
	default:
		w.out = append(w.out, it)
	}
}

// follow adds the exits of a place.
func (w *walk) follow(p place, cond int32) {
	if cond != unsatisfiable {
		for _, to := range w.exits[p.first:p.past] {
			w.stack = append(w.stack, item{to, cond})
		}
	}
}

// behindConds returns the conditions under which cond holds and a look-behind in state set
// matches, or does not match. One of them must hold.
func (a *alternation) behindConds(set, cond int32, not bool) []int32 {
	conds := []int32{cond}
	if !not {
		conds = nil
	}
	for _, it := range a.sets[set].items {
		if it.place != a.here {
			continue
		}
		if !not {
			conds = append(conds, a.both(cond, it.cond))
			continue
		}
		var fail []int32
		for _, c := range conds {
			if not := a.conds[it.cond].not; not != never {
				fail = append(fail, a.require(c, not, false))
			}
			for _, s := range a.conds[it.cond].all {
				fail = append(fail, a.require(c, s, true))
			}
		}
		a.spend(8*len(fail), 8*len(fail))
		if conds = fail; a.err != nil {
			return nil
		}
	}
	return conds
}

// afterByte returns the set after a byte, where c is the prefix after it.
func (a *alternation) afterByte(s int32, b byte, c *prefix) int32 {
	switch s {
	case never, always:
		return s
	case onlyEnd:
		return never
	}
	k := transition{s, c.id, a.sets[s].cuts.before(b)}
	if to, ok := a.moved[k]; ok && c.id >= 0 {
		return to
	}
	var next []item
	for _, it := range a.sets[s].items {
		p := &a.places[it.place]
		if p.kind != reads && p.kind != met {
			continue
		}
		cond := a.condAfter(it.cond, b, c)
		if cond == unsatisfiable {
			continue
		}
		if p.kind == met {
			next = append(next, item{it.place, cond})
		} else if to := Next(a.edges[p.first:p.past], b); to >= 0 {
			next = append(next, item{to, cond})
		}
	}
	a.spend(20+10*len(a.sets[s].items), 16*len(next))
	to := a.set(a.closure(c, next))
	if c.id >= 0 {
		a.spend(20, 80)
		a.moved[k] = to
	}
	return to
}

// condAfter returns the condition after a byte, where c is the prefix after it.
func (a *alternation) condAfter(cond int32, b byte, c *prefix) int32 {
	if cond == satisfied {
		return satisfied
	}
	was := a.conds[cond]
	to := a.require(satisfied, a.afterByte(was.not, b, c), true)
	for _, s := range was.all {
		if to == unsatisfiable {
			return unsatisfiable
		}
		to = a.require(to, a.afterByte(s, b, c), false)
	}
	return to
}

// moves returns the edges of a prefix, which cover all bytes.
func (a *alternation) moves(c int32) []Edge {
	if m := a.prefixes[c].moves; m != nil {
		return m
	}
	var at cuts
	for _, s := range a.prefixes[c].behinds {
		at.join(&a.sets[s].cuts)
	}
	var edges []Edge
	for lo, hi := range at.ranges(0, 255) {
		next := prefix{id: -1}
		for _, s := range a.prefixes[c].behinds {
			next.behinds = append(next.behinds, a.afterByte(s, lo, &next))
		}
		edges = join(edges, rune(lo), rune(hi), a.prefix(next))
	}
	a.spend(4*len(edges), 40*len(edges))
	a.prefixes[c].moves = edges
	return edges
}

// prefix returns the number of a prefix.
func (a *alternation) prefix(c prefix) int32 {
	a.key = a.key[:0]
	for _, s := range c.behinds {
		a.key = binary.LittleEndian.AppendUint32(a.key, uint32(s))
	}
	a.spend(10+4*len(c.behinds), 4*len(c.behinds))
	i, ok := a.prefixOf[string(a.key)]
	if !ok {
		a.spend(10, 420+8*len(c.behinds))
		i = int32(len(a.prefixes))
		c.id = i
		a.prefixes = append(a.prefixes, c)
		a.prefixOf[string(a.key)] = i
	}
	return i
}

// replace returns the place that replaces a configuration.
func (a *alternation) replace(s config) int32 {
	if s.cond == satisfied && !a.contextual[s.place] {
		return s.place
	}
	if p, ok := a.placeOf[s]; ok {
		return p
	}
	a.spend(60, 120)
	if at := a.places[s.place]; at.kind == reads {
		p := a.add(place{kind: reads, content: at.content, symbol: noSymbol})
		if at.chain != 0 {
			chain := config{at.chain, s.cond, s.prefix}
			if _, ok := a.chainOf[chain]; !ok {
				a.chainOf[chain] = p
			}
			a.places[p].chain, a.places[p].rank = a.chainOf[chain], at.rank
		}
		a.placeOf[s] = p
		a.queue = append(a.queue, s)
		return p
	}
	var exits []int32
	for _, it := range a.closure(&a.prefixes[s.prefix], []item{{s.place, s.cond}}) {
		exits = append(exits, a.replace(config{it.place, it.cond, s.prefix}))
	}
	p := a.pass(passes, exits...)
	a.placeOf[s] = p
	return p
}

// expand adds the edges of the place that replaces a configuration.
func (a *alternation) expand(s config) {
	was := a.places[s.place]
	var edges []Edge
	if s.place == a.last {
		if a.conds[s.cond].ends {
			edges = append(edges, a.edges[was.first])
		}
	} else {
		moves := a.moves(s.prefix)
		at := a.conds[s.cond].cuts
		at.edges(moves)
		for _, e := range slices.Clone(a.edges[was.first:was.past]) {
			for lo, hi := range at.ranges(e.Lo, e.Hi) {
				c := Next(moves, lo)
				if cond := a.condAfter(s.cond, lo, &a.prefixes[c]); cond != unsatisfiable {
					edges = join(edges, rune(lo), rune(hi), a.replace(config{e.To, cond, c}))
				}
			}
		}
	}
	a.spend(8+16*len(edges), 30*len(edges))
	p := &a.places[a.placeOf[s]]
	p.first = int32(len(a.edges))
	a.edges = append(a.edges, edges...)
	p.past = int32(len(a.edges))
}
