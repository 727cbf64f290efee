package pushdown

import (
	"slices"
	"strings"
	"sync"

	"glossa/pkg/grammar/automaton"
)

// A local is which tokens a state of a DFA takes, whoever called its rule: those after
// which the text goes on, by what it costs to end then, and those in which it ends.
type tokenSets struct {
	buckets []costBucket
	ending  []endingToken // tokens that end with the text

	maxChars        int          // none of these tokens has more characters
	endNodes        []endNode    // where the text may end
	innerByChars    []innerToken // nil before it is asked for
	mu              sync.Mutex
	byMaxChars      map[int]*set
	suffixes        *suffixTrie // nil before it is asked for
	tooManySuffixes bool        // exits
}

// A grade is the tokens after which ending costs so much, or less.
type costBucket struct {
	cost int32
	set
}

// An exit is a token and how many characters of the text it has before the text ends.
type endingToken struct {
	token  int32
	chars  int32
	suffix string // what follows in the token
}

// local returns what is known of a state.
func (t *textIndex) tokenSets(state int32) *tokenSets {
	if l := t.sets[state].Load(); l != nil {
		return l
	}
	var l *tokenSets
	switch {
	case t.plain != nil: // what there is by characters is kept apart
		l = t.plain.tokenSets(state)
		l = &tokenSets{buckets: l.buckets, ending: l.ending, endNodes: l.endNodes, maxChars: l.maxChars, byMaxChars: map[int]*set{}}
	case state == t.anyState():
		l = t.v.anyTokenSets()
		t.sets[state].Store(l)
		return l
	default:
		l = t.newTokenSets(state)
	}
	if !t.sets[state].CompareAndSwap(nil, l) {
		return l // made twice: who was first is kept
	}
	t.v.addToCache(l.memory(t.limited), func() { t.sets[state].CompareAndSwap(l, nil) })
	return l
}

// anyText returns the state from which any text in canonical form may follow, -1 if there
// is none. Patterns that may match anywhere have it, and its local is found once for all.
func (t *textIndex) anyState() int32 {
	t.anyStateOnce.Do(func() {
		keys, content := t.v.keyIndex()
		t.anyStateID = -1
		for i := 0; i < len(t.d.States) && keys != t && t.anyStateID < 0; i++ {
			if isomorphic(t.d, int32(i), keys.d, content) {
				t.anyStateID = int32(i)
			}
		}
	})
	return t.anyStateID
}

// anyText returns the texts of keys, always the same, and their state within quotes.
func (v *Vocabulary) keyIndex() (keys *textIndex, content int32) {
	v.keysOnce.Do(func() { v.keys = v.textIndex(textKey{d: automaton.Key()}) })
	return v.keys, v.keys.d.Next(0, '"')
}

func (v *Vocabulary) anyTokenSets() *tokenSets {
	keys, content := v.keyIndex()
	return keys.tokenSets(content)
}

// same reports whether two states of automata go on alike, by a walk through both.
func isomorphic(a *automaton.DFA, s int32, b *automaton.DFA, q int32) bool {
	if !sameLabels(&a.States[s], &b.States[q]) {
		return false
	}
	pairs := map[int32]int32{s: q}
	for todo := []int32{s}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		x, y := &a.States[at], &b.States[pairs[at]]
		if !sameLabels(x, y) {
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
func sameLabels(x, y *automaton.State) bool {
	return x.Accept == y.Accept && x.Content == y.Content &&
		slices.EqualFunc(x.Edges, y.Edges, func(e, f edge) bool { return e.Lo == f.Lo && e.Hi == f.Hi })
}

// A kept is something that a vocabulary keeps for its texts, and how it is forgotten.
type cacheEntry struct {
	bytes int
	evict func()
}

// maxKept is how many bytes a vocabulary keeps of locals, and of what walks need.
const maxCacheBytes = 48 << 20

// keep counts what is kept, and forgets the oldest of what is too much.
func (v *Vocabulary) addToCache(bytes int, forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cache = append(v.cache, cacheEntry{bytes, forget})
	v.cacheBytes += bytes
	for v.cacheBytes > maxCacheBytes && len(v.cache) > 1 {
		v.cache[0].evict()
		v.cacheBytes -= v.cache[0].bytes
		v.cache[0] = cacheEntry{}
		v.cache = v.cache[1:]
	}
}

// bytes is about how much memory a local takes, with the exits and the insiders that may
// come. One that is limited has the sets of another.
func (l *tokenSets) memory(limited bool) int {
	n := 40*len(l.ending) + 96*len(l.endNodes)
	if last := len(l.buckets) - 1; limited && last >= 0 {
		return n + 12*l.buckets[last].n
	}
	for i := range l.buckets {
		n += 4*len(l.buckets[i].list) + 8*len(l.buckets[i].bits)
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
type innerToken struct{ token, totalChars, ownChars, state int32 }

// insiders returns the tokens that stay inside, those of fewest characters first.
func (t *textIndex) innerTokens(l *tokenSets, state int32) []innerToken {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.innerByChars != nil {
		return l.innerByChars
	}
	short := t.shortest()
	byChars := make([][]innerToken, l.maxChars+int(short.maxChars)+1)
	t.visit(state, func(list []visitedNode) {
		for _, x := range list {
			if len(t.d.States[x.state].Edges) == 0 || short.bytes[x.state] >= never {
				continue
			}
			total := x.chars + short.chars[x.state]
			for _, id := range t.v.tokensOf(&t.v.nodes[x.node]) {
				byChars[total] = append(byChars[total], innerToken{id, total, x.chars, x.state})
			}
		}
	})
	l.innerByChars = slices.Concat(byChars...)
	return l.innerByChars
}

// maxWithin is how many sets by characters a local keeps.
const maxCharSets = 32

// atMost returns the tokens that stay inside and have at most so many characters.
func (t *textIndex) innerWithin(l *tokenSets, state int32, chars int) *set {
	insiders := t.innerTokens(l, state)
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.byMaxChars[chars]
	if ok {
		return s
	}
	if len(l.byMaxChars) >= maxCharSets {
		clear(l.byMaxChars)
	}
	bits := make([]uint64, t.v.bitsetWords())
	for i := 0; i < len(insiders) && int(insiders[i].totalChars) <= chars; i++ {
		id := insiders[i].token
		bits[id>>6] |= 1 << (id & 63)
	}
	packed := pack(bits)
	l.byMaxChars[chars] = &packed
	return &packed
}

// A place is a node of the trie where the text may end, after so many characters.
type endNode struct{ node, chars int32 }

// exits are the tokens within which a text ends, by what follows in them, in a trie.
type suffixTrie struct {
	nodes []node // as in a Vocabulary, their tokens in list
	list  []endingToken
}

// of returns the exits of a node.
func (x *suffixTrie) tokens(n *node) []endingToken { return x.list[n.first : n.first+uint32(n.tokens)] }

// maxExits is how many places of tokens the trie may have: where a text may end after
// almost every byte there are more, and it is no use. A node counts as many.
const maxSuffixes = 1<<16 - 1

// exitsOf returns the trie of what follows in tokens after a text; false if there is too
// much for one.
func (t *textIndex) suffixTrie(l *tokenSets) (*suffixTrie, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.suffixes == nil && !l.tooManySuffixes {
		l.suffixes = t.newSuffixTrie(l.endNodes)
		l.tooManySuffixes = l.suffixes == nil
	}
	return l.suffixes, !l.tooManySuffixes
}

func (t *textIndex) newSuffixTrie(places []endNode) *suffixTrie {
	x, v := &suffixTrie{}, t.v
	for _, end := range places {
		if v.nodes[end.node].size == 1 {
			continue // nothing follows
		}
		depth := int(v.nodes[end.node].depth) + 1
		ids := v.ids[v.firstOf(end.node):] // they are in the order of the trie
		prefix := v.tokens[ids[0]][:depth]
		for _, id := range ids {
			token := v.tokens[id]
			if !strings.HasPrefix(token, prefix) || len(x.list) > maxSuffixes {
				break
			}
			if len(token) > depth {
				x.list = append(x.list, endingToken{id, end.chars, token[depth:]})
			}
		}
	}
	if len(x.list) > maxSuffixes {
		return nil
	}
	slices.SortFunc(x.list, func(a, b endingToken) int { return strings.Compare(a.suffix, b.suffix) })
	x.nodes = newTrie(len(x.list), func(i int) string { return x.list[i].suffix })
	return x
}
