package pushdown

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// A Vocabulary is the bytes of a model's tokens, in a trie, and what is known of texts
// over them. It is safe for concurrent use.
type Vocabulary struct {
	tokens     []string
	nodes      []node
	heights    []uint8    // by node: most bytes of its tokens after it
	ids        []int32    // by node
	roots      [256]int32 // the node of each first byte, -1 if there is none
	isToken    [256]bool  // there is a token of this byte alone
	byteTokens [257]int32 // how many bytes below this one have a token alone
	inToken    [256]bool  // there is a token with this byte

	keysOnce sync.Once
	keys     *textIndex // see anyText

	mu         sync.Mutex
	recent     textCache    // texts that were asked for last
	older      textCache    // and before them
	cache      []cacheEntry // the oldest first
	cacheBytes int          // of it
}

// A node is a node of the trie. Nodes lie in preorder: the first child follows its
// parent, and the next sibling lies size further on.
type node struct {
	size        uint32 // nodes of its subtree
	first       uint32 // of its tokens, in ids
	tokens      uint16 // several ids may have the same bytes
	depth, byte uint8
}

// longest is how many bytes a token may have: longer ones are as if they had none.
const longest = 255

// NewVocabulary returns the vocabulary of tokens: the bytes that each id adds in the
// middle of a text. An id without any is never allowed.
func NewVocabulary(tokens []string) *Vocabulary {
	v := &Vocabulary{tokens: slices.Clone(tokens)}
	order := make([]int32, 0, len(tokens))
	for id, t := range tokens {
		if len(t) == 0 || len(t) > longest {
			v.tokens[id] = ""
			continue
		}
		order = append(order, int32(id))
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := strings.Compare(tokens[a], tokens[b]); c != 0 {
			return c
		}
		return int(a - b)
	})
	v.ids = order
	v.nodes = newTrie(len(order), func(i int) string { return v.tokens[order[i]] })
	v.index()
	return v
}

// newTrie returns the nodes of n texts in order, none of them empty; the tokens of a
// node are the texts that end there, up to 65,535 of them.
func newTrie(n int, text func(i int) string) (nodes []node) {
	var path []int // nodes of the prefixes of the last text
	last := ""
	pop := func(depth int) {
		for len(path) > depth {
			i := path[len(path)-1]
			nodes[i].size = uint32(len(nodes) - i)
			path = path[:len(path)-1]
		}
	}
	for i := range n {
		t := text(i)
		shared := 0
		for shared < len(last) && shared < len(t) && last[shared] == t[shared] {
			shared++
		}
		pop(shared)
		for d := shared; d < len(t); d++ {
			path = append(path, len(nodes))
			nodes = append(nodes, node{byte: t[d], depth: uint8(d)})
		}
		end := &nodes[path[len(path)-1]]
		if end.tokens == 0 {
			end.first = uint32(i)
		}
		if end.tokens < 1<<16-1 {
			end.tokens++
		}
		last = t
	}
	pop(0)
	return nodes
}

// index finds what the nodes tell of single bytes.
func (v *Vocabulary) index() {
	for i := range v.nodes {
		n := &v.nodes[i]
		v.inToken[n.byte] = true
		v.isToken[n.byte] = v.isToken[n.byte] || n.depth == 0 && n.tokens > 0
	}
	for i := range v.roots {
		v.roots[i] = -1
		v.byteTokens[i+1] = v.byteTokens[i]
		if v.isToken[i] {
			v.byteTokens[i+1]++
		}
	}
	v.heights = make([]uint8, len(v.nodes))
	var deepest [longest + 1]uint8 // by depth: of the nodes there since their parent, the most below
	for i := len(v.nodes) - 1; i >= 0; i-- {
		d := v.nodes[i].depth
		v.heights[i], deepest[d+1] = deepest[d+1], 0
		deepest[d] = max(deepest[d], v.heights[i]+1)
	}
	for i := 0; i < len(v.nodes); i += int(v.nodes[i].size) {
		v.roots[v.nodes[i].byte] = int32(i)
	}
}

// child returns the node that a byte leads to from a node, or -1; at -1 is the root.
func (v *Vocabulary) child(at int32, b byte) int32 {
	if at < 0 {
		return v.roots[b]
	}
	for c, end := at+1, at+int32(v.nodes[at].size); c < end; c += int32(v.nodes[c].size) {
		if v.nodes[c].byte == b {
			return c
		}
	}
	return -1
}

// firstOf returns where the tokens of a node's subtree begin in ids.
func (v *Vocabulary) firstOf(at int32) int32 {
	for v.nodes[at].tokens == 0 {
		at++
	}
	return int32(v.nodes[at].first)
}

// everyByte returns the vocabulary of the 256 bytes.
func everyByte() *Vocabulary {
	tokens := make([]string, 256)
	for i := range tokens {
		tokens[i] = string([]byte{byte(i)})
	}
	return NewVocabulary(tokens)
}

// Size is the number of ids.
func (v *Vocabulary) Size() int { return len(v.tokens) }

// Token returns the bytes of an id.
func (v *Vocabulary) Token(id int) string { return v.tokens[id] }

// of returns the ids of a node's tokens.
func (v *Vocabulary) tokensOf(n *node) []int32 { return v.ids[n.first : n.first+uint32(n.tokens)] }

// find returns the node that s leads to, or -1.
func (v *Vocabulary) find(s string) int32 {
	at := int32(-1)
	for i := range len(s) {
		if at = v.child(at, s[i]); at < 0 {
			break
		}
	}
	return at
}

// spell returns, for each place in text, how few tokens spell what follows; never where
// none do.
func (v *Vocabulary) spell(text string) []int32 {
	cost := make([]int32, len(text)+1)
	for at := len(text) - 1; at >= 0; at-- {
		cost[at] = v.spellOne(text[at:], cost[at:])
	}
	return cost
}

// spellOne returns how few tokens spell text if cost has how few spell each shorter end
// of it.
func (v *Vocabulary) spellOne(text string, cost []int32) int32 {
	least, at := never, int32(-1)
	for i := range len(text) {
		if at = v.child(at, text[i]); at < 0 {
			break
		}
		if v.nodes[at].tokens > 0 {
			least = min(least, 1+cost[i+1])
		}
	}
	return least
}

// A set is a set of tokens, as a bitset or, if they are few, as a list.
type set struct {
	bits []uint64
	list []int32
	n    int
}

// fewTokens is up to how many tokens are kept as a list: adding one to a mask takes as
// long as adding some words of a bitset.
const maxListTokens = 512

// pack returns the set of the tokens of a bitset, which it may keep.
func pack(b []uint64) set {
	s := set{n: count(b)}
	if s.n > maxListTokens {
		s.bits = slices.Clone(b)
		return s
	}
	s.list = make([]int32, 0, s.n)
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			s.list = append(s.list, int32(i*64+bits.TrailingZeros64(w)))
		}
	}
	return s
}

// addTo adds the tokens to a mask.
func (s *set) addTo(mask []uint64) {
	for i, w := range s.bits {
		mask[i] |= w
	}
	for _, id := range s.list {
		mask[id>>6] |= 1 << (id & 63)
	}
}

func count(b []uint64) (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// words is the length of a bitset of the vocabulary.
func (v *Vocabulary) bitsetWords() int { return (len(v.tokens) + 63) / 64 }
