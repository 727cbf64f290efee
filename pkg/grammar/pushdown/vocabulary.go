package pushdown

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// A Vocabulary holds the bytes of a model's tokens in a trie, and caches indexes of DFAs
// over them. It is safe for concurrent use.
type Vocabulary struct {
	tokens     []string
	nodes      []node
	heights    []uint8    // by node: the most bytes below it
	ids        []int32    // by node
	roots      [256]int32 // the node of each first byte, -1 if there is none
	isToken    [256]bool  // by byte: a token consists of it alone
	byteTokens [257]int32 // how many bytes below this one are tokens
	inToken    [256]bool  // by byte: some token contains it

	keysOnce sync.Once
	keys     *textIndex // see keyIndex

	mu         sync.Mutex
	recent     textCache    // generation of the indexes used last
	older      textCache    // the generation before it
	cache      []cacheEntry // the oldest first
	cacheBytes int          // of it
}

// A node is a node of the trie. Nodes are in preorder: the first child follows its parent,
// and the next sibling is size nodes after a node.
type node struct {
	size        uint32 // nodes of its subtree
	first       uint32 // of its tokens, in ids
	tokens      uint16 // several ids may have the same bytes
	depth, byte uint8
}

// longest is the most bytes of a token. Longer ones count as empty.
const longest = 255

// NewVocabulary returns the vocabulary of tokens: by id, the bytes that the token adds in
// the middle of a text. A token without bytes is never allowed.
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

// newTrie returns the trie of n texts, which are sorted and not empty. The tokens of a node
// are the texts that end there, at most 65,535 of them.
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

// index computes the tables of single bytes and the heights from the nodes.
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
	var deepest [longest + 1]uint8 // by depth: the greatest height of the siblings so far, plus one
	for i := len(v.nodes) - 1; i >= 0; i-- {
		d := v.nodes[i].depth
		v.heights[i], deepest[d+1] = deepest[d+1], 0
		deepest[d] = max(deepest[d], v.heights[i]+1)
	}
	for i := 0; i < len(v.nodes); i += int(v.nodes[i].size) {
		v.roots[v.nodes[i].byte] = int32(i)
	}
}

// child returns the node that a byte leads to from a node, or -1. The root is -1.
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

// firstOf returns the index in ids of the first token in a node's subtree.
func (v *Vocabulary) firstOf(at int32) int32 {
	for v.nodes[at].tokens == 0 {
		at++
	}
	return int32(v.nodes[at].first)
}

// everyByte returns a vocabulary whose tokens are the 256 bytes.
func everyByte() *Vocabulary {
	tokens := make([]string, 256)
	for i := range tokens {
		tokens[i] = string([]byte{byte(i)})
	}
	return NewVocabulary(tokens)
}

// Size returns the number of ids.
func (v *Vocabulary) Size() int { return len(v.tokens) }

// Token returns the bytes of an id.
func (v *Vocabulary) Token(id int) string { return v.tokens[id] }

// tokensOf returns the ids of a node's tokens.
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

// spell returns, by position in text, the fewest tokens that spell the rest, or never.
func (v *Vocabulary) spell(text string) []int32 {
	cost := make([]int32, len(text)+1)
	for at := len(text) - 1; at >= 0; at-- {
		cost[at] = v.spellOne(text[at:], cost[at:])
	}
	return cost
}

// spellOne returns the fewest tokens that spell text, given the costs of its proper
// suffixes.
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

// maxListTokens is the most tokens that are stored as a list. Adding one to a mask takes as
// long as adding several words of a bitset.
const maxListTokens = 512

// pack returns the set of the tokens of a bitset. It does not keep b.
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

// bitsetWords returns the length of a bitset of the vocabulary.
func (v *Vocabulary) bitsetWords() int { return (len(v.tokens) + 63) / 64 }
