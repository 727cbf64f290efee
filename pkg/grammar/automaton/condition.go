package automaton

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// An item is a place that counts as reached if the rest of the text meets a condition.
type item struct{ place, cond int32 }

// A set is a state of a look-around. It matches if one of its items does.
type set struct {
	items []item
	cuts  cuts
	ends  bool // it matches at the end of the text
}

// The predefined sets.
const (
	never   = 0 // no items
	always  = 1 // the look-ahead has matched
	onlyEnd = 2 // nothing may follow
)

// A condition holds if the rest of the text matches every set in all and not the set not.
type condition struct {
	not  int32
	all  []int32 // ascending
	cuts cuts
	ends bool // it holds at the end of the text
}

// The predefined conditions.
const (
	unsatisfiable = -1
	satisfied     = 0 // always holds
)

// set returns the number of a set.
func (a *alternation) set(items []item) int32 {
	slices.SortFunc(items, func(x, y item) int {
		return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.cond, y.cond))
	})
	items = a.prune(items)
	kept := items[:0]
	for _, it := range items {
		if it == (item{a.met, satisfied}) {
			return always
		}
		if n := len(kept); n == 0 || kept[n-1].place != it.place || kept[n-1].cond != satisfied && kept[n-1] != it {
			kept = append(kept, it)
		}
	}
	a.key = a.key[:0]
	for _, it := range kept {
		a.key = binary.LittleEndian.AppendUint32(a.key, uint32(it.place))
		a.key = binary.LittleEndian.AppendUint32(a.key, uint32(it.cond))
	}
	a.spend(30+8*len(items), 8*len(items))
	if i, ok := a.setOf[string(a.key)]; ok {
		return i
	}
	s := set{items: slices.Clone(kept)}
	for _, it := range kept {
		p, cond := &a.places[it.place], &a.conds[it.cond]
		s.ends = s.ends || (p.kind == met || p.kind == ended) && cond.ends
		s.cuts.join(&cond.cuts)
		if p.kind == reads {
			s.cuts.edges(a.edges[p.first:p.past])
		}
	}
	i := int32(len(a.sets))
	a.spend(20*len(kept), 420+32*len(kept))
	a.sets = append(a.sets, s)
	a.setOf[string(a.key)] = i
	return i
}

// prune keeps the highest item of each chain and condition.
func (a *alternation) prune(items []item) []item {
	if !a.ranked || len(items) < 2 {
		return items
	}
	top := map[item]int32{}
	for _, it := range items {
		if p := &a.places[it.place]; p.chain != 0 {
			top[item{p.chain, it.cond}] = max(top[item{p.chain, it.cond}], p.rank)
		}
	}
	a.spend(20*len(items), 0)
	return slices.DeleteFunc(items, func(it item) bool {
		p := &a.places[it.place]
		return p.chain != 0 && p.rank < top[item{p.chain, it.cond}]
	})
}

// require returns the condition that cond holds and that a set matches, or does not.
func (a *alternation) require(cond, of int32, not bool) int32 {
	if cond == unsatisfiable || of == never && !not || of == always && not {
		return unsatisfiable
	}
	if of == never || of == always {
		return cond
	}
	c := a.conds[cond]
	if not {
		c.not = a.set(append(slices.Clone(a.sets[c.not].items), a.sets[of].items...))
	} else {
		at, ok := slices.BinarySearch(c.all, of)
		if ok {
			return cond
		}
		c.all = slices.Insert(slices.Clone(c.all), at, of)
	}
	a.key = binary.LittleEndian.AppendUint32(a.key[:0], uint32(c.not))
	for _, s := range c.all {
		a.key = binary.LittleEndian.AppendUint32(a.key, uint32(s))
	}
	a.spend(30+4*len(c.all), 4*len(c.all))
	if i, ok := a.condOf[string(a.key)]; ok {
		return i
	}
	c.cuts, c.ends = a.sets[c.not].cuts, !a.sets[c.not].ends
	for _, s := range c.all {
		c.cuts.join(&a.sets[s].cuts)
		c.ends = c.ends && a.sets[s].ends
	}
	i := int32(len(a.conds))
	a.spend(8*len(c.all), 420+8*len(c.all))
	a.conds = append(a.conds, c)
	a.condOf[string(a.key)] = i
	return i
}

// both returns the condition that two conditions hold.
func (a *alternation) both(x, y int32) int32 {
	if x == unsatisfiable || y == satisfied {
		return x
	}
	if not := a.conds[y].not; not != never {
		x = a.require(x, not, true)
	}
	for _, s := range a.conds[y].all {
		x = a.require(x, s, false)
	}
	return x
}
