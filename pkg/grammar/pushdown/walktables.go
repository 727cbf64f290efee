package pushdown

import (
	"maps"
	"slices"
	"sync"
)

// walkTables are a DFA's tables for walks through the trie.
type walkTables struct {
	classes     int
	class       [256]int // by byte: every state treats the bytes of a class alike; '"' has its own class
	steps       []int32  // (state + 1, class): twice the next state, plus one if a character begins; -1 for none; nil if the table would be too large
	firsts      []int    // by class: nodes of the trie below its first bytes
	bucketCosts []int32  // the costs of states from which the text continues, ascending
	marks       []int32  // by state: twice the index of its cost in bucketCosts, or -2 if the text does not continue; plus one if it may end

	equivalenceOnce sync.Once
	equivalence     [][]int32 // (bytes, state + 1): equivalence class over so many bytes; nil if there are too many states
}

// maxStepEntries bounds the entries of a table of all steps.
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
			n += 4 * (maxEquivalentBytes + 1) * len(k.marks) // for equivalence, on its first use
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

// classify partitions the bytes into classes at the ends of the edges' ranges.
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

// stepTo returns a step in the encoding of walkTables.steps.
func (t *textIndex) stepTo(from, to int32, b byte) int32 {
	if to >= 0 && t.d.States[from].Begins(b) {
		return 2*to + 1
	}
	return 2 * to
}

// step returns the encoded step of a byte from a state, -1 for none.
func (k *walkTables) step(from int32, b byte) int32 {
	return k.steps[int(from+1)*k.classes+k.class[b]]
}

// slowStep is step without the table.
func (t *textIndex) slowStep(from int32, b byte) int32 {
	return t.stepTo(from, t.d.Next(from, b), b)
}

// A visitedNode is a node of the trie that a walk reaches, the state there, and how many
// characters have begun on the path to it.
type visitedNode struct{ node, state, chars int32 }

// visit calls do with the nodes that are reached from a state, except those where neither
// a token nor the text ends. It counts instead of branching: half of the nodes have tokens,
// and no processor predicts which (1.1 ms instead of 1.9 over Llama 3's 267,000 nodes).
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
