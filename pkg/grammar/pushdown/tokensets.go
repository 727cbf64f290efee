package pushdown

import (
	"slices"
	"strings"
	"sync"

	"glossa/pkg/grammar/automaton"
)

// tokenSets holds the tokens that a state of a DFA allows, whatever called its rule. The
// tokens after which the text continues are grouped by the cost of ending then; the tokens
// in which the text ends are listed.
type tokenSets struct {
	buckets []costBucket
	ending  []endingToken // tokens that end with the text

	maxChars        int          // the most characters of these tokens
	endNodes        []endNode    // where the text may end, in the order of the trie
	innerByChars    []innerToken // nil before the first use
	mu              sync.Mutex
	byMaxChars      map[int]*set
	suffixes        *suffixTrie // nil before the first use
	tooManySuffixes bool        // suffixes would have more than maxSuffixes
}

// A costBucket is the set of tokens after which ending costs at most cost.
type costBucket struct {
	cost int32
	set
}

// An endingToken is a token in which the text ends, possibly before the token does.
type endingToken struct {
	token  int32
	chars  int32  // of the text, before it ends
	suffix string // the token's bytes after the end of the text
}

// tokenSets returns the sets of a state. It computes them on the first call.
func (t *textIndex) tokenSets(state int32) *tokenSets {
	if l := t.sets[state].Load(); l != nil {
		return l
	}
	var l *tokenSets
	switch {
	case t.plain != nil: // only the sets by characters differ
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
		return l // computed twice: the first one is kept
	}
	t.v.addToCache(l.memory(t.limited), func() { t.sets[state].CompareAndSwap(l, nil) })
	return l
}

// anyState returns the state after which any text in canonical form may follow, or -1.
// Patterns that may match anywhere have such a state. Its sets are computed once for all
// DFAs.
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

// keyIndex returns the index of [automaton.Key], always the same one, and the state
// within the quotes.
func (v *Vocabulary) keyIndex() (keys *textIndex, content int32) {
	v.keysOnce.Do(func() { v.keys = v.textIndex(textKey{d: automaton.Key()}) })
	return v.keys, v.keys.d.Next(0, '"')
}

func (v *Vocabulary) anyTokenSets() *tokenSets {
	keys, content := v.keyIndex()
	return keys.tokenSets(content)
}

// isomorphic reports whether two automata are the same from the given states on.
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

// sameLabels reports whether two states are equal except for the targets of their edges.
func sameLabels(x, y *automaton.State) bool {
	return x.Accept == y.Accept && x.Content == y.Content && x.Plain == y.Plain &&
		slices.EqualFunc(x.Edges, y.Edges, func(e, f edge) bool { return e.Lo == f.Lo && e.Hi == f.Hi })
}

// A cacheEntry is a computed table that a vocabulary caches, with the function that evicts it.
type cacheEntry struct {
	bytes int
	evict func()
}

// maxCacheBytes bounds the token sets and walk tables that a vocabulary caches.
const maxCacheBytes = 48 << 20

// addToCache counts an entry, and evicts the oldest ones if the cache is too large.
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

// memory estimates the bytes of l. If limited, l shares its buckets with another one,
// and counts its list of inner tokens instead.
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

// union adds b to a and returns a. If a is nil, it returns b itself.
func union(a, b []uint64) []uint64 {
	if a == nil {
		return b
	}
	for i, w := range b {
		a[i] |= w
	}
	return a
}

// An innerToken is a token after which a limited text continues, with the state that it
// leads to. totalChars is ownChars plus the fewest characters that must follow.
type innerToken struct{ token, totalChars, ownChars, state int32 }

// innerTokens returns the inner tokens of a state, by ascending totalChars.
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
			if len(t.d.States[x.state].Edges) == 0 || short.tokens[x.state] >= never {
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

// maxCharSets is how many sets by characters a tokenSets keeps.
const maxCharSets = 32

// innerWithin returns the inner tokens with a totalChars of at most chars.
func (t *textIndex) innerWithin(l *tokenSets, state int32, chars int) *set {
	tokens := t.innerTokens(l, state)
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
	for i := 0; i < len(tokens) && int(tokens[i].totalChars) <= chars; i++ {
		id := tokens[i].token
		bits[id>>6] |= 1 << (id & 63)
	}
	packed := pack(bits)
	l.byMaxChars[chars] = &packed
	return &packed
}

// An endNode is a node of the trie where the text may end, after chars characters.
type endNode struct{ node, chars int32 }

// A suffixTrie holds the tokens within which a text ends, in a trie of their suffixes: the
// bytes after the end of the text.
type suffixTrie struct {
	nodes []node // as in a Vocabulary; their tokens are in list
	list  []endingToken
}

// tokens returns the tokens whose suffix ends at a node.
func (x *suffixTrie) tokens(n *node) []endingToken { return x.list[n.first : n.first+uint32(n.tokens)] }

// maxSuffixes bounds the suffixes in a trie. A text that may end after almost every byte
// has more, and a trie would not help it. A node's count of tokens is as wide.
const maxSuffixes = 1<<16 - 1

// suffixTrie returns the trie of the suffixes after a text, or false if there are too
// many of them.
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
		ids := v.ids[v.firstOf(end.node):] // in the order of the trie
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
