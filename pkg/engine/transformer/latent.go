package transformer

import "cmp"

// Latent describes multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", sec. 2.1). All heads
// share the key of a token: Shared values, which are rotated, and then a latent vector c of the
// other HeadDim-Shared values, which is the value too. With the matrices K and V of a head, c stands for
// the key Kᵀc and the value Vc of that head, so that caches hold c instead of these. A query q of
// KeyDim values, which meets q·Kᵀc, becomes Kq, behind its own Shared values.
//
// The first product gives queries (Heads, KeyDim+Shared), c before its norm, and the Shared values of the
// key. With QueryRank it gives a vector of this width instead of the queries, of whose norm another
// product makes them.
//
// Its attention has one head of keys and KeysAsValues. Decoders without an encoder only.
type Latent struct {
	QueryRank int `json:"query_rank,omitempty"`
	KeyDim    int `json:"key_dim"`   // of what a query has for c
	Shared    int `json:"shared"`    // of what the rotary embedding may rotate
	ValueDim  int `json:"value_dim"` // of the result of a head

	Eps float32 `json:"eps,omitempty"` // of the norms of the narrow vectors; 0: that of all norms
}

// queries returns the values of all queries of a token.
func (l *Latent) queries(heads int) int { return heads * (l.KeyDim + l.Shared) }

// rank returns the width of the latent vector of keys.
func (a *Attention) rank() int { return a.HeadDim - a.Latent.Shared }

// firstRows returns the rows of the first product.
func (a *Attention) firstRows() int {
	l := a.Latent
	if l == nil {
		return a.rows()
	}
	first := l.QueryRank
	if first == 0 {
		first = l.queries(a.Heads)
	}
	return first + a.HeadDim
}

// compared returns the width of what a head compares, of which its scale is by default the root's
// reciprocal.
func (a *Attention) compared() int {
	if l := a.Latent; l != nil {
		return l.KeyDim + l.Shared
	}
	return a.HeadDim
}

// results returns the values of the results of all heads, which the last product reads.
func (a *Attention) results() int {
	if a.Latent != nil {
		return a.Heads * a.Latent.ValueDim
	}
	return a.Heads * a.HeadDim
}

// latentHeads returns the number of heads with matrices of their own.
func (a *Attention) latentHeads() int {
	if a.Latent == nil {
		return 0
	}
	return a.Heads
}

// scratch returns how many values a token has in Pass.latent.
func (a *Attention) scratch() int {
	if a.Latent == nil {
		return 0
	}
	return max(a.firstRows(), a.results())
}

// latent has the weights of a layer with a [Latent].
type latent struct {
	*Latent
	queries      linear // (queries, QueryRank), of QueryRank
	keys, values []linear
}

// latentAttention computes the attention branch of layer i of the decoder, which reads in.
func (w *worker) latentAttention(i int, in []float32) {
	l := &w.m.decoder[i]
	t, a := l.latent, &l.Attention
	stride := a.firstRows()
	w.apply(&l.qkv, w.latent, in, w.tokens, nil)
	w.barrier.wait()
	queries, width := w.latent, stride
	if t.QueryRank > 0 {
		queries, width = w.heads, t.queries.rows
		w.apply(&t.queries, queries, w.narrowQueries(l, stride), w.tokens, nil)
		w.barrier.wait()
	}
	from, to := w.share(a.Heads)
	for h := from; h < to; h++ {
		w.compareLatents(l, h, queries, width)
	}
	w.shareKeys(l, stride)
	w.barrier.wait()
	w.inTurn(func() { w.attend(i) })
	for h := from; h < to; h++ {
		x := w.gatherColumns(w.heads, a.Heads*a.HeadDim, h*a.HeadDim+t.Shared, a.rank())
		w.headProduct(&t.values[h], w.latent[h*t.ValueDim:], a.results(), x)
	}
	w.barrier.wait()
	w.add(&l.out, w.latent, &l.attentionNorms)
}

// narrowQueries returns the norms of the vectors that queries are made of, with which rows of the first
// product begin.
func (w *worker) narrowQueries(l *layer, stride int) []float32 {
	n, eps := l.latent.QueryRank, cmp.Or(l.latent.Eps, w.m.Eps)
	x := w.gatherColumns(w.latent, stride, 0, n)
	for i := range w.tokens {
		w.m.normaliseBy(x[i*n:(i+1)*n], x[i*n:(i+1)*n], l.qNorm, eps)
	}
	return x
}

// gatherColumns returns copies of n values of each row of x, whose rows are a stride apart, beginning with
// value at.
func (w *worker) gatherColumns(x []float32, stride, at, n int) []float32 {
	fit(&w.gathered, w.tokens*n)
	for i := range w.tokens {
		copy(w.gathered[i*n:(i+1)*n], x[i*stride+at:])
	}
	return w.gathered
}

// headProduct writes the product of a head's matrix with x (tokens, in) to rows of dst, which are a
// stride apart.
func (w *worker) headProduct(l *linear, dst []float32, stride int, x []float32) {
	fit(&w.result, w.tokens*l.rows)
	w.multiplyColumns(l, w.result, x, w.tokens, columns{0, l.rows, l.rows}, true)
	for i := range w.tokens {
		copy(dst[i*stride:], w.result[i*l.rows:(i+1)*l.rows])
	}
}

// compareLatents writes the queries of a head as they meet keys. queries (tokens, width) begins with
// those of all heads.
func (w *worker) compareLatents(l *layer, head int, queries []float32, width int) {
	t, a := l.latent, &l.Attention
	rows, at, from := a.rows(), head*a.HeadDim, head*(t.KeyDim+t.Shared)
	x := w.gatherColumns(queries, width, from, t.KeyDim)
	w.headProduct(&t.keys[head], w.qkv[at+t.Shared:], rows, x)
	for i := range w.tokens {
		copy(w.qkv[i*rows+at:], queries[i*width+from+t.KeyDim:][:t.Shared])
	}
}

// shareKeys writes the keys that all heads share: the worker's share of rows.
func (w *worker) shareKeys(l *layer, stride int) {
	a := &l.Attention
	rows, shared, rank := a.rows(), a.Latent.Shared, a.rank()
	from, to := w.share(w.tokens)
	for i := from; i < to; i++ {
		last := w.latent[(i+1)*stride-a.HeadDim : (i+1)*stride]
		key := w.qkv[(i+1)*rows-a.HeadDim : (i+1)*rows]
		copy(key, last[rank:])
		w.m.normaliseBy(key[shared:], last[:rank], l.kNorm, cmp.Or(a.Latent.Eps, w.m.Eps))
	}
}
