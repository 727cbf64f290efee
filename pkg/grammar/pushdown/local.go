package pushdown

import (
	"slices"
	"strings"
	"sync"

	"glossa/pkg/grammar/automaton"
)

// A local is which tokens a state of a DFA takes, whoever called its rule: those after
// which the text goes on, by what it costs to end then, and those in which it ends.
type local struct {
	inside []grade
	ends   []exit // tokens that end with the text

	chars   int       // none of these tokens has more characters
	places  []place   // where the text may end
	byChars []insider // nil before it is asked for
	mu      sync.Mutex
	within  map[int]*set
	exits   *exits // nil before it is asked for
	tooMany bool   // exits
}

// A grade is the tokens after which ending costs so much, or less.
type grade struct {
	cost int32
	set
}

// An exit is a token and how many characters of the text it has before the text ends.
type exit struct {
	token int32
	chars int32
	rest  string // what follows in the token
}

// local returns what is known of a state.
func (t *texts) local(state int32) *local {
	if l := t.locals[state].Load(); l != nil {
		return l
	}
	var l *local
	switch {
	case t.plain != nil: // what there is by characters is kept apart
		l = t.plain.local(state)
		l = &local{inside: l.inside, ends: l.ends, places: l.places, chars: l.chars, within: map[int]*set{}}
	case state == t.anyText():
		l = t.v.anyLocal()
		t.locals[state].Store(l)
		return l
	default:
		l = t.newLocal(state)
	}
	if !t.locals[state].CompareAndSwap(nil, l) {
		return l // made twice: who was first is kept
	}
	t.v.keep(l.bytes(t.limited), func() { t.locals[state].CompareAndSwap(l, nil) })
	return l
}

// anyText returns the state from which any text in canonical form may follow, -1 if there
// is none. Patterns that may match anywhere have it, and its local is found once for all.
func (t *texts) anyText() int32 {
	t.anyOnce.Do(func() {
		keys, content := t.v.anyText()
		t.any = -1
		for i := 0; i < len(t.d.States) && keys != t && t.any < 0; i++ {
			if same(t.d, int32(i), keys.d, content) {
				t.any = int32(i)
			}
		}
	})
	return t.any
}

// anyText returns the texts of keys, always the same, and their state within quotes.
func (v *Vocabulary) anyText() (keys *texts, content int32) {
	v.keysOnce.Do(func() { v.keys = v.text(textKey{d: automaton.Key()}) })
	return v.keys, v.keys.d.Next(0, '"')
}

func (v *Vocabulary) anyLocal() *local {
	keys, content := v.anyText()
	return keys.local(content)
}

// same reports whether two states of automata go on alike, by a walk through both.
func same(a *automaton.DFA, s int32, b *automaton.DFA, q int32) bool {
	if !similar(&a.States[s], &b.States[q]) {
		return false
	}
	pairs := map[int32]int32{s: q}
	for todo := []int32{s}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x, y := &a.States[at], &b.States[pairs[at]]
		if !similar(x, y) {
			return false
		}
		for i, e := range x.Edges {
			if to, ok := pairs[e.To]; ok && to != y.Edges[i].To {
				return false
			} else if !ok {
				pairs[e.To] = y.Edges[i].To
				todo = append(todo, e.To)
			}
		}
	}
	return true
}

// similar reports whether states are equal but for where their edges lead.
func similar(x, y *automaton.State) bool {
	return x.Accept == y.Accept && x.Content == y.Content &&
		slices.EqualFunc(x.Edges, y.Edges, func(e, f edge) bool { return e.Lo == f.Lo && e.Hi == f.Hi })
}

// A kept is something that a vocabulary keeps for its texts, and how it is forgotten.
type kept struct {
	bytes  int
	forget func()
}

// maxKept is how many bytes a vocabulary keeps of locals, and of what walks need.
const maxKept = 48 << 20

// keep counts what is kept, and forgets the oldest of what is too much.
func (v *Vocabulary) keep(bytes int, forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = append(v.kept, kept{bytes, forget})
	v.keptBytes += bytes
	for v.keptBytes > maxKept && len(v.kept) > 1 {
		v.kept[0].forget()
		v.keptBytes -= v.kept[0].bytes
		v.kept[0] = kept{}
		v.kept = v.kept[1:]
	}
}

// bytes is about how much memory a local takes, with the exits and the insiders that may
// come. One that is limited has the sets of another.
func (l *local) bytes(limited bool) int {
	n := 40*len(l.ends) + 96*len(l.places)
	if last := len(l.inside) - 1; limited && last >= 0 {
		return n + 12*l.inside[last].n
	}
	for i := range l.inside {
		n += 4*len(l.inside[i].list) + 8*len(l.inside[i].bits)
	}
	return n
}

// union adds b to a and returns a; b itself if a is nil.
func union(a, b []uint64) []uint64 {
	if a == nil {
		return b
	}
	for i, w := range b {
		a[i] |= w
	}
	return a
}

// An insider is a token that stays inside a text that is limited, with the state that it
// leads to. Its characters are those too that must still come after its own.
type insider struct{ token, chars, own, to int32 }

// insiders returns the tokens that stay inside, those of fewest characters first.
func (t *texts) insiders(l *local, state int32) []insider {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byChars != nil {
		return l.byChars
	}
	short := t.shortest()
	byChars := make([][]insider, l.chars+int(short.most)+1)
	t.visit(state, func(list []visited) {
		for _, x := range list {
			if len(t.d.States[x.to].Edges) == 0 || short.bytes[x.to] >= never {
				continue
			}
			all := x.chars + short.chars[x.to]
			for _, id := range t.v.of(&t.v.nodes[x.at]) {
				byChars[all] = append(byChars[all], insider{id, all, x.chars, x.to})
			}
		}
	})
	l.byChars = slices.Concat(byChars...)
	return l.byChars
}

// maxWithin is how many sets by characters a local keeps.
const maxWithin = 32

// atMost returns the tokens that stay inside and have at most so many characters.
func (t *texts) atMost(l *local, state int32, chars int) *set {
	insiders := t.insiders(l, state)
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.within[chars]
	if ok {
		return s
	}
	if len(l.within) >= maxWithin {
		clear(l.within)
	}
	bits := make([]uint64, t.v.words())
	for i := 0; i < len(insiders) && int(insiders[i].chars) <= chars; i++ {
		id := insiders[i].token
		bits[id>>6] |= 1 << (id & 63)
	}
	packed := pack(bits)
	l.within[chars] = &packed
	return &packed
}

// A place is a node of the trie where the text may end, after so many characters.
type place struct{ at, chars int32 }

// exits are the tokens within which a text ends, by what follows in them, in a trie.
type exits struct {
	nodes []node // as in a Vocabulary, their tokens in list
	list  []exit
}

// of returns the exits of a node.
func (x *exits) of(n *node) []exit { return x.list[n.first : n.first+uint32(n.tokens)] }

// maxExits is how many places of tokens the trie may have: where a text may end after
// almost every byte there are more, and it is no use. A node counts as many.
const maxExits = 1<<16 - 1

// exitsOf returns the trie of what follows in tokens after a text; false if there is too
// much for one.
func (t *texts) exitsOf(l *local) (*exits, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.exits == nil && !l.tooMany {
		l.exits = t.newExits(l.places)
		l.tooMany = l.exits == nil
	}
	return l.exits, !l.tooMany
}

func (t *texts) newExits(places []place) *exits {
	x, v := &exits{}, t.v
	for _, place := range places {
		if v.nodes[place.at].size == 1 {
			continue // nothing follows
		}
		depth := int(v.nodes[place.at].depth) + 1
		ids := v.ids[v.firstOf(place.at):] // they are in the order of the trie
		prefix := v.tokens[ids[0]][:depth]
		for _, id := range ids {
			token := v.tokens[id]
			if !strings.HasPrefix(token, prefix) || len(x.list) > maxExits {
				break
			}
			if len(token) > depth {
				x.list = append(x.list, exit{id, place.chars, token[depth:]})
			}
		}
	}
	if len(x.list) > maxExits {
		return nil
	}
	slices.SortFunc(x.list, func(a, b exit) int { return strings.Compare(a.rest, b.rest) })
	x.nodes = newTrie(len(x.list), func(i int) string { return x.list[i].rest })
	return x
}
