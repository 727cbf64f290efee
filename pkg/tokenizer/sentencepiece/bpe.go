package sentencepiece

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// scoredBPE is the byte-pair encoding of SentencePiece and of GGUF's "llama". There is no
// list of merges: two neighbours whose joined text is a piece may merge, the best score
// first, of equal scores the leftmost. It is safe for concurrent use.
type scoredBPE struct {
	trie    *subword.Trie // normal, user-defined and unused pieces
	user    *subword.Trie // user-defined pieces, which never merge; nil for none
	kinds   []subword.Kind
	order   []uint32 // by id: smaller merges first
	unknown int
	unused  bool // there are unused pieces, which merge and are split again
	words   bool // no piece crosses the beginning of a word, so words are cut separately
	window  int  // symbols that are merged at once; 0 is bpe.WindowSymbols
}

// newScoredBPE builds the model of pieces, their scores and kinds, all by id.
func newScoredBPE(pieces []string, scores []float64, kinds []subword.Kind, unknown int, user *subword.Trie) (*scoredBPE, error) {
	m := &scoredBPE{kinds: kinds, unknown: unknown, user: user, order: make([]uint32, len(scores)), words: true}
	var ids []int
	for id, kind := range kinds {
		m.order[id] = ^sortable(float32(scores[id]))
		if kind != subword.KindNormal && kind != subword.KindUser && kind != subword.KindUnused || pieces[id] == "\x00" {
			continue
		}
		ids = append(ids, id)
		m.unused = m.unused || kind == subword.KindUnused
		if strings.Contains(strings.TrimLeft(pieces[id], spaceMark), spaceMark) {
			m.words = false
		}
	}
	m.words = m.words && !m.unused
	var err error
	m.trie, err = subword.NewTrie(pieces, ids)
	return m, err
}

// sortable maps floats to integers of the same order.
func sortable(f float32) uint32 {
	bits := math.Float32bits(f)
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// symbol is a node of a doubly linked list: a character, a user-defined piece, or the
// result of a merge.
type symbol struct {
	from, to   int32 // in bytes of the text; to is 0 if it merged into the symbol before
	prev, next int32 // symbols, -1 for none
	node       int32 // of the trie, for its text; -1 for none
	fixed      bool  // never merges
}

// merge is a candidate: a pair that may merge.
type merge struct {
	key    uint64 // order of the piece, then the left symbol: the smallest goes first
	right  int32
	length int32 // of both; differs if one has changed since
}

// Cut passes the pieces of text to put, in time n log n for n symbols of bounded length.
func (m *scoredBPE) Cut(o *encode.Output, text string, refuse subword.Refuse, put func(subword.Cut)) {
	w := bpeWork{m: m, refuse: refuse}
	if !m.words {
		w.cut(o, text, 0, put)
		return
	}
	for from := 0; from < len(text) && o.Worked(0); {
		length := wordLength(text[from:])
		w.cut(o, text[from:from+length], from, put)
		from += length
	}
}

// wordLength returns the length of the space marks at the beginning of text and of the text
// up to the next one.
func wordLength(text string) int {
	start := 0
	for strings.HasPrefix(text[start:], spaceMark) {
		start += len(spaceMark)
	}
	if n := strings.Index(text[start:], spaceMark); n >= 0 {
		return start + n
	}
	return len(text)
}

// bpeWork is the state of cutting a text. Words reuse its memory.
type bpeWork struct {
	m       *scoredBPE
	refuse  subword.Refuse // by place in the whole text; may be nil
	text    string
	offset  int // of text in the whole text
	symbols []symbol
	queue   []merge        // a binary heap
	halves  map[string]int // of the text of unused pieces: the length of the left half
	cuts    []subword.Cut  // not passed to put yet
}

// cut passes the pieces of text, which begins at offset, to put. Unused pieces are split as
// in the whole text.
func (w *bpeWork) cut(o *encode.Output, text string, offset int, put func(subword.Cut)) {
	w.offset = offset
	size := cmp.Or(w.m.window, bpe.WindowSymbols)
	if len(text) <= size || w.m.unused {
		w.cuts, _ = w.merge(w.cuts[:0], text, 0, len(text))
		for _, c := range w.cuts {
			put(subword.Cut{ID: c.ID, End: c.End + int32(offset)})
		}
		o.Worked(len(text))
		return
	}
	w.cuts = slices.Grow(w.cuts[:0], len(text)/3)
	all := func(cuts []subword.Cut, from, size int) ([]subword.Cut, bool) { return w.merge(cuts, text, from, size) }
	if !bpe.InWindows(size, all, func(cuts []subword.Cut) bool {
		w.cuts = append(w.cuts, cuts...)
		return o.Worked(len(cuts))
	}) {
		w.cuts, _ = w.merge(w.cuts[:0], text, 0, len(text))
	}
	for _, c := range w.cuts {
		put(subword.Cut{ID: c.ID, End: c.End + int32(offset)})
	}
}

// merge appends the pieces of at most size symbols of text from a position on, and reports
// whether they are the last.
func (w *bpeWork) merge(cuts []subword.Cut, text string, from, size int) ([]subword.Cut, bool) {
	w.symbols, w.queue = slices.Grow(w.symbols[:0], min(size, len(text)-from)), w.queue[:0]
	w.text = text
	to := w.split(from, size)
	for i := 1; i < len(w.symbols); i++ {
		w.offer(int32(i-1), int32(i))
	}
	for len(w.queue) > 0 {
		top := w.pop()
		left, right := int32(uint32(top.key)), top.right
		a, b := &w.symbols[left], &w.symbols[right]
		if a.to == 0 || b.to == 0 || b.to-a.from != top.length {
			continue
		}
		a.node = w.m.walk(a.node, text[b.from:b.to])
		a.to, b.to = b.to, 0
		if a.next = b.next; a.next >= 0 {
			w.symbols[a.next].prev = left
		}
		if a.prev >= 0 {
			w.offer(a.prev, left)
		}
		if a.next >= 0 {
			w.offer(left, a.next)
		}
	}
	for i := int32(0); i >= 0 && int(i) < len(w.symbols); i = w.symbols[i].next {
		s := &w.symbols[i]
		cuts = w.resolve(cuts, int(s.from), int(s.to), 0)
	}
	return cuts, to == len(text)
}

// split makes at most size initial symbols from a position on, and returns their end.
func (w *bpeWork) split(from, size int) (end int) {
	for from < len(w.text) && len(w.symbols) < size {
		length := 0
		if w.m.user != nil {
			_, length = w.m.user.LongestBut(w.text, from, w.refused())
		}
		fixed := length > 0
		if !fixed {
			length = min(subword.CharLength(w.text[from]), len(w.text)-from)
		}
		i := int32(len(w.symbols))
		to := from + length
		w.symbols = append(w.symbols, symbol{
			from: int32(from), to: int32(to), prev: i - 1, next: i + 1,
			node: w.m.walk(0, w.text[from:to]), fixed: fixed,
		})
		from = to
	}
	if n := len(w.symbols); n > 0 {
		w.symbols[n-1].next = -1
	}
	return from
}

// refused returns refuse for the places of w.text, nil for none.
func (w *bpeWork) refused() subword.Refuse {
	if w.refuse == nil {
		return nil
	}
	return func(id, from, to int) bool { return w.refuse(id, from+w.offset, to+w.offset) }
}

// walk returns the node that text leads to from node, -1 for none.
func (m *scoredBPE) walk(node int32, text string) int32 {
	for i := 0; i < len(text) && node >= 0; i++ {
		child, ok := m.trie.Next(node, text[i])
		if !ok {
			return -1
		}
		node = child
	}
	return node
}

// offer queues two neighbours if they may merge.
func (w *bpeWork) offer(left, right int32) {
	a, b := &w.symbols[left], &w.symbols[right]
	if a.fixed || b.fixed || a.node < 0 {
		return
	}
	node := w.m.walk(a.node, w.text[b.from:b.to])
	if node < 0 || w.m.trie.ID(node) < 0 {
		return
	}
	id := w.m.trie.ID(node)
	if w.refuse != nil && w.m.kinds[id] == subword.KindUser && w.refuse(int(id), int(a.from)+w.offset, int(b.to)+w.offset) {
		return
	}
	w.push(merge{key: uint64(w.m.order[id])<<32 | uint64(uint32(left)), right: right, length: b.to - a.from})
	if w.m.unused && w.m.kinds[id] == subword.KindUnused {
		if w.halves == nil {
			w.halves = map[string]int{}
		}
		w.halves[w.text[a.from:b.to]] = int(a.to - a.from)
	}
}

// maxResolve bounds the depth of unused pieces within unused pieces.
const maxResolve = 100

// resolve appends the piece of a symbol, the halves of an unused piece, or the unknown
// piece.
func (w *bpeWork) resolve(cuts []subword.Cut, from, to, depth int) []subword.Cut {
	id, length := w.m.trie.Longest(w.text[from:to])
	if length < to-from {
		id = w.m.unknown
	} else if w.m.kinds[id] == subword.KindUnused && depth <= maxResolve {
		if half, ok := w.halves[w.text[from:to]]; ok {
			cuts = w.resolve(cuts, from, from+half, depth+1)
			return w.resolve(cuts, from+half, to, depth+1)
		}
		id = w.m.unknown
	}
	return append(cuts, subword.Cut{ID: int32(id), End: int32(to)})
}

func (w *bpeWork) push(m merge) {
	w.queue = append(w.queue, m)
	i := len(w.queue) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if w.queue[parent].key <= m.key {
			break
		}
		w.queue[i] = w.queue[parent]
		i = parent
	}
	w.queue[i] = m
}

func (w *bpeWork) pop() merge {
	q := w.queue
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	w.queue = q
	if len(q) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1].key < q[child].key {
			child++
		}
		if q[child].key >= last.key {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = last
	return top
}
