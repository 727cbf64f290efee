package kernel

import "math"

// A CapKind says how attention scores are bounded before the softmax.
type CapKind uint8

// The score caps.
const (
	CapNone  CapKind = iota
	CapClamp         // min(max(s, -Value), Value)
	CapTanh          // Value*tanh(s/Value)
)

// A Cap bounds attention scores. The zero Cap leaves them unchanged.
type Cap struct {
	Kind  CapKind
	Value float32 // positive unless Kind is CapNone
}

// Bound bounds scores in place.
func (k *Kernels) Bound(scores []float32, limit Cap) {
	switch limit.Kind {
	case CapClamp:
		clamp(k.isa, scores, limit.Value)
	case CapTanh:
		tanhCap(k.isa, scores, limit.Value)
	}
}

// Queries are the input and output of Attend: for each token, the heads that share a head
// of keys.
type Queries struct {
	In, Out             []float32 // (Tokens, Heads, Dim) of the KV; tokens lie a stride apart
	InStride, OutStride int       // floats
	Tokens, Heads       int
	First               int  // of tokens that are not causal: the first one's own key
	Seen                int  // end of the keys that the first token sees; if it sees none, Out is zero
	Causal              bool // for each later token the end is one key further
	Window, Chunk       int  // bounds of the keys that a token sees, see keys; 0: none
	Scale               float32
	Cap                 Cap
	Sinks               []float32 // (Heads), or nil: one more score of each softmax, without a value
	Slopes              []float32 // (Heads), or nil: causal scores decrease by Slopes for each token of distance (ALiBi)

	// Biases, if set, are added to scores. If these are not causal: (Heads, 2*Seen-1), that of
	// key j to key i, the token's own, at j-i+Seen-1. Else (Heads, n), n at least the keys that the last token
	// sees: those of the keys that a token sees are the last ones of a row.
	Biases [][]float32

	// PairBiases, if set, are added to scores: (Tokens, Heads, Seen), those of the keys before Seen. Not with
	// Causal.
	PairBiases []float32
}

// keys returns the keys from, ..., to-1 that a token sees. A causal token sees the last
// Window keys before its end, or those from the last multiple of Chunk. If tokens are not
// causal, each sees the keys before Seen whose distance from its own key is less than Window, at
// least one.
func (q *Queries) keys(token int) (from, to int) {
	to = q.Seen
	switch {
	case !q.Causal && q.Window > 0:
		own := q.First + token
		return max(0, own-q.Window+1), own + min(to-own, q.Window)
	case !q.Causal:
		return 0, to
	}
	to += token
	switch {
	case q.Window > 0:
		from = max(0, to-q.Window)
	case q.Chunk > 0 && to > 0:
		from = (to - 1) / q.Chunk * q.Chunk
	}
	return from, to
}

// misses reports whether the tokens together see more keys than a ring has kept.
func (q *Queries) misses(ring int) bool {
	if q.Tokens == 0 {
		return false
	}
	from, _ := q.keys(0)
	_, to := q.keys(q.Tokens - 1)
	return to-from > ring
}

// Sizes of attention. Blocks begin at fixed tokens, so a row's sums do not depend on the
// rows computed with it. A block of a head of 64 dimensions is 64 KiB in float32.
const (
	attendBlock = 8 * keyPanel // tokens of keys in a step of the softmax
	attendTile  = 12           // queries that share a step
	attendRows  = 4 * attendTile
	weighRows   = 6 // queries whose sums stay in registers
)

// AttendTokens returns the number of tokens whose queries pass over the keys together, if so many
// heads share a head of keys.
func AttendTokens(heads int) int { return max(1, attendRows/heads) }

// MostTogether is the number of heads that can share a head of keys so that the queries of a token
// pass over the keys together.
const MostTogether = attendRows

// An Attention is the working memory of Attend, independent of the context. It holds the
// queries that pass over the keys together. One call at a time may use it.
type Attention struct {
	dim     int                   // the largest
	dots    bool                  // queries and exponentials are pairs of bfloat16
	ahead   int                   // bytes to the keys and values that are brought
	calls   uint32                // of bringing
	queries []float32             // (attendRows, Dim), scaled
	scores  []float32             // (blocks of a segment, attendTile, attendBlock), then their exponentials
	sums    []float32             // (attendRows, Dim padded) Σ exp(score-top)*value
	first   [attendRows]int       // the first key that a row sees
	seen    [attendRows]int       // the end of the keys that a row sees
	top     [attendRows]float32   // of the scores
	total   [attendRows]float32   // Σ exp(score-top)
	slopes  [attendRows]float32   // of rows, if the queries have slopes
	biases  [attendRows][]float32 // of rows, by key, if the queries have biases
	factors [attendTile]float32   // exp(top before - top)
	counts  [attendTile]int       // tokens of the block that a query sees
	scales  [attendBlock]float32  // of the values of a block, with KVQ8
	earlier struct {              // sums, top and total of segments before the current one
		sums       []float32
		top, total [attendRows]float32
	}
}

// NewAttention returns working memory for heads of at most dim dimensions.
func NewAttention(dim int) *Attention {
	a := &Attention{
		dim:     dim,
		ahead:   nearKeys,
		queries: aligned(attendRows * dim),
		scores:  aligned(attendTile*attendSegment + keyPanel),
		sums:    aligned(attendRows * valueStride(dim)),
	}
	a.earlier.sums = aligned(attendRows * valueStride(dim))
	return a
}

// Attend computes out = softmax(cap(q·keysᵀ*scale)) · values for every query, block of
// keys by block with a running maximum and sum (Milakov and Gimelshein 2018, algorithm 3;
// Dao et al. 2022, algorithm 1). A row's result does not depend, to the bit, on other
// rows or on keys and values that it does not see, nor on the size of a ring, which must
// have kept all that some row sees. Maximum and sum begin again with each segment of keys.
func (k *Kernels) Attend(a *Attention, q *Queries, kv KV) {
	q.check(a, kv)
	a.dots = k.usesDots(kv)
	rows := q.Tokens * q.Heads
	if rows == 1 && !a.dots && 0 < q.Seen && q.Seen <= attendBlock && q.seesAll() && k.attendRow(a, q, kv) {
		return
	}
	for first := 0; first < rows; first += attendRows {
		n := min(attendRows, rows-first)
		k.loadQueries(a, q, first, n, kv.Dim)
		from, stride := a.first[0]/attendSegment, valueStride(kv.Dim)
		for s := from; s*attendSegment < a.seen[n-1]; s++ {
			if s > from {
				k.suspend(a, n, s, stride)
			}
			k.attendKeys(a, q, kv, n, s)
		}
		k.resume(a, n, stride)
		k.divideSums(a, q, first, n, kv.Dim)
	}
}

// check panics if the queries see keys that are not there.
func (q *Queries) check(a *Attention, kv KV) {
	if kv.Dim > a.dim || q.Seen < 0 {
		panic("kernel: attention beyond its scratch, or to less than nothing")
	}
	if kv.Ring%attendBlock != 0 || kv.Ring > 0 && q.misses(kv.Ring) {
		panic("kernel: attention to keys that the ring has not kept")
	}
	if !q.Causal && q.Window > 0 && q.First+q.Tokens-q.Window >= q.Seen {
		panic("kernel: attention in a window around a key that is not there")
	}
}

// seesAll reports whether the first token sees all keys before its end, without sinks, slopes
// and biases.
func (q *Queries) seesAll() bool {
	if q.Sinks != nil || q.Slopes != nil || q.biased() {
		return false
	}
	if q.Window == 0 && q.Chunk == 0 {
		return true
	}
	from, to := q.keys(0)
	return from == 0 && to == q.Seen
}

// biasesOf returns the biases of a token's scores, by key.
func (q *Queries) biasesOf(head, token int) []float32 {
	if q.PairBiases != nil {
		return q.PairBiases[(token*q.Heads+head)*q.Seen:][:q.Seen]
	}
	all := q.Biases[head]
	if q.Causal {
		return all[len(all)-q.Seen-token:]
	}
	return all[q.Seen-1-q.First-token:][:q.Seen]
}

// loadQueries loads n rows, beginning with row first.
func (k *Kernels) loadQueries(a *Attention, q *Queries, first, n, dim int) {
	token, head, stride := first/q.Heads, first%q.Heads, valueStride(dim)
	for i := range n {
		copy(a.queries[i*dim:(i+1)*dim], q.In[token*q.InStride+head*dim:][:dim])
		a.top[i], a.total[i] = float32(math.Inf(-1)), 0
		if q.Sinks != nil {
			a.top[i], a.total[i] = q.Sinks[head], 1
		}
		if q.Slopes != nil {
			a.slopes[i] = q.Slopes[head]
		}
		if q.biased() {
			a.biases[i] = q.biasesOf(head, token)
		}
		if a.first[i], a.seen[i] = q.keys(token); a.first[i] >= attendBlock { // otherwise the first block clears them
			clear(a.sums[i*stride : (i+1)*stride])
		}
		if head++; head == q.Heads {
			token, head = token+1, 0
		}
	}
	scale(k.isa, a.queries[:n*dim], q.Scale)
	if a.dots {
		for i := range n {
			pairUp(a.queries[i*dim : (i+1)*dim])
		}
	}
}

// usesDots reports whether queries and exponentials are rounded to bfloat16, as keys and values are, so
// that products of pairs can be added. A row's result is then the same to the bit as alone, as ever,
// but not that of other implementations.
func (k *Kernels) usesDots(kv KV) bool {
	return k.dots && kv.Format == KVBF16 && kv.Dim%keyPanel == 0
}

// divideSums writes the results of n rows, beginning with row first.
func (k *Kernels) divideSums(a *Attention, q *Queries, first, n, dim int) {
	token, head, stride := first/q.Heads, first%q.Heads, valueStride(dim)
	for i := range n {
		out := q.Out[token*q.OutStride+head*dim:][:dim]
		if a.seen[i] > 0 {
			copy(out, a.sums[i*stride:])
			scale(k.isa, out, 1/a.total[i])
		} else {
			clear(out)
		}
		if head++; head == q.Heads {
			token, head = token+1, 0
		}
	}
}

// A keyBlock is a block of keys and the rows that see some of it: a tile of them at most.
type keyBlock struct {
	at       int // the first key
	from, to int // rows
	scores   []float32
}

// block returns the block beginning with a key and those of the rows from, ..., to-1 that see some of it:
// rows see later and later tokens, so the first may have seen their last before it, and the last may see
// their first after it. number counts the blocks whose scores are kept.
func (a *Attention) block(from, to, at, number int) keyBlock {
	rows := to - from
	for from < to && a.first[to-1] >= at+attendBlock {
		to--
	}
	for from < to && a.seen[from] <= at {
		from++
	}
	return keyBlock{at: at, from: from, to: to, scores: a.scores[number*rows*attendBlock:]}
}

// tokens returns the number of keys that the last row sees.
func (b *keyBlock) tokens(a *Attention) int { return min(attendBlock, a.seen[b.to-1]-b.at) }

// scoreBlock computes the scores of a block.
func (k *Kernels) scoreBlock(a *Attention, kv KV, b keyBlock) {
	if b.from == b.to {
		return
	}
	panels, rows := (b.tokens(a)+keyPanel-1)/keyPanel, b.to-b.from
	dst, queries, keys := b.scores[:rows*attendBlock], a.queries[b.from*kv.Dim:b.to*kv.Dim], kv.panels(kv.slot(b.at), panels)
	if a.dots {
		scoreDots(dst, queries, keys, kv.Dim, panels, rows, a.ahead)
	} else {
		score(k.isa, kv.Format, dst, queries, keys, kv.Dim, panels, rows, a.ahead)
	}
}

// weighBlock adds the values of a block, which has scores, to the sums of its rows.
func (k *Kernels) weighBlock(a *Attention, kv KV, q *Queries, b keyBlock) {
	if b.from == b.to {
		return
	}
	most, rows, stride, slot := b.tokens(a), b.to-b.from, valueStride(kv.Dim), kv.slot(b.at)
	for r, seen := range a.seen[b.from:b.to] {
		a.counts[r] = min(attendBlock, seen-b.at)
	}
	if q.treats() || a.first[b.to-1] > b.at {
		k.treat(a, q, b)
	}
	k.soften(a, b)
	if kv.Format == KVQ8 {
		k.scaleValues(a, b.scores, kv.panels(slot, (most+keyPanel-1)/keyPanel), kv.Dim, rows, most)
	}
	values := kv.Values[kv.Format.words(slot*stride):][:kv.Format.words(most*stride)]
	// The last rows may begin within the block: each reads its own range of values.
	whole := rows
	for whole > 0 && a.first[b.from+whole-1] > b.at {
		whole--
		r, begin := whole, a.first[b.from+whole]-b.at
		a.counts[r] -= begin
		k.weigh(a, kv, b, r, r+1, begin, values[kv.Format.words(begin*stride):])
	}
	parts := (whole + weighRows - 1) / weighRows
	for p := range parts {
		r, end := whole*p/parts, whole*(p+1)/parts
		k.weigh(a, kv, b, r, end, 0, values)
	}
}

// treats reports whether scores are more than products.
func (q *Queries) treats() bool { return q.Cap.Kind != CapNone || q.Slopes != nil || q.biased() }

// biased reports whether biases are added to scores.
func (q *Queries) biased() bool { return q.Biases != nil || q.PairBiases != nil }

// treat bounds the scores of a block, adds what depends on the distance, and hides keys that a row does
// not see.
func (k *Kernels) treat(a *Attention, q *Queries, b keyBlock) {
	for r := range b.to - b.from {
		scores, row := b.scores[r*attendBlock:][:a.counts[r]], b.from+r
		k.Bound(scores, q.Cap)
		if q.Slopes != nil {
			slope(scores, a.slopes[row], b.at-(a.seen[row]-1))
		}
		if q.biased() {
			add(k.isa, scores, a.biases[row][b.at:b.at+len(scores)])
		}
		for i := range max(0, a.first[row]-b.at) {
			scores[i] = float32(math.Inf(-1))
		}
	}
}

// soften turns the scores of a block into exponentials.
func (k *Kernels) soften(a *Attention, b keyBlock) {
	rows := b.to - b.from
	scores, counts, factors := b.scores[:rows*attendBlock], a.counts[:rows], a.factors[:rows]
	if a.dots {
		softenDots(scores, counts, a.top[b.from:b.to], a.total[b.from:b.to], factors)
	} else {
		soften(k.isa, scores, counts, a.top[b.from:b.to], a.total[b.from:b.to], factors)
	}
}

// weigh adds values to the sums of the rows r, ..., end-1 of a block. Their exponentials begin at a token
// of the block, as values do.
func (k *Kernels) weigh(a *Attention, kv KV, b keyBlock, r, end, begin int, values []float32) {
	stride, fresh := valueStride(kv.Dim), b.at == 0
	sums, p := a.sums[(b.from+r)*stride:(b.from+end)*stride], b.scores[r*attendBlock:]
	factors, counts := a.factors[r:end], a.counts[r:end]
	if !a.dots {
		weigh(k.isa, kv.Format, sums, p[begin:(end-r)*attendBlock], values, factors, counts, stride, a.ahead, fresh)
		return
	}
	pairs := narrowed(p)[begin:]
	for i, n := range counts {
		if n%2 == 1 {
			pairs[i*2*attendBlock+n] = 0 // of the last pair
		}
	}
	weighDots(sums, pairs, values, factors, counts, stride, a.ahead, fresh)
}

// slope adds slope*(distance+i) to score i (Press et al. 2022, ALiBi). The first score's
// distance to the query is not positive.
func slope(scores []float32, slope float32, distance int) {
	for i := range scores {
		scores[i] += float32(slope * float32(distance+i))
	}
}
