package pushdown

import (
	"slices"
	"strings"
)

// wideState is from how many bytes on the masks of a state are kept.
const wideState = 8

// fillText sets the bits of an element in a text from what is kept of its state; false
// if nothing is kept of it, or not for so little that is left.
func (m *Matcher) fillText(e *element, budget int32) bool {
	u := &m.c.m.rules[e.rule]
	if u.Text == nil {
		return false
	}
	t := m.c.costs.texts[e.rule]
	if !t.wide(e.state) || m.run.frames[e.stack].cost >= never { // tokens that go beyond the text may cost less
		return false
	}
	item := m.run.frames[e.stack].near != 0
	var rests []string
	if item {
		var slow bool
		if rests, slow = m.dangers(e); slow {
			return false
		}
	}
	l, below := t.local(e.state), m.run.frames[e.stack].cost
	room := budget - below
	least, most := 0, -1 // characters that may come
	if u.Text.Counted {
		least = max(0, u.Text.Min-int(e.reg))
		if u.Text.Max >= 0 && int(e.reg)+l.chars+int(t.shortest().most) > u.Text.Max {
			most = u.Text.Max - int(e.reg)
		}
	}
	x, ok := m.exitsFor(t, l, e)
	if !ok {
		return false
	}
	if u.short != nil && int(room) < int(t.shortest().last)+least {
		m.fillEach(t, u.Text, e, t.insiders(l, e.state), room, most)
	} else {
		m.fillInside(t, l, e.state, room, most)
	}
	m.wipe()
	m.fillEnds(l.ends, below, budget, least, most)
	if x != nil {
		m.walkExits(x, e, budget, least, most)
	}
	if e.from >= 0 {
		m.shutTaken(t, e, room)
	}
	m.fillAgain(e, rests, budget)
	return true
}

// wide reports whether a state takes many bytes, or leads by one to a state that does.
func (t *texts) wide(state int32) bool {
	many := func(s int32) bool {
		n := 0
		for _, e := range t.d.States[s].Edges {
			n += int(e.Hi) - int(e.Lo) + 1
		}
		return n >= wideState
	}
	edges := t.d.States[state].Edges
	return many(state) || len(edges) == 1 && many(edges[0].To)
}

// exitsFor returns what follows in tokens after the text, nil if nothing may; false if
// there is too much for a trie.
func (m *Matcher) exitsFor(t *texts, l *local, e *element) (*exits, bool) {
	if m.run.frames[e.stack].rule == ended && e.from < 0 {
		return nil, true
	}
	return t.exitsOf(l)
}

// fillInside sets the tokens that stay in the text, of at most so many characters unless
// that is negative: then all fit.
func (m *Matcher) fillInside(t *texts, l *local, state, room int32, most int) {
	if most >= 0 {
		m.addSet(t.atMost(l, state, most))
		return
	}
	fits := -1
	for i := range l.inside {
		if l.inside[i].cost <= room {
			fits = i
		}
	}
	if fits >= 0 {
		m.addSet(&l.inside[fits].set)
	}
	if fits < len(l.inside)-1 {
		l.inside[len(l.inside)-1].addTo(m.cutOff())
	}
}

// fillEach sets those of insiders after which ending the text fits, which have most
// characters at most, unless that is negative.
func (m *Matcher) fillEach(t *texts, u *Text, e *element, insiders []insider, room int32, most int) {
	m.wipe()
	bytes := t.shortest().bytes // as many tokens are enough
	for _, x := range insiders {
		if most >= 0 && int(x.chars) > most {
			break
		}
		bits := m.mask.Bits
		if int(bytes[x.to])+max(0, u.Min-int(e.reg+x.own)) > int(room) {
			switch cost := t.boundedCost(u, x.to, e.reg+x.own); {
			case cost >= never:
				continue
			case cost > room:
				bits = m.cutOff()
			}
		}
		bits[x.token>>6] |= 1 << (x.token & 63)
	}
}

// fillEnds sets the tokens that end with the text.
func (m *Matcher) fillEnds(ends []exit, below, budget int32, least, most int) {
	bits := m.mask.Bits
	if below > budget {
		bits = m.cutOff()
	}
	for i := range ends {
		if x := &ends[i]; fits(x.chars, least, most) {
			bits[x.token>>6] |= 1 << (x.token & 63)
		}
	}
}

func fits(chars int32, least, most int) bool {
	return int(chars) >= least && (most < 0 || int(chars) <= most)
}

// walkExits sets the tokens in which the text ends and what called its rule goes on.
func (m *Matcher) walkExits(x *exits, e *element, budget int32, least, most int) {
	r, length, item := m.run, len(m.run.text), m.run.frames[e.stack].near != 0
	defer func() { r.text = r.text[:length] }()
	r.anew()
	if e.from >= 0 {
		back := r.frames[e.stack].element
		back.used = r.use("", back.used) // it does not ask for its keys before the next
		r.add(back)
	} else {
		r.blind = item // whose end is in none of these texts
		r.leave(e.stack)
	}
	defer func() { r.blind = false }()
	m.enterLevel(0, r.out, true)
	for at := 0; at < len(x.nodes); {
		n := &x.nodes[at]
		r.text = r.text[:length+int(n.depth)]
		l := &m.level[n.depth]
		if !l.firsts.has(n.byte) || !m.descend(l.now, n) {
			at += int(n.size)
			continue
		}
		if (e.from >= 0 || item) && keyBegun(m.level[n.depth+1].now) { // whose object may have this one
			m.eachExit(x, at, e, length, budget)
			at += int(n.size)
			continue
		}
		if n.tokens > 0 {
			if item {
				m.eachOf(x.of(n), e, length, budget)
				at++
				continue
			}
			cost := m.c.costs.least(r, m.level[n.depth+1].now)
			for _, exit := range x.of(n) {
				if fits(exit.chars, least, most) {
					m.allow([]int32{exit.token}, cost, budget)
				}
			}
		}
		at++
	}
}

func keyBegun(now []element) bool {
	return slices.ContainsFunc(now, func(e element) bool { return e.from >= 0 })
}

// eachExit sets the tokens of a subtree, which have two keys, one by one.
func (m *Matcher) eachExit(x *exits, top int, e *element, length int, budget int32) {
	for at := top; at < top+int(x.nodes[top].size); at++ {
		m.eachOf(x.of(&x.nodes[at]), e, length, budget)
	}
}

// eachOf sets the tokens of a list, one by one.
func (m *Matcher) eachOf(list []exit, e *element, length int, budget int32) {
	r, blind := m.run, m.run.blind
	for _, exit := range list {
		r.text, r.blind = r.text[:length], false
		now := []element{*e}
		for _, b := range []byte(m.c.v.tokens[exit.token]) {
			now = m.move(now, b, false)
		}
		m.allow([]int32{exit.token}, m.c.costs.least(r, now), budget)
	}
	r.blind = blind
}

// shutTaken takes out of the mask, which has tokens of an extra key alone, those that
// end it as a key that its object has, and those after which ending it as another one
// does not fit in the room.
func (m *Matcher) shutTaken(t *texts, e *element, room int32) {
	v := m.c.v
	rests := slices.Clone(m.run.takenAfter(e))
	exact := len(rests) > 0 && !(len(rests) <= manyKeys && t.roomy(room))
	seen := map[int32]bool{} // nodes: many keys begin alike
	for _, rest := range rests {
		if exact {
			m.shutBefore(t, e, rest, room, seen)
		}
		at := v.find(rest)
		if at < 0 {
			continue
		}
		for _, id := range v.ids[v.firstOf(at):] {
			if !strings.HasPrefix(v.tokens[id], rest) {
				break
			}
			m.shut(id, never, room)
		}
	}
}

// shutBefore looks again at the tokens that the rest of a taken key begins with, but
// for those seen before.
func (m *Matcher) shutBefore(t *texts, e *element, rest string, room int32, seen map[int32]bool) {
	r, length := m.run, len(m.run.text)
	defer func() { r.text = r.text[:length] }()
	after, at := *e, int32(-1)
	for i := range len(rest) {
		at = m.c.v.child(at, rest[i])
		after.state = t.d.Next(after.state, rest[i])
		if at < 0 || after.state < 0 {
			return
		}
		r.text = append(r.text, rest[i])
		if n := &m.c.v.nodes[at]; n.tokens > 0 && !seen[at] {
			seen[at] = true
			cost := t.fresh(r, &after)
			for _, id := range m.c.v.of(n) {
				m.shut(id, cost, room)
			}
		}
	}
}

// shut takes out a token after which ending the text costs more than there is room for.
func (m *Matcher) shut(id, cost, room int32) {
	if cost <= room {
		return
	}
	if bit := uint64(1) << (id & 63); m.mask.Bits[id>>6]&bit != 0 || m.cut && m.over[id>>6]&bit != 0 {
		m.mask.Bits[id>>6] &^= bit
		if cost < never {
			m.cutOff()[id>>6] |= bit
		} else if m.cut {
			m.over[id>>6] &^= bit
		}
	}
}
