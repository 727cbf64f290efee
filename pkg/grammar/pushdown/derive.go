package pushdown

// A finding is what a walk from a state finds, to become a local. It may begin with the
// local of another state; then the walk tells where that is not right.
type finding struct {
	t       *texts
	chars   int32
	byGrade [][]uint64 // tokens after which the text goes on, by the index of their cost
	places  []place    // where the text may end

	from *local   // nil: nothing is known
	gone []uint64 // tokens of which it is not right
	next int      // its places before this one are in places, or not right
}

// newLocal finds what a state takes: by a walk through all that it takes, or by what it
// takes otherwise than another state of which that is known.
func (t *texts) newLocal(state int32) *local {
	if other, from := t.near(state); from != nil {
		return t.derive(state, other, from)
	}
	f := &finding{t: t, byGrade: make([][]uint64, len(t.walking().grades))}
	t.visit(state, f.nodes)
	return f.local()
}

// derive returns the local of a state from that of another one. States of a pattern that
// may match anywhere, and those that count, differ in few tokens.
func (t *texts) derive(state, other int32, from *local) *local {
	f := &finding{t: t, byGrade: make([][]uint64, len(t.walking().grades))}
	f.from, f.gone, f.chars = from, make([]uint64, t.v.words()), int32(from.chars)
	t.compare(state, other, f)
	f.places = append(f.places, from.places[f.next:]...)
	return f.local()
}

// local returns the local of what was found.
func (f *finding) local() *local {
	l := &local{chars: int(f.chars), places: f.places, inside: f.inside(), within: map[int]*set{}}
	for _, p := range l.places {
		for _, id := range f.t.v.of(&f.t.v.nodes[p.at]) {
			l.ends = append(l.ends, exit{token: id, chars: p.chars})
		}
	}
	return l
}

// nearTried is how many states near looks at.
const nearTried = 64

// near returns the state whose local is known and differs least from that of a state, as
// far as is seen; nil if it differs in most of the trie.
func (t *texts) near(state int32) (other int32, l *local) {
	if t.walking().steps == nil {
		return 0, nil
	}
	if all := t.anyText(); all >= 0 {
		t.local(all)
	}
	least, tried := len(t.v.nodes)/2, 0
	for i := 0; i < len(t.locals) && tried < nearTried && least > 0; i++ {
		known := t.locals[i].Load()
		if known == nil {
			continue
		}
		tried++
		if apart := t.apart(state, int32(i)); apart < least {
			other, l, least = int32(i), known, apart
		}
	}
	return other, l
}

// apart returns about how many nodes two states do not take alike, by the first byte.
func (t *texts) apart(a, b int32) (nodes int) {
	k := t.walking()
	for class, size := range k.firsts { // higher nodes too: most of what is below is not that high
		if !t.alike(k.steps[int(a+1)*k.classes+class]>>1, k.steps[int(b+1)*k.classes+class]>>1, alikeFor) {
			nodes += size
		}
	}
	return nodes
}

// compare walks where a state goes on otherwise than another one, whose local f begins
// with.
func (t *texts) compare(state, other int32, f *finding) {
	type pair struct{ to, chars, other, others int32 } // of both states
	var path [longest + 1]pair
	path[0] = pair{to: state, other: other}
	k := t.walking()
	for at, nodes := int32(0), t.v.nodes; int(at) < len(nodes); {
		n := &nodes[at]
		p := &path[n.depth]
		a, b := k.step(p.to, n.byte), k.step(p.other, n.byte)
		q := pair{a >> 1, p.chars + a&1, b >> 1, p.others + b&1}
		switch {
		case a < 0 && b < 0, q.chars == q.others && t.alike(q.to, q.other, t.v.heights[at]):
			at += int32(n.size)
		case a < 0:
			f.drop(at, at+int32(n.size))
			at += int32(n.size)
		default:
			f.drop(at, at+1)
			if n.tokens > 0 || k.marks[q.to]&1 != 0 {
				f.nodes([]visited{{at, q.to, q.chars}})
			}
			path[n.depth+1] = q
			at++
		}
	}
}

// nodes takes up nodes that a state takes.
func (f *finding) nodes(list []visited) {
	v, marks := f.t.v, f.t.walking().marks
	for _, x := range list {
		n, mark := &v.nodes[x.at], marks[x.to]
		if mark&1 != 0 {
			f.places = append(f.places, place{x.at, x.chars})
		}
		if f.chars = max(f.chars, x.chars); mark < 0 {
			continue
		}
		bits := f.byGrade[mark>>1]
		if bits == nil {
			bits = make([]uint64, v.words())
			f.byGrade[mark>>1] = bits
		}
		for _, id := range v.of(n) {
			bits[id>>6] |= 1 << (id & 63)
		}
	}
}

// drop forgets what the other local has of nodes; what it has before them is right.
func (f *finding) drop(at, end int32) {
	places := f.from.places
	for ; f.next < len(places) && places[f.next].at < end; f.next++ {
		if places[f.next].at < at {
			f.places = append(f.places, places[f.next])
		}
	}
	for i := at; i < end; i++ {
		for _, id := range f.t.v.of(&f.t.v.nodes[i]) {
			f.gone[id>>6] |= 1 << (id & 63)
		}
	}
}

// inside returns the tokens after which the text goes on: what was found, and what the
// other local has but for what is gone.
func (f *finding) inside() (list []grade) {
	var known []grade
	if f.from != nil {
		known = f.from.inside
	}
	all, found, n := make([]uint64, f.t.v.words()), false, 0
	for g, cost := range f.t.walking().grades {
		if f.byGrade[g] != nil {
			union(all, f.byGrade[g])
			found = true
		}
		if len(known) > 0 && known[0].cost == cost {
			rest := make([]uint64, len(all))
			known[0].addTo(rest)
			for i, w := range rest {
				all[i] |= w &^ f.gone[i]
			}
			known, found = known[1:], true
		}
		if !found {
			continue
		}
		if s := pack(all); s.n > n {
			list, n, found = append(list, grade{cost, s}), s.n, false
		}
	}
	return list
}
