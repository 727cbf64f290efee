package pushdown

// A setBuilder collects the token sets of a state during a walk through the trie. It may
// start from the sets of another state; then the walk visits only the differences.
type setBuilder struct {
	t        *textIndex
	maxChars int32
	byBucket [][]uint64 // tokens after which the text continues, by the index of their cost in bucketCosts
	endNodes []endNode  // where the text may end

	base        *tokenSets // sets of another state, or nil
	invalid     []uint64   // tokens that base has and this state may not have
	nextEndNode int        // base's endNodes before this one are copied or invalid
}

// newTokenSets computes the sets of a state, by a walk through the whole trie or from
// the sets of a state that differs little.
func (t *textIndex) newTokenSets(state int32) *tokenSets {
	if other, from := t.closestState(state); from != nil {
		return t.derive(state, other, from)
	}
	b := &setBuilder{t: t, byBucket: make([][]uint64, len(t.walkTables().bucketCosts))}
	t.visit(state, b.add)
	return b.build()
}

// derive computes the sets of a state from those of another one. States of a pattern
// that may match anywhere, and states that count, differ in few tokens.
func (t *textIndex) derive(state, other int32, from *tokenSets) *tokenSets {
	b := &setBuilder{t: t, byBucket: make([][]uint64, len(t.walkTables().bucketCosts))}
	b.base, b.invalid, b.maxChars = from, make([]uint64, t.v.bitsetWords()), int32(from.maxChars)
	t.compare(state, other, b)
	b.endNodes = append(b.endNodes, from.endNodes[b.nextEndNode:]...)
	return b.build()
}

// build returns the collected sets.
func (b *setBuilder) build() *tokenSets {
	l := &tokenSets{maxChars: int(b.maxChars), endNodes: b.endNodes, buckets: b.buckets(), byMaxChars: map[int]*set{}}
	for _, p := range l.endNodes {
		for _, id := range b.t.v.tokensOf(&b.t.v.nodes[p.node]) {
			l.ending = append(l.ending, endingToken{token: id, chars: p.chars})
		}
	}
	return l
}

// maxCompared bounds the states that closestState looks at.
const maxCompared = 64

// closestState returns, among the states with known sets that it looks at, the one that
// differs least from a state, and its sets; nil if every one differs in most of the trie.
func (t *textIndex) closestState(state int32) (other int32, l *tokenSets) {
	if t.walkTables().steps == nil {
		return 0, nil
	}
	if anyState := t.anyState(); anyState >= 0 {
		t.tokenSets(anyState)
	}
	least, compared := len(t.v.nodes)/2, 0
	for i := 0; i < len(t.sets) && compared < maxCompared && least > 0; i++ {
		known := t.sets[i].Load()
		if known == nil {
			continue
		}
		compared++
		if differing := t.differingNodes(state, int32(i)); differing < least {
			other, l, least = int32(i), known, differing
		}
	}
	return other, l
}

// differingNodes estimates, by the first byte, in how many nodes two states differ.
func (t *textIndex) differingNodes(a, b int32) (nodes int) {
	k := t.walkTables()
	for class, size := range k.firsts { // higher nodes too: most of what is below is not that high
		if !t.equivalent(k.steps[int(a+1)*k.classes+class]>>1, k.steps[int(b+1)*k.classes+class]>>1, maxEquivalentBytes) {
			nodes += size
		}
	}
	return nodes
}

// compare visits the nodes where a state differs from another one, the base of into.
func (t *textIndex) compare(state, other int32, into *setBuilder) {
	type pair struct{ to, chars, other, others int32 } // to and chars belong to the state, other and others to the other one
	var path [longest + 1]pair
	path[0] = pair{to: state, other: other}
	k := t.walkTables()
	for at, nodes := int32(0), t.v.nodes; int(at) < len(nodes); {
		n := &nodes[at]
		p := &path[n.depth]
		a, b := k.step(p.to, n.byte), k.step(p.other, n.byte)
		q := pair{a >> 1, p.chars + a&1, b >> 1, p.others + b&1}
		switch {
		case a < 0 && b < 0, q.chars == q.others && t.equivalent(q.to, q.other, t.v.heights[at]):
			at += int32(n.size)
		case a < 0:
			into.invalidate(at, at+int32(n.size))
			at += int32(n.size)
		default:
			into.invalidate(at, at+1)
			if n.tokens > 0 || k.marks[q.to]&1 != 0 {
				into.add([]visitedNode{{at, q.to, q.chars}})
			}
			path[n.depth+1] = q
			at++
		}
	}
}

// add adds the tokens and end nodes of nodes that the state reaches.
func (b *setBuilder) add(nodes []visitedNode) {
	v, marks := b.t.v, b.t.walkTables().marks
	for _, x := range nodes {
		n, mark := &v.nodes[x.node], marks[x.state]
		if mark&1 != 0 {
			b.endNodes = append(b.endNodes, endNode{x.node, x.chars})
		}
		if b.maxChars = max(b.maxChars, x.chars); mark < 0 {
			continue
		}
		bits := b.byBucket[mark>>1]
		if bits == nil {
			bits = make([]uint64, v.bitsetWords())
			b.byBucket[mark>>1] = bits
		}
		for _, id := range v.tokensOf(n) {
			bits[id>>6] |= 1 << (id & 63)
		}
	}
}

// invalidate discards what base has at the nodes from at to end, and copies its end
// nodes before them.
func (b *setBuilder) invalidate(at, end int32) {
	places := b.base.endNodes
	for ; b.nextEndNode < len(places) && places[b.nextEndNode].node < end; b.nextEndNode++ {
		if places[b.nextEndNode].node < at {
			b.endNodes = append(b.endNodes, places[b.nextEndNode])
		}
	}
	for i := at; i < end; i++ {
		for _, id := range b.t.v.tokensOf(&b.t.v.nodes[i]) {
			b.invalid[id>>6] |= 1 << (id & 63)
		}
	}
}

// buckets returns the tokens after which the text continues: the collected ones, and
// those of base that are not invalid.
func (b *setBuilder) buckets() (list []costBucket) {
	var base []costBucket
	if b.base != nil {
		base = b.base.buckets
	}
	all, found, n := make([]uint64, b.t.v.bitsetWords()), false, 0
	for g, cost := range b.t.walkTables().bucketCosts {
		if b.byBucket[g] != nil {
			union(all, b.byBucket[g])
			found = true
		}
		if len(base) > 0 && base[0].cost == cost {
			rest := make([]uint64, len(all))
			base[0].addTo(rest)
			for i, w := range rest {
				all[i] |= w &^ b.invalid[i]
			}
			base, found = base[1:], true
		}
		if !found {
			continue
		}
		if s := pack(all); s.n > n {
			list, n, found = append(list, costBucket{cost, s}), s.n, false
		}
	}
	return list
}
