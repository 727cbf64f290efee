// Package bpe merges symbols by a list of ranked pairs: characters, or the bytes of
// GPT-2's alphabet. It does not know files, and cuts no text into pieces.
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

// Numbers of tokens. The limits are measured.
const (
	ShortPiece = 48      // up to which scanning for the lowest rank is the fastest
	hugePiece  = 1 << 12 // from which going through all ranks pays
)

// Merger merges the tokens of one piece of text: of all adjacent pairs that can be
// merged the one of the lowest rank first, of equal ones the leftmost.
type Merger struct {
	Pairs PairTable
	Ranks int // their number
	// ordered tells that every merge comes after all that make its parts, so that
	// ranks are done in order.
	Ordered bool
	Window  int // symbols that are merged at once; 0: WindowSymbols
}

// NewMerger takes merges by rank and the vocabulary that has their pieces. Merges that
// make special tokens are left out.
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

// Merge works in place and returns what is left of tokens.
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

// mergeRoom is memory that serves one window after another.
type mergeRoom struct {
	symbols, spans []int32
	heap           []uint64
	ranks          rankPlaces
}

// mergeMany chooses between the two ways for many tokens.
func (m *Merger) mergeMany(tokens []int32, room *mergeRoom) chain {
	if len(tokens) < hugePiece || !m.Ordered {
		return m.mergeLong(tokens, room)
	}
	return m.mergeRanks(tokens, room)
}

// MergeTo merges the n symbols of a piece, however many, and appends the ids. symbols
// appends those from one place to another.
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

// mergeShort takes time in the square of the number of tokens. next is what each
// makes with its right neighbour.
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

// chain is the tokens of a piece where their symbols were: each at the place of its
// first symbol. The places of the others hold -1.
type chain struct {
	m   *Merger
	ids []int32
	// spans has the number of symbols of a token at the places of its first and of its
	// last symbol.
	spans []int32
	room  *mergeRoom
}

// chain takes over tokens.
func (m *Merger) chain(tokens []int32, room *mergeRoom) chain {
	room.spans = slices.Grow(room.spans[:0], len(tokens))[:len(tokens)]
	for i := range room.spans {
		room.spans[i] = 1
	}
	return chain{m, tokens, room.spans, room}
}

// next is the place of the token after that at i, the number of symbols if there is none.
func (c chain) next(i int32) int32 { return i + c.spans[i] }

// prev is the place of the token before that at i, -1 if there is none.
func (c chain) prev(i int32) int32 {
	if i == 0 {
		return -1
	}
	return i - c.spans[i-1]
}

// pair is what the token at i makes with its right neighbour.
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

// join makes the token at i and its right neighbour one.
func (c chain) join(i, id int32) {
	j := c.next(i)
	n := c.spans[i] + c.spans[j]
	c.ids[j] = -1
	c.ids[i], c.spans[i], c.spans[i+n-1] = id, n, n
}

// tokens returns what is left, in the memory of ids.
func (c chain) tokens() []int32 {
	left := c.ids[:0]
	for i := int32(0); int(i) < len(c.spans); i = c.next(i) {
		left = append(left, c.ids[i])
	}
	return left
}

// cuts appends what is left; places are counted from the symbol from.
func (c chain) cuts(cuts []subword.Cut, from int) []subword.Cut {
	for i := int32(0); int(i) < len(c.ids); i = c.next(i) {
		cuts = append(cuts, subword.Cut{ID: c.ids[i], End: int32(from) + c.next(i)})
	}
	return cuts
}

// mergeLong takes pairs from a heap: time grows with n log n.
func (m *Merger) mergeLong(tokens []int32, room *mergeRoom) chain {
	c := m.chain(tokens, room)
	c.mergeHeap(0, nil)
	return c
}

// MergeByRank takes pairs from a heap that orders them by rank alone, and returns what is
// left, in the memory of tokens. It returns false if it stopped because o has enough.
func (m *Merger) MergeByRank(o *encode.Output, tokens []int32) (left []int32, ok bool) {
	c := m.chain(tokens, &mergeRoom{})
	if !c.mergeHeap(32, o) {
		return nil, false
	}
	return c.tokens(), true
}

// mergeHeap merges the pair on top of a heap of ranks and positions, whose shift is
// given, until none is left. It returns false if it stopped because o has enough.
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

// mergeRanks keeps the positions of each rank together. As no merge leads to a pair
// of lower rank (ordered), a rank is done at once. Where in a text it begins is of no
// consequence unless a token is paired with itself: only such pairs can overlap. Time
// grows with n, but for runs of a token whose positions are out of order. The room tells
// how many positions it looked at.
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
