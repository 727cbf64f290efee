package tokenizer

import "slices"

// Lengths of pieces in bytes. The limits are measured.
const (
	shortPiece = 48      // up to which scanning for the lowest rank is the fastest
	hugePiece  = 1 << 12 // from which sorting by rank pays
)

func (m *byteBPE) merge(ids []int, piece string) []int {
	switch {
	case len(piece) <= shortPiece:
		return m.mergeShort(ids, piece)
	case len(piece) < hugePiece || !m.ordered:
		return m.mergeLong(ids, piece)
	}
	return m.mergeHuge(ids, piece)
}

// mergeShort takes time in the square of the length.
func (m *byteBPE) mergeShort(ids []int, piece string) []int {
	var tokens [shortPiece]int32
	var next [shortPiece]merged // what token i makes with its right neighbour
	n := len(piece)
	for i := range n {
		tokens[i] = m.bytes[piece[i]]
	}
	for i := range n - 1 {
		next[i] = m.pairs.get(tokens[i], tokens[i+1])
	}
	for n > 1 {
		best := 0
		for i := 1; i < n-1; i++ {
			if next[i].rank < next[best].rank {
				best = i
			}
		}
		if next[best].rank == never {
			break
		}
		tokens[best] = next[best].id
		copy(tokens[best+1:n-1], tokens[best+2:n])
		copy(next[best:n-2], next[best+1:n-1])
		n--
		if best > 0 {
			next[best-1] = m.pairs.get(tokens[best-1], tokens[best])
		}
		if best+1 < n {
			next[best] = m.pairs.get(tokens[best], tokens[best+1])
		}
	}
	for _, id := range tokens[:n] {
		ids = append(ids, int(id))
	}
	return ids
}

// chain is the tokens of a piece, each at the position of its first byte.
type chain struct {
	m     *byteBPE
	nodes []node
}

func (m *byteBPE) chain(piece string) chain {
	nodes := make([]node, len(piece))
	for i := range nodes {
		nodes[i] = node{id: m.bytes[piece[i]], prev: int32(i) - 1, next: int32(i) + 1}
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

func (c chain) appendTo(ids []int) []int {
	for i := int32(0); i >= 0; i = c.nodes[i].next {
		ids = append(ids, int(c.nodes[i].id))
	}
	return ids
}

// mergeLong takes pairs from a heap: time grows with n log n.
func (m *byteBPE) mergeLong(ids []int, piece string) []int {
	c := m.chain(piece)
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
	return c.appendTo(ids)
}

// mergeHuge keeps the positions of each rank together. As no merge leads to a pair
// of lower rank (ordered), a rank is done at once: time grows with n wherever few
// positions are out of order.
func (m *byteBPE) mergeHuge(ids []int, piece string) []int {
	c := m.chain(piece)
	var ranks rankHeap // each once
	places := map[int32]*[]int32{}
	offer := func(i int32) {
		to := c.pair(i)
		if to.rank == never {
			return
		}
		list, ok := places[to.rank]
		if !ok {
			list = new([]int32)
			places[to.rank] = list
			ranks.push(uint64(to.rank))
		}
		*list = append(*list, i)
	}
	for i := range c.nodes {
		offer(int32(i))
	}
	for len(ranks.items) > 0 {
		rank := int32(ranks.pop())
		list := *places[rank]
		delete(places, rank)
		slices.Sort(list)
		for _, i := range list {
			to := c.pair(i)
			if to.rank != rank {
				continue // one of the two has been merged since
			}
			c.join(i, to.id)
			offer(c.nodes[i].prev)
			offer(i)
		}
	}
	return c.appendTo(ids)
}
