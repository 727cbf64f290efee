package pushdown

// A Mask is the set of tokens that may come next.
type Mask struct {
	Bits  []uint64 // one bit per token (vocabulary); valid until the next call of Mask
	Count int      // of the set bits

	// Cut reports that the grammar also allows the tokens of Over, but ending after them
	// needs more tokens than are left.
	Cut  bool
	Over []uint64

	// Closers, unless nil, are the tokens that reduce the cost of ending. Pull is a bias for
	// their logits, so that a string ends near the end of its share of the budget.
	Closers []uint64
	Pull    float32
}

// Allows reports whether the set has a token. It has none without bytes, such as the one that
// ends a text: that is allowed where [Matcher.Accepts] reports true.
func (k *Mask) Allows(token int) bool {
	word := token >> 6
	return token >= 0 && word < len(k.Bits) && k.Bits[word]>>(token&63)&1 != 0
}

// Mask returns the tokens allowed if left tokens may still be written, the next one
// included: those that the grammar allows and after which the text can end in time. The
// mask has at least one token if left is not less than Cost.
func (m *Matcher) Mask(left int) *Mask {
	defer m.run.forget(len(m.run.frames), len(m.run.used)) // the speculative ones
	m.run.markSafe(m.now)
	budget, pull := m.budget(left)
	k := &m.mask
	k.Closers, k.Pull = nil, 0
	if pull > 0 && m.cost > 0 {
		m.fill(m.cost - 1)
		k.Closers, k.Pull = append(k.Closers, k.Bits...), pull
	}
	m.fill(budget)
	k.Count, k.Cut, k.Over = count(k.Bits), false, nil
	if m.cut {
		for i, w := range m.over {
			if m.over[i] = w &^ k.Bits[i]; m.over[i] != 0 {
				k.Cut, k.Over = true, m.over
			}
		}
	}
	return k
}

// fill sets the bits of the tokens after which ending costs no more than budget.
func (m *Matcher) fill(budget int32) {
	if m.mask.Bits == nil {
		m.mask.Bits, m.over = make([]uint64, m.c.v.bitsetWords()), make([]uint64, m.c.v.bitsetWords())
	}
	m.stale, m.cut, m.walkWork = true, false, 0
	others, alone := m.others[:0], len(m.now) == 1
	if !alone {
		m.clearStale()
	}
	for i := range m.now {
		e := &m.now[i]
		if e.rule == ended || (e.from >= 0 || m.run.frames[e.stack].itemFrame != 0) && !alone && m.fillKey(e, budget) || m.fillText(e, budget) {
			continue
		}
		others = append(others, *e)
	}
	m.clearStale()
	if m.others = others; len(others) > 0 {
		m.walkTrie(others, budget)
	}
	if m.cost > 0 && m.cost <= budget+1 && count(m.mask.Bits) == 0 {
		m.walkCheapest(budget)
	}
}

// walkCheapest adds tokens of a cheapest way to the end, which begins with the first element.
// The walks of fill may lack them in ambiguous grammars, where they end early.
func (m *Matcher) walkCheapest(budget int32) {
	v, r, length := m.c.v, m.run, len(m.run.text)
	m.enterDepth(0, m.now[:1], false)
	for at := int32(0); int(at) < len(v.nodes); {
		n := &v.nodes[at]
		r.text = r.text[:length+int(n.depth)]
		m.walkWork = 0
		if !m.descend(m.depths[n.depth].elements[:1], n) {
			at += int32(n.size)
			continue
		}
		if cost := m.c.costs.leastCost(r, m.depths[n.depth+1].elements); n.tokens > 0 && cost < m.cost {
			m.allow(v.tokensOf(n), cost, budget)
			break
		}
		at++
	}
	r.text = r.text[:length]
}

// fillKey computes a separate mask for one element in an extra key or a unique item, since
// that excludes tokens, and adds it to the mask.
func (m *Matcher) fillKey(e *element, budget int32) bool {
	if m.keyScratch == nil {
		m.keyScratch = make([]uint64, 2*len(m.mask.Bits))
	}
	bits, over, cut, half := m.mask.Bits, m.over, m.cut, len(m.mask.Bits)
	m.mask.Bits, m.over, m.stale, m.cut = m.keyScratch[:half], m.keyScratch[half:], true, false
	ok := m.fillText(e, budget)
	if ok {
		for i, w := range m.mask.Bits {
			bits[i] |= w
		}
		if m.cut && !cut {
			clear(over)
		}
		for i := 0; m.cut && i < half; i++ {
			over[i] |= m.over[i]
		}
	}
	m.mask.Bits, m.over, m.stale, m.cut = bits, over, false, cut || ok && m.cut
	return ok
}

// clearStale empties the mask if it is left from the last call.
func (m *Matcher) clearStale() {
	if m.stale {
		clear(m.mask.Bits)
		m.stale = false
	}
}

// addSet adds a set to the mask.
func (m *Matcher) addSet(s *set) {
	if m.stale && s.bits != nil {
		copy(m.mask.Bits, s.bits)
		m.stale = false
		return
	}
	m.clearStale()
	s.addTo(m.mask.Bits)
}

// overBits returns the set of the tokens that the budget excludes.
func (m *Matcher) overBits() []uint64 {
	if !m.cut {
		clear(m.over)
		m.cut = true
	}
	return m.over
}

// allow adds ids to the mask if cost fits in the budget, and else to those it excludes.
func (m *Matcher) allow(ids []int32, cost, budget int32) {
	bits := m.mask.Bits
	if cost > budget {
		if cost >= never {
			return
		}
		bits = m.overBits()
	}
	for _, id := range ids {
		bits[id>>6] |= 1 << (id & 63)
	}
}

// A trieDepth holds the elements that a walk through the trie has reached at one depth:
// after as many bytes of a token.
type trieDepth struct {
	elements  []element
	nextBytes byteSet // bytes that may come next
}

// walkTrie visits the trie as far as the elements can read.
func (m *Matcher) walkTrie(from []element, budget int32) {
	v, r, length := m.c.v, m.run, len(m.run.text)
	m.enterDepth(0, from, true)
	for b := range 256 {
		if at := v.roots[b]; at >= 0 && m.depths[0].nextBytes.has(byte(b)) {
			m.walkNodes(at, length, budget)
		}
	}
	r.text = r.text[:length]
}

// walkNodes visits a subtree of the trie whose top has depth 0.
func (m *Matcher) walkNodes(top int32, length int, budget int32) {
	v, r := m.c.v, m.run
	for at, end := top, top+int32(v.nodes[top].size); at < end; {
		n := &v.nodes[at]
		r.text = r.text[:length+int(n.depth)]
		l := &m.depths[n.depth]
		if !l.nextBytes.has(n.byte) || !m.descend(l.elements, n) {
			at += int32(n.size)
			continue
		}
		if n.tokens > 0 {
			m.allow(v.tokensOf(n), m.c.costs.leastCost(r, m.depths[n.depth+1].elements), budget)
		}
		at++
	}
}

// descend reads the byte of a node and enters the next depth. It reports whether any
// element is left.
func (m *Matcher) descend(now []element, n *node) bool {
	r := m.run
	if m.walkWork > maxWalk {
		return false
	}
	r.stepAll(now, n.byte)
	if m.walkWork += r.work; len(r.out) == 0 {
		return false
	}
	r.text = append(r.text, n.byte)
	m.enterDepth(int(n.depth)+1, r.out, n.size > 1)
	return true
}

func (m *Matcher) enterDepth(depth int, now []element, further bool) {
	for len(m.depths) <= depth {
		m.depths = append(m.depths, trieDepth{})
	}
	l := &m.depths[depth]
	l.elements = append(l.elements[:0], now...)
	if further {
		l.nextBytes = m.run.nextBytes(l.elements)
	}
}
