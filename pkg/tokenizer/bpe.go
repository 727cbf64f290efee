package tokenizer

// heapMerges is the number of merges from which upstream encodes with a heap that
// orders pairs by rank alone.
const heapMerges = 1000

// maxBPE bounds the vocabulary of bpe: upstream packs two ids into 32 bits.
const maxBPE = 1 << 16

// bpeTokenizer merges characters, not bytes, and has no pre-tokenizer: merges cross
// spaces. Unknown characters are dropped before merging.
//
// With fewer than 1000 merges upstream applies merge 0, 1, ... in turn, each from
// left to right over the whole text. With more it takes pairs from a binary heap
// by rank alone, in which equal ranks come in the heap's order. Every merge makes a
// token later than its parts, so both process ranks in order, and as the
// occurrences of a pair overlap only if it repeats one token, they differ only
// within runs such as "aaa". One heap serves both: with positions in the order for
// the first, without for the second.
type bpeTokenizer struct {
	*vocabulary
	chars *chars
	base  int32            // the id that merge 0 makes
	ranks map[uint64]int32 // of a pair, see pairKey
	byPos bool             // equal ranks are merged from left to right
}

func pairKey(left, right int32) uint64 { return uint64(left)<<32 | uint64(right) }

func newBPE(v *vocabulary, merges [][2]int32) *bpeTokenizer {
	base := len(v.pieces) - len(merges)
	t := &bpeTokenizer{
		vocabulary: v, chars: newChars(v, base), base: int32(base),
		ranks: make(map[uint64]int32, len(merges)), byPos: len(merges) < heapMerges,
	}
	for i, m := range merges {
		t.ranks[pairKey(m[0], m[1])] = int32(i)
	}
	return t
}

func (t *bpeTokenizer) Encode(text string) []int { return t.merge(t.runes(nil, text)) }

// EncodeSpecial implements [Tokenizer]: no merge knows a special token, so they
// part the text.
func (t *bpeTokenizer) EncodeSpecial(text string) []int {
	return t.merge(t.encodeSpecial(text, t.runes))
}

// runes appends the ids of single characters.
func (t *bpeTokenizer) runes(ids []int, text string) []int {
	for _, r := range text {
		if id := t.chars.id(r); id >= 0 {
			ids = append(ids, int(id))
		}
	}
	return ids
}

// node is a token in a doubly linked list; its place in the slice is its position.
type node struct {
	id         int32 // -1 once it was merged into its left neighbour
	prev, next int32 // positions, -1 at the ends
}

// merge applies the merges to ids, in place.
func (t *bpeTokenizer) merge(ids []int) []int {
	if len(ids) < 2 || len(t.ranks) == 0 {
		return ids
	}
	nodes := make([]node, len(ids))
	for i, id := range ids {
		nodes[i] = node{id: int32(id), prev: int32(i) - 1, next: int32(i) + 1}
	}
	nodes[len(ids)-1].next = -1
	var h rankHeap
	if !t.byPos {
		h.shift = 32
	}
	// offer puts the pair that begins at position i on the heap if it can be merged.
	offer := func(i int32) {
		if i < 0 || nodes[i].next < 0 {
			return
		}
		if rank, ok := t.ranks[pairKey(nodes[i].id, nodes[nodes[i].next].id)]; ok {
			h.push(uint64(rank)<<32 | uint64(i))
		}
	}
	for i := range nodes {
		offer(int32(i))
	}
	for len(h.items) > 0 {
		item := h.pop()
		rank, i := int32(item>>32), int32(item&0xffffffff)
		j := nodes[i].next
		if nodes[i].id < 0 || j < 0 {
			continue
		}
		if now, ok := t.ranks[pairKey(nodes[i].id, nodes[j].id)]; !ok || now != rank {
			continue // one of the two has been merged since
		}
		nodes[i].id, nodes[i].next = t.base+rank, nodes[j].next
		nodes[j].id = -1
		if nodes[i].next >= 0 {
			nodes[nodes[i].next].prev = i
		}
		offer(nodes[i].prev)
		offer(i)
	}
	ids = ids[:0]
	for i := int32(0); i >= 0; i = nodes[i].next {
		ids = append(ids, int(nodes[i].id))
	}
	return ids
}

// rankHeap is a binary min-heap of rank<<32 | position. Items that are equal above
// shift are not exchanged: an item rises while its parent is greater, and sinks to
// the smaller child, of equal ones the left.
type rankHeap struct {
	items []uint64
	shift uint // low bits that do not count
}

func (h *rankHeap) push(item uint64) {
	h.items = append(h.items, item)
	i := len(h.items) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h.items[parent]>>h.shift <= item>>h.shift {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = item
}

func (h *rankHeap) pop() uint64 {
	top := h.items[0]
	n := len(h.items) - 1
	item := h.items[n]
	h.items = h.items[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.items[right]>>h.shift < h.items[child]>>h.shift {
			child = right
		}
		if h.items[child]>>h.shift >= item>>h.shift {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	h.items[i] = item
	return top
}
