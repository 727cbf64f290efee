package pushdown

import (
	"maps"
	"slices"
	"sync"
)

// A walking is what walks through the trie with a DFA need.
type walkTables struct {
	classes     int
	class       [256]int // by byte: each state goes on alike with those of a class; '"' has its own
	steps       []int32  // (state + 1, class): twice the next state, one more if a character begins, -1 for none; nil for very many
	firsts      []int    // by class: nodes of the trie that its bytes begin
	bucketCosts []int32  // costs from which the text goes on, ascending
	marks       []int32  // by state: twice the index of its cost in grades, -2 if the text does not go on; one more if it may end

	equivalenceOnce sync.Once
	equivalence     [][]int32 // (bytes, state + 1): a number that states have in common if they go on alike over so many bytes; nil for many
}

// tabled is up to how many entries a table of all steps has.
const maxStepEntries = 1 << 19

func (t *textIndex) walkTables() *walkTables {
	if t.plain != nil {
		return t.plain.walkTables()
	}
	if k := t.tables.Load(); k != nil {
		return k
	}
	k := t.newWalkTables()
	if t.tables.CompareAndSwap(nil, k) {
		n := 4 * (len(k.steps) + len(k.bucketCosts) + len(k.marks))
		if len(k.marks) <= maxEquivalentStates {
			n += 4 * (maxEquivalentBytes + 1) * len(k.marks) // like may come
		}
		t.v.addToCache(n, func() { t.tables.CompareAndSwap(k, nil) })
	}
	return k
}

func (t *textIndex) newWalkTables() *walkTables {
	k, n := &walkTables{}, len(t.d.States)
	costs := map[int32]bool{}
	for i := range t.d.States {
		if len(t.d.States[i].Edges) > 0 && t.cost[i] < never {
			costs[t.cost[i]] = true
		}
	}
	k.bucketCosts = slices.Sorted(maps.Keys(costs))
	k.marks = slices.Repeat([]int32{-2}, n)
	for i := range t.d.States {
		if g, ok := slices.BinarySearch(k.bucketCosts, t.cost[i]); ok && len(t.d.States[i].Edges) > 0 {
			k.marks[i] = 2 * int32(g)
		}
		if t.d.States[i].Accept {
			k.marks[i]++
		}
	}
	if k.classify(t); n*k.classes <= maxStepEntries {
		k.tabulate(t)
	}
	return k
}

// classify finds classes of bytes: those between the ends of edges.
func (k *walkTables) classify(t *textIndex) {
	var begins [257]bool
	begins['"'], begins['"'+1] = true, true
	for i := range t.d.States {
		for _, e := range t.d.States[i].Edges {
			begins[e.Lo], begins[int(e.Hi)+1] = true, true
		}
	}
	for b := 1; b < 256; b++ {
		if begins[b] {
			k.classes++
		}
		k.class[b] = k.classes
	}
	k.classes++
	k.firsts = make([]int, k.classes)
	for b, at := range t.v.roots {
		if at >= 0 {
			k.firsts[k.class[b]] += int(t.v.nodes[at].size)
		}
	}
}

func (k *walkTables) tabulate(t *textIndex) {
	k.steps = slices.Repeat([]int32{-1}, (len(t.d.States)+1)*k.classes)
	for i := range t.d.States {
		row := k.steps[(i+1)*k.classes:]
		for _, e := range t.d.States[i].Edges {
			for b := int(e.Lo); b <= int(e.Hi); b++ {
				row[k.class[b]] = t.stepTo(int32(i), e.To, byte(b))
			}
		}
	}
}

// stepTo returns a step as a table has it.
func (t *textIndex) stepTo(from, to int32, b byte) int32 {
	if to >= 0 && t.d.States[from].Content && b != '"' {
		return 2*to + 1
	}
	return 2 * to
}

// step returns where a byte leads from a state, -1 standing for none.
func (k *walkTables) step(from int32, b byte) int32 {
	return k.steps[int(from+1)*k.classes+k.class[b]]
}

// slowStep does so without a table.
func (t *textIndex) slowStep(from int32, b byte) int32 {
	return t.stepTo(from, t.d.Next(from, b), b)
}

// A visited is a node that a state takes, the state there and how many characters were
// begun on the way.
type visitedNode struct{ node, state, chars int32 }

// visit calls do with the nodes that a state takes, but for those where neither tokens
// nor the text end. That is counted, not branched on: every other node has tokens, which
// no processor foresees (1.1 ms instead of 1.9 over Llama 3's 267,000 nodes).
func (t *textIndex) visit(state int32, do func(list []visitedNode)) {
	var states, chars [longest + 1]int32 // by depth
	var list [256]visitedNode
	states[0] = state
	k, many := t.walkTables(), 0
	for at, nodes := int32(0), t.v.nodes; int(at) < len(nodes); {
		n := &nodes[at]
		step := int32(0)
		if k.steps != nil {
			step = k.step(states[n.depth], n.byte)
		} else {
			step = t.slowStep(states[n.depth], n.byte)
		}
		if step < 0 {
			at += int32(n.size)
			continue
		}
		to, begun := step>>1, chars[n.depth]+step&1
		states[n.depth+1], chars[n.depth+1] = to, begun
		list[many&255] = visitedNode{at, to, begun}
		if many += (int(n.tokens)+1<<16-1)>>16 | int(k.marks[to]&1); many == len(list) {
			do(list[:])
			many = 0
		}
		at++
	}
	do(list[:many])
}
