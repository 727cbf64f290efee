package pushdown

import (
	"slices"
	"strings"
)

// wideState is from how many bytes on the masks of a state are kept.
const manyBytes = 8

// fillText sets the bits of an element in a text from what is kept of its state; false
// if nothing is kept of it, or not for so little that is left.
func (m *Matcher) fillText(e *element, budget int32) bool {
	u := &m.c.m.rules[e.rule]
	if u.Text == nil {
		return false
	}
	t := m.c.costs.texts[e.rule]
	if !t.readsManyBytes(e.state) || m.run.frames[e.stack].cost >= never { // tokens that go beyond the text may cost less
		return false
	}
	item := m.run.frames[e.stack].itemFrame != 0
	var suffixes []string
	if item {
		var slow bool
		if suffixes, slow = m.repeatSuffixes(e); slow {
			return false
		}
	}
	l, costAfter := t.tokenSets(e.state), m.run.frames[e.stack].cost
	room := budget - costAfter
	minChars, maxChars := 0, -1 // characters that may come
	if u.Text.Counted {
		minChars = max(0, u.Text.Min-int(e.reg))
		if u.Text.Max >= 0 && int(e.reg)+l.maxChars+int(t.shortest().maxChars) > u.Text.Max {
			maxChars = u.Text.Max - int(e.reg)
		}
	}
	x, ok := m.suffixTrieFor(t, l, e)
	if !ok {
		return false
	}
	if u.short != nil && int(room) < int(t.shortest().maxBytes)+minChars {
		m.fillEach(t, u.Text, e, t.innerTokens(l, e.state), room, maxChars)
	} else {
		m.fillInside(t, l, e.state, room, maxChars)
	}
	m.clearStale()
	m.fillEnds(l.ending, costAfter, budget, minChars, maxChars)
	if x != nil {
		m.walkSuffixes(x, e, budget, minChars, maxChars)
	}
	if e.from >= 0 {
		m.excludeTaken(t, e, room)
	}
	m.fillOneByOne(e, suffixes, budget)
	return true
}

// wide reports whether a state takes many bytes, or leads by one to a state that does.
func (t *textIndex) readsManyBytes(state int32) bool {
	many := func(s int32) bool {
		n := 0
		for _, e := range t.d.States[s].Edges {
			n += int(e.Hi) - int(e.Lo) + 1
		}
		return n >= manyBytes
	}
	edges := t.d.States[state].Edges
	return many(state) || len(edges) == 1 && many(edges[0].To)
}

// exitsFor returns what follows in tokens after the text, nil if nothing may; false if
// there is too much for a trie.
func (m *Matcher) suffixTrieFor(t *textIndex, l *tokenSets, e *element) (*suffixTrie, bool) {
	if m.run.frames[e.stack].rule == ended && e.from < 0 {
		return nil, true
	}
	return t.suffixTrie(l)
}

// fillInside sets the tokens that stay in the text, of at most so many characters unless
// that is negative: then all fit.
func (m *Matcher) fillInside(t *textIndex, l *tokenSets, state, room int32, maxChars int) {
	if maxChars >= 0 {
		m.addSet(t.innerWithin(l, state, maxChars))
		return
	}
	fits := -1
	for i := range l.buckets {
		if l.buckets[i].cost <= room {
			fits = i
		}
	}
	if fits >= 0 {
		m.addSet(&l.buckets[fits].set)
	}
	if fits < len(l.buckets)-1 {
		l.buckets[len(l.buckets)-1].addTo(m.overBits())
	}
}

// fillEach sets those of insiders after which ending the text fits, which have most
// characters at most, unless that is negative.
func (m *Matcher) fillEach(t *textIndex, u *Text, e *element, tokens []innerToken, room int32, maxChars int) {
	m.clearStale()
	bytes := t.shortest().bytes // as many tokens are enough
	for _, x := range tokens {
		if maxChars >= 0 && int(x.totalChars) > maxChars {
			break
		}
		bits := m.mask.Bits
		if int(bytes[x.state])+max(0, u.Min-int(e.reg+x.ownChars)) > int(room) {
			switch cost := t.boundedCost(u, x.state, e.reg+x.ownChars); {
			case cost >= never:
				continue
			case cost > room:
				bits = m.overBits()
			}
		}
		bits[x.token>>6] |= 1 << (x.token & 63)
	}
}

// fillEnds sets the tokens that end with the text.
func (m *Matcher) fillEnds(tokens []endingToken, costAfter, budget int32, minChars, maxChars int) {
	bits := m.mask.Bits
	if costAfter > budget {
		bits = m.overBits()
	}
	for i := range tokens {
		if x := &tokens[i]; fits(x.chars, minChars, maxChars) {
			bits[x.token>>6] |= 1 << (x.token & 63)
		}
	}
}

func fits(chars int32, minChars, maxChars int) bool {
	return int(chars) >= minChars && (maxChars < 0 || int(chars) <= maxChars)
}

// walkExits sets the tokens in which the text ends and what called its rule goes on.
func (m *Matcher) walkSuffixes(x *suffixTrie, e *element, budget int32, minChars, maxChars int) {
	r, length, item := m.run, len(m.run.text), m.run.frames[e.stack].itemFrame != 0
	defer func() { r.text = r.text[:length] }()
	r.resetOut()
	if e.from >= 0 {
		back := r.frames[e.stack].element
		back.used = r.use("", back.used) // it does not ask for its keys before the next
		r.add(back)
	} else {
		r.skipUnique = item // whose end is in none of these texts
		r.leave(e.stack)
	}
	defer func() { r.skipUnique = false }()
	m.enterDepth(0, r.out, true)
	for at := 0; at < len(x.nodes); {
		n := &x.nodes[at]
		r.text = r.text[:length+int(n.depth)]
		l := &m.depths[n.depth]
		if !l.nextBytes.has(n.byte) || !m.descend(l.elements, n) {
			at += int(n.size)
			continue
		}
		if (e.from >= 0 || item) && anyKeyBegun(m.depths[n.depth+1].elements) { // whose object may have this one
			m.allowSubtree(x, at, e, length, budget)
			at += int(n.size)
			continue
		}
		if n.tokens > 0 {
			if item {
				m.allowEach(x.tokens(n), e, length, budget)
				at++
				continue
			}
			cost := m.c.costs.leastCost(r, m.depths[n.depth+1].elements)
			for _, ending := range x.tokens(n) {
				if fits(ending.chars, minChars, maxChars) {
					m.allow([]int32{ending.token}, cost, budget)
				}
			}
		}
		at++
	}
}

func anyKeyBegun(now []element) bool {
	return slices.ContainsFunc(now, func(e element) bool { return e.from >= 0 })
}

// eachExit sets the tokens of a subtree, which have two keys, one by one.
func (m *Matcher) allowSubtree(x *suffixTrie, top int, e *element, length int, budget int32) {
	for at := top; at < top+int(x.nodes[top].size); at++ {
		m.allowEach(x.tokens(&x.nodes[at]), e, length, budget)
	}
}

// eachOf sets the tokens of a list, one by one.
func (m *Matcher) allowEach(list []endingToken, e *element, length int, budget int32) {
	r, blind := m.run, m.run.skipUnique
	for _, ending := range list {
		r.text, r.skipUnique = r.text[:length], false
		now := []element{*e}
		for _, b := range []byte(m.c.v.tokens[ending.token]) {
			now = m.move(now, b, false)
		}
		m.allow([]int32{ending.token}, m.c.costs.leastCost(r, now), budget)
	}
	r.skipUnique = blind
}

// shutTaken takes out of the mask, which has tokens of an extra key alone, those that
// end it as a key that its object has, and those after which ending it as another one
// does not fit in the room.
func (m *Matcher) excludeTaken(t *textIndex, e *element, room int32) {
	v := m.c.v
	suffixes := slices.Clone(m.run.takenSuffixes(e))
	exact := len(suffixes) > 0 && !(len(suffixes) <= maxTakenKeys && t.unusedKeyFits(room))
	seen := map[int32]bool{} // nodes: many keys begin alike
	for _, suffix := range suffixes {
		if exact {
			m.excludePrefixes(t, e, suffix, room, seen)
		}
		at := v.find(suffix)
		if at < 0 {
			continue
		}
		for _, id := range v.ids[v.firstOf(at):] {
			if !strings.HasPrefix(v.tokens[id], suffix) {
				break
			}
			m.exclude(id, never, room)
		}
	}
}

// shutBefore looks again at the tokens that the rest of a taken key begins with, but
// for those seen before.
func (m *Matcher) excludePrefixes(t *textIndex, e *element, suffix string, room int32, seen map[int32]bool) {
	r, length := m.run, len(m.run.text)
	defer func() { r.text = r.text[:length] }()
	after, at := *e, int32(-1)
	for i := range len(suffix) {
		at = m.c.v.child(at, suffix[i])
		after.state = t.d.Next(after.state, suffix[i])
		if at < 0 || after.state < 0 {
			return
		}
		r.text = append(r.text, suffix[i])
		if n := &m.c.v.nodes[at]; n.tokens > 0 && !seen[at] {
			seen[at] = true
			cost := t.unusedKeyCost(r, &after)
			for _, id := range m.c.v.tokensOf(n) {
				m.exclude(id, cost, room)
			}
		}
	}
}

// shut takes out a token after which ending the text costs more than there is room for.
func (m *Matcher) exclude(id, cost, room int32) {
	if cost <= room {
		return
	}
	if bit := uint64(1) << (id & 63); m.mask.Bits[id>>6]&bit != 0 || m.cut && m.over[id>>6]&bit != 0 {
		m.mask.Bits[id>>6] &^= bit
		if cost < never {
			m.overBits()[id>>6] |= bit
		} else if m.cut {
			m.over[id>>6] &^= bit
		}
	}
}
