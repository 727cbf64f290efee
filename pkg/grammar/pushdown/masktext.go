package pushdown

import (
	"slices"
	"strings"
)

// manyBytes is how many bytes a state must read for its token sets to be cached.
const manyBytes = 8

// fillText adds the tokens of an element in a text, from the cached sets of its state. It
// returns false if the state has none, or if they do not apply.
func (m *Matcher) fillText(e *element, budget int32) bool {
	u := &m.c.m.rules[e.rule]
	if u.Text == nil {
		return false
	}
	t := m.c.costs.texts[e.rule]
	if !t.readsManyBytes(e.state) || m.run.frames[e.stack].cost >= never { // tokens that extend past the text may cost less
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
	minChars, maxChars := 0, -1 // bounds of the characters that may follow
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
	if u.short != nil && int(room) < int(t.shortest().maxTokens)+minChars {
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

// readsManyBytes reports whether a state, or the only one it leads to, reads many bytes.
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

// suffixTrieFor returns the trie of the tokens that extend past the text, nil if nothing
// may follow it, and false if there are too many for a trie.
func (m *Matcher) suffixTrieFor(t *textIndex, l *tokenSets, e *element) (*suffixTrie, bool) {
	if m.run.frames[e.stack].rule == ended && e.from < 0 {
		return nil, true
	}
	return t.suffixTrie(l)
}

// fillInside adds the tokens after which the text continues, with at most maxChars
// characters unless that is negative.
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

// fillEach adds the inner tokens after which ending the text fits in room, with at most
// maxChars characters unless that is negative.
func (m *Matcher) fillEach(t *textIndex, u *Text, e *element, tokens []innerToken, room int32, maxChars int) {
	m.clearStale()
	most := t.shortest().tokens // to the end
	for _, x := range tokens {
		if maxChars >= 0 && int(x.totalChars) > maxChars {
			break
		}
		bits := m.mask.Bits
		if int(most[x.state])+max(0, u.Min-int(e.reg+x.ownChars)) > int(room) {
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

// fillEnds adds the tokens that end exactly where the text does.
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

// walkSuffixes adds the tokens that extend past the end of the text, if the elements after
// the text can read their suffixes.
func (m *Matcher) walkSuffixes(x *suffixTrie, e *element, budget int32, minChars, maxChars int) {
	r, length, item := m.run, len(m.run.text), m.run.frames[e.stack].itemFrame != 0
	defer func() { r.text = r.text[:length] }()
	r.resetOut()
	if e.from >= 0 {
		back := r.frames[e.stack].element
		back.used = r.use("", back.used) // its keys matter only to the next one
		r.add(back)
	} else {
		r.skipUnique = item // the item's text is not known here
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
		if (e.from >= 0 || item) && anyKeyBegun(m.depths[n.depth+1].elements) { // its object may have this key already
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

// allowSubtree checks the tokens of a subtree, which begin a second key, one by one.
func (m *Matcher) allowSubtree(x *suffixTrie, top int, e *element, length int, budget int32) {
	for at := top; at < top+int(x.nodes[top].size); at++ {
		m.allowEach(x.tokens(&x.nodes[at]), e, length, budget)
	}
}

// allowEach checks the tokens of a list one by one, from e on.
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

// excludeTaken removes from the mask, which has only tokens of an extra key, those that
// complete a key that its object has already, and those after which no unused key fits in
// room.
func (m *Matcher) excludeTaken(t *textIndex, e *element, room int32) {
	v := m.c.v
	suffixes := slices.Clone(m.run.takenSuffixes(e))
	exact := len(suffixes) > 0 && !(len(suffixes) <= maxTakenKeys && t.unusedKeyFits(room))
	seen := map[int32]bool{} // nodes; many keys have a common prefix
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

// excludePrefixes checks again the tokens that are prefixes of the rest of a taken key,
// except those seen before.
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

// exclude removes a token from the mask if cost, that of ending the text after it, does
// not fit in room.
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
