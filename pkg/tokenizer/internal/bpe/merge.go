// Package bpe merges symbols by a list of ranked pairs: characters, or the bytes of GPT-2's
// alphabet. It does not know files and does not pre-tokenize.
//
// Source: Sennrich et al. 2016 (BPE); Radford et al. 2019, sec. 2.2 (bytes).
package bpe

import (
	"cmp"
	"fmt"
	"slices"

	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// Limits, in tokens, that were found by measuring.
const (
	ShortPiece = 48      // up to here, scanning for the lowest rank is fastest
	hugePiece  = 1 << 12 // from here on, going through all ranks is faster than a heap
)

// Merger merges the tokens of one piece of text. The pair of the lowest rank merges first,
// of equal ranks the leftmost.
type Merger struct {
	Pairs PairTable
	Ranks int // their number
	// Ordered is true if every merge comes after those that make its parts, so that ranks
	// can be processed in order.
	Ordered bool
	Window  int // symbols that are merged at once; 0 is WindowSymbols
}

// NewMerger builds a merger from merges by rank and the vocabulary that has their pieces.
// It omits merges that make special tokens.
func NewMerger(vocab map[string]int, merges [][2]string, special map[string]int) (Merger, error) {
	m := Merger{Pairs: NewPairTable(len(merges)), Ranks: len(merges), Ordered: true}
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
		if !m.Pairs.Put(PairKey(int32(ids[0]), int32(ids[1])), Merged{int32(rank), int32(ids[2])}) {
			return m, fmt.Errorf("merge %d, %.40q with %.40q, repeats an earlier one", rank, parts[0], parts[1])
		}
		used[ids[0]], used[ids[1]] = true, true
		m.Ordered = m.Ordered && !used[ids[2]]
	}
	return m, nil
}

// Merge merges tokens in place and returns the result.
func (m *Merger) Merge(tokens []int32) []int32 {
	if len(tokens) > ShortPiece {
		return m.mergeMany(tokens, &mergeRoom{}).tokens()
	}
	var next [ShortPiece]Merged
	for i := range len(tokens) - 1 {
		next[i] = m.Pairs.Get(tokens[i], tokens[i+1])
	}
	return m.mergeShort(tokens, next[:])
}

// mergeRoom is memory that windows reuse.
type mergeRoom struct {
	symbols, spans []int32
	heap           []uint64
	ranks          rankPlaces
}

// mergeMany chooses between the two algorithms for many tokens.
func (m *Merger) mergeMany(tokens []int32, room *mergeRoom) chain {
	if len(tokens) < hugePiece || !m.Ordered {
		return m.mergeLong(tokens, room)
	}
	return m.mergeRanks(tokens, room)
}

// MergeTo merges the n symbols of a piece, of any length, and appends the ids to o. symbols
// appends the symbols from one position to another.
func (m *Merger) MergeTo(o *encode.Output, n int, symbols func(dst []int32, from, to int) []int32) {
	var room mergeRoom
	merge := func(cuts []subword.Cut, from, size int) ([]subword.Cut, bool) {
		to := from + min(size, n-from)
		room.symbols = symbols(slices.Grow(room.symbols[:0], to-from), from, to)
		return m.mergeMany(room.symbols, &room).cuts(cuts, from), to == n
	}
	begin := *o
	if o.Keep > 0 { // ids may be dropped
		begin.IDs = slices.Clone(o.IDs)
	}
	emit := func(cuts []subword.Cut) bool {
		for _, cut := range cuts {
			o.IDs = append(o.IDs, int(cut.ID))
		}
		return o.More(len(room.symbols))
	}
	if !InWindows(cmp.Or(m.Window, WindowSymbols), merge, emit) {
		*o = begin
		InWindows(n, merge, emit)
	}
}

// mergeShort takes time quadratic in the number of tokens. next has the merge of each token
// with its right neighbour.
func (m *Merger) mergeShort(tokens []int32, next []Merged) []int32 {
	n := len(tokens)
	next = next[:max(n-1, 0)]
	for len(next) > 0 {
		best, rank := 0, next[0].Rank
		for i := 1; i < len(next); i++ {
			if next[i].Rank < rank {
				best, rank = i, next[i].Rank
			}
		}
		if rank == Never {
			break
		}
		tokens[best] = next[best].ID
		copy(tokens[best+1:n-1], tokens[best+2:n])
		copy(next[best:], next[best+1:])
		next = next[:len(next)-1]
		n--
		if best > 0 {
			next[best-1] = m.Pairs.Get(tokens[best-1], tokens[best])
		}
		if best < len(next) {
			next[best] = m.Pairs.Get(tokens[best], tokens[best+1])
		}
	}
	return tokens[:n]
}

// chain holds the tokens of a piece, each at the position of its first symbol. The other
// positions hold -1.
type chain struct {
	m   *Merger
	ids []int32
	// spans has the number of symbols of a token, at the positions of its first and last
	// symbol.
	spans []int32
	room  *mergeRoom
}

// chain returns tokens as a chain, which takes ownership of them.
func (m *Merger) chain(tokens []int32, room *mergeRoom) chain {
	room.spans = slices.Grow(room.spans[:0], len(tokens))[:len(tokens)]
	for i := range room.spans {
		room.spans[i] = 1
	}
	return chain{m, tokens, room.spans, room}
}

// next returns the position of the token after the one at i, or the number of symbols if
// there is none.
func (c chain) next(i int32) int32 { return i + c.spans[i] }

// prev returns the position of the token before the one at i, or -1 if there is none.
func (c chain) prev(i int32) int32 {
	if i == 0 {
		return -1
	}
	return i - c.spans[i-1]
}

// pair returns the merge of the token at i with its right neighbour.
func (c chain) pair(i int32) Merged {
	if i < 0 || c.ids[i] < 0 {
		return Merged{Rank: Never}
	}
	j := c.next(i)
	if int(j) == len(c.ids) {
		return Merged{Rank: Never}
	}
	return c.m.Pairs.Get(c.ids[i], c.ids[j])
}

// join merges the token at i with its right neighbour.
func (c chain) join(i, id int32) {
	j := c.next(i)
	n := c.spans[i] + c.spans[j]
	c.ids[j] = -1
	c.ids[i], c.spans[i], c.spans[i+n-1] = id, n, n
}

// tokens returns the tokens, in the memory of ids.
func (c chain) tokens() []int32 {
	left := c.ids[:0]
	for i := int32(0); int(i) < len(c.spans); i = c.next(i) {
		left = append(left, c.ids[i])
	}
	return left
}

// cuts appends the tokens as cuts; positions are counted from the symbol from.
func (c chain) cuts(cuts []subword.Cut, from int) []subword.Cut {
	for i := int32(0); int(i) < len(c.ids); i = c.next(i) {
		cuts = append(cuts, subword.Cut{ID: c.ids[i], End: int32(from) + c.next(i)})
	}
	return cuts
}

// mergeLong takes pairs from a heap, in time n log n.
func (m *Merger) mergeLong(tokens []int32, room *mergeRoom) chain {
	c := m.chain(tokens, room)
	c.mergeHeap(0, nil)
	return c
}

// MergeByRank takes pairs from a heap that orders them by rank alone, and returns the
// merged tokens, in the memory of tokens. It returns false if it stopped because o has
// enough.
func (m *Merger) MergeByRank(o *encode.Output, tokens []int32) (left []int32, ok bool) {
	c := m.chain(tokens, &mergeRoom{})
	if !c.mergeHeap(32, o) {
		return nil, false
	}
	return c.tokens(), true
}

// mergeHeap merges the top pair of a heap of ranks and positions with the given shift until
// the heap is empty. It returns false if it stopped because o has enough.
func (c chain) mergeHeap(shift uint, o *encode.Output) bool {
	h := rankHeap{items: c.room.heap[:0], shift: shift}
	defer func() { c.room.heap = h.items }()
	offer := func(i int32) {
		if to := c.pair(i); to.Rank != Never {
			h.push(uint64(to.Rank)<<32 | uint64(i))
		}
	}
	for i := range c.ids {
		offer(int32(i))
	}
	for len(h.items) > 0 {
		if o != nil && !o.Worked(1) {
			return false
		}
		item := h.pop()
		i := int32(item & 0xffffffff)
		to := c.pair(i)
		if to.Rank != int32(item>>32) {
			continue // one of the two has been merged since
		}
		c.join(i, to.ID)
		offer(c.prev(i))
		offer(i)
	}
	return true
}

// mergeRanks keeps a list of positions for each rank. Because no merge leads to a pair of
// lower rank (Ordered), it processes one rank after another. The order within a rank does
// not matter unless a token is paired with itself: only such pairs can overlap. It takes
// linear time, except for runs of one token whose positions are out of order. The room has
// the number of positions that it visited.
func (m *Merger) mergeRanks(tokens []int32, room *mergeRoom) chain {
	c, q := m.chain(tokens, room), &room.ranks
	q.heads = slices.Grow(q.heads[:0], m.Ranks)[:m.Ranks]
	clear(q.heads)
	q.places = append(q.places[:0], rankPlace{})
	offer := func(i int32) {
		if to := c.pair(i); to.Rank != Never {
			q.add(to.Rank, i)
		}
	}
	for i := range c.ids {
		offer(int32(i))
	}
	for rank := range q.heads {
		for p := q.first(int32(rank), c); p != 0; p = q.places[p].next {
			i := q.places[p].at
			to := c.pair(i)
			if to.Rank != int32(rank) {
				continue // one of the two has been merged since
			}
			c.join(i, to.ID)
			offer(c.prev(i))
			offer(i)
		}
	}
	return c
}

// rankPlaces holds lists of positions by rank.
type rankPlaces struct {
	heads  []int32 // by rank: index of the last place, 0 for none
	places []rankPlace
	list   []int32 // scratch for sorting
}

type rankPlace struct{ at, next int32 }

func (q *rankPlaces) add(rank, at int32) {
	q.places = append(q.places, rankPlace{at, q.heads[rank]})
	q.heads[rank] = int32(len(q.places) - 1)
}

// first returns the first place of a rank. If the pairs may overlap, it sorts the places.
func (q *rankPlaces) first(rank int32, c chain) int32 {
	head := q.heads[rank]
	p := head
	for p != 0 && c.pair(q.places[p].at).Rank != rank {
		p = q.places[p].next
	}
	if p == 0 {
		return 0
	}
	if i := q.places[p].at; c.ids[i] != c.ids[c.next(i)] {
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
