package tokenizer

import (
	"fmt"
	"slices"
)

// Numbers of tokens. The limits are measured.
const (
	shortPiece = 48      // up to which scanning for the lowest rank is the fastest
	hugePiece  = 1 << 12 // from which going through all ranks pays
)

// merger merges the tokens of one piece of text: of all adjacent pairs that can be
// merged the one of the lowest rank first, of equal ones the leftmost.
type merger struct {
	pairs pairTable
	ranks int // their number
	// ordered tells that every merge comes after all that make its parts, so that
	// ranks are done in order.
	ordered bool
}

// newMerger takes merges by rank and the vocabulary that has their pieces. Merges that
// make special tokens are left out.
func newMerger(vocab map[string]int, merges [][2]string, special map[string]int) (merger, error) {
	m := merger{pairs: newPairTable(len(merges)), ranks: len(merges), ordered: true}
	used := make(map[int]bool, len(vocab)) // as a part
	for rank, parts := range merges {
		if _, ok := special[parts[0]+parts[1]]; ok {
			continue
		}
		var ids [3]int
		for i, piece := range []string{parts[0], parts[1], parts[0] + parts[1]} {
			id, ok := vocab[piece]
			if !ok || piece == "" {
				return m, fmt.Errorf("merge %d: %.40q is not in the vocabulary", rank, piece)
			}
			ids[i] = id
		}
		if !m.pairs.put(pairKey(int32(ids[0]), int32(ids[1])), merged{int32(rank), int32(ids[2])}) {
			return m, fmt.Errorf("merge %d, %.40q with %.40q, repeats an earlier one", rank, parts[0], parts[1])
		}
		used[ids[0]], used[ids[1]] = true, true
		m.ordered = m.ordered && !used[ids[2]]
	}
	return m, nil
}

// merge works in place and returns what is left of tokens.
func (m *merger) merge(tokens []int32) []int32 {
	switch {
	case len(tokens) <= shortPiece:
		var next [shortPiece]merged
		for i := range len(tokens) - 1 {
			next[i] = m.pairs.get(tokens[i], tokens[i+1])
		}
		return m.mergeShort(tokens, next[:])
	case len(tokens) < hugePiece || !m.ordered:
		return m.mergeLong(tokens)
	}
	return m.mergeHuge(tokens)
}

// mergeShort takes time in the square of the number of tokens. next is what each
// makes with its right neighbour.
func (m *merger) mergeShort(tokens []int32, next []merged) []int32 {
	n := len(tokens)
	next = next[:max(n-1, 0)]
	for len(next) > 0 {
		best, rank := 0, next[0].rank
		for i := 1; i < len(next); i++ {
			if next[i].rank < rank {
				best, rank = i, next[i].rank
			}
		}
		if rank == never {
			break
		}
		tokens[best] = next[best].id
		copy(tokens[best+1:n-1], tokens[best+2:n])
		copy(next[best:], next[best+1:])
		next = next[:len(next)-1]
		n--
		if best > 0 {
			next[best-1] = m.pairs.get(tokens[best-1], tokens[best])
		}
		if best < len(next) {
			next[best] = m.pairs.get(tokens[best], tokens[best+1])
		}
	}
	return tokens[:n]
}

// chain is the tokens of a piece, linked.
type chain struct {
	m     *merger
	nodes []node
}

func (m *merger) chain(tokens []int32) chain {
	nodes := make([]node, len(tokens))
	for i, id := range tokens {
		nodes[i] = node{id: id, prev: int32(i) - 1, next: int32(i) + 1}
	}
	nodes[len(nodes)-1].next = -1
	return chain{m, nodes}
}

// pair is what the token at i makes with its right neighbour.
func (c chain) pair(i int32) merged {
	if i < 0 || c.nodes[i].id < 0 || c.nodes[i].next < 0 {
		return merged{rank: never}
	}
	return c.m.pairs.get(c.nodes[i].id, c.nodes[c.nodes[i].next].id)
}

// join makes the token at i and its right neighbour one.
func (c chain) join(i, id int32) {
	j := c.nodes[i].next
	c.nodes[i].id, c.nodes[i].next = id, c.nodes[j].next
	c.nodes[j].id = -1
	if next := c.nodes[j].next; next >= 0 {
		c.nodes[next].prev = i
	}
}

// tokens puts what is left into the beginning of dst.
func (c chain) tokens(dst []int32) []int32 {
	dst = dst[:0]
	for i := int32(0); i >= 0; i = c.nodes[i].next {
		dst = append(dst, c.nodes[i].id)
	}
	return dst
}

// mergeLong takes pairs from a heap: time grows with n log n.
func (m *merger) mergeLong(tokens []int32) []int32 {
	c := m.chain(tokens)
	var h rankHeap // of rank and position
	offer := func(i int32) {
		if to := c.pair(i); to.rank != never {
			h.push(uint64(to.rank)<<32 | uint64(i))
		}
	}
	for i := range c.nodes {
		offer(int32(i))
	}
	for len(h.items) > 0 {
		item := h.pop()
		i := int32(item & 0xffffffff)
		to := c.pair(i)
		if to.rank != int32(item>>32) {
			continue // one of the two has been merged since
		}
		c.join(i, to.id)
		offer(c.nodes[i].prev)
		offer(i)
	}
	return c.tokens(tokens)
}

// mergeHuge keeps the positions of each rank together. As no merge leads to a pair
// of lower rank (ordered), a rank is done at once. Where in a text it begins is of no
// consequence unless a token is paired with itself: only such pairs can overlap. Time
// grows with n, but for runs of a token whose positions are out of order.
func (m *merger) mergeHuge(tokens []int32) []int32 {
	left, _ := m.mergeRanks(tokens)
	return left
}

// mergeRanks also returns how many positions it looked at.
func (m *merger) mergeRanks(tokens []int32) (left []int32, places int) {
	c := m.chain(tokens)
	q := rankPlaces{heads: make([]int32, m.ranks), places: make([]rankPlace, 1, len(tokens))}
	offer := func(i int32) {
		if to := c.pair(i); to.rank != never {
			q.add(to.rank, i)
		}
	}
	for i := range c.nodes {
		offer(int32(i))
	}
	for rank := range q.heads {
		for p := q.first(int32(rank), c); p != 0; p = q.places[p].next {
			i := q.places[p].at
			to := c.pair(i)
			if to.rank != int32(rank) {
				continue // one of the two has been merged since
			}
			c.join(i, to.id)
			offer(c.nodes[i].prev)
			offer(i)
		}
	}
	return c.tokens(tokens), len(q.places)
}

// rankPlaces lists positions by rank.
type rankPlaces struct {
	heads  []int32 // by rank: the last place, 0 for none
	places []rankPlace
	list   []int32 // to be sorted
}

type rankPlace struct{ at, next int32 }

func (q *rankPlaces) add(rank, at int32) {
	q.places = append(q.places, rankPlace{at, q.heads[rank]})
	q.heads[rank] = int32(len(q.places) - 1)
}

// first is the first place of a rank, of which all are in order if they may overlap.
func (q *rankPlaces) first(rank int32, c chain) int32 {
	head := q.heads[rank]
	p := head
	for p != 0 && c.pair(q.places[p].at).rank != rank {
		p = q.places[p].next
	}
	if p == 0 {
		return 0
	}
	if i := q.places[p].at; c.nodes[i].id != c.nodes[c.nodes[i].next].id {
		return p
	}
	q.list = q.list[:0]
	for p := head; p != 0; p = q.places[p].next {
		q.list = append(q.list, q.places[p].at)
	}
	slices.Sort(q.list)
	p = head
	for _, at := range q.list {
		q.places[p].at = at
		p = q.places[p].next
	}
	return head
}
