package transformer

import (
	"math"

	"glossa/pkg/engine/kernel"
)

// A span locates the rows of a sequence in a pass.
type span struct {
	index   int       // of the sequence
	row, n  int       // first row, rows
	start   int       // position of the first
	seen    int       // tokens that those of an encoder see
	keys    *textKeys // of an encoder's text of which this is a part
	mutual  []mutual
	places  []Place // of its rows, if pictures move them
	windows []int   // rows of each window of a picture
	cache   *Cache
	memory  *Memory
}

// eachHead calls do for the worker's share of spans and heads of keys.
func (w *worker) eachHead(a *Attention, do func(sp span, head int)) {
	from, to := w.share(len(w.spans) * a.KVHeads)
	w.someHeads(a, from, to, do)
}

// dealHeads is eachHead with pieces of the workers' shares: of those of workers that have begun
// theirs, unless all is ready. A barrier follows it.
func (w *worker) dealHeads(a *Attention, ready bool, do func(sp span, head int)) {
	const pieces = 16 // of a share
	n := len(w.spans) * a.KVHeads
	w.deal(n, n/(w.count*pieces), ready, func(from, to, _ int) { w.someHeads(a, from, to, do) })
}

func (w *worker) someHeads(a *Attention, from, to int, do func(sp span, head int)) {
	for i := from; i < to; i++ {
		if sp := w.spans[i/a.KVHeads]; sp.n > 0 {
			do(sp, i%a.KVHeads)
		}
	}
}

// normaliseQK normalises queries and keys, of all heads as one: the worker's share of rows.
func (w *worker) normaliseQK(l *layer) {
	a := &l.Attention
	if a.QKNorm != QKNormAll {
		return // storeKV normalises these
	}
	queries, keys := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	from, to := w.share(w.tokens)
	for i := from; i < to; i++ {
		row := w.qkv[i*l.Attention.rows() : (i+1)*l.Attention.rows()]
		w.m.normalise(row[:queries], row[:queries], l.qNorm)
		if a.KVLayer == 0 {
			w.m.normalise(row[queries:queries+keys], row[queries:queries+keys], l.kNorm)
		}
	}
	w.barrier.wait()
}

// attend computes a layer's attention of the decoder into heads, with its gates.
func (w *worker) attend(index int) {
	w.selfAttention(index)
	a := &w.m.decoder[index].Attention
	if !a.Gated {
		return
	}
	w.barrier.wait() // for the heads of other workers
	n, rows := a.Heads*a.HeadDim, a.rows()
	if a.HeadGates {
		from, to := w.share(a.Heads)
		for i := range w.tokens {
			end := (i+1)*rows - a.Heads
			w.gateWhole(w.heads[i*n+from*a.HeadDim:i*n+to*a.HeadDim], w.qkv[end+from:end+to], a.HeadDim)
		}
		return
	}
	c := w.own(n)
	for i := range w.tokens {
		w.gateHeads(w.heads[i*n+c.from:i*n+c.to], w.qkv[(i+1)*rows-n+c.from:(i+1)*rows-n+c.to])
	}
}

// gateHeads multiplies y by σ(gates) = (1 + tanh(gates/2))/2. It overwrites the gates.
func (w *worker) gateHeads(y, gates []float32) {
	k := w.m.kernels
	k.Scale(gates, 0.5)
	k.Bound(gates, kernel.Cap{Kind: kernel.CapTanh, Value: 1})
	k.MulAdd(y, y, gates)
	k.Scale(y, 0.5)
}

// gateWhole multiplies heads y, (heads, dim), by σ of a gate each. It overwrites the gates.
func (w *worker) gateWhole(y, gates []float32, dim int) {
	k := w.m.kernels
	k.Scale(gates, 0.5)
	k.Bound(gates, kernel.Cap{Kind: kernel.CapTanh, Value: 1})
	for i, g := range gates {
		k.Scale(y[i*dim:(i+1)*dim], 0.5+float32(0.5*g))
	}
}

// selfAttention computes a layer's attention of the decoder into heads: each token
// sees itself and those before it, as far as the layer's window reaches.
func (w *worker) selfAttention(index int) {
	w.normaliseQK(&w.m.decoder[index])
	a, slot := &w.m.decoder[index].Attention, w.m.decoder[index].slot
	w.eachHead(a, func(sp span, head int) { // all first: loads that follow stores at once are slow
		w.storeSpan(index, sp.part(0, sp.fits(slot, 0)), head)
	})
	switch w.divided(index) {
	case byTokens:
		w.barrier.wait() // for the keys that other workers have stored
		w.attendTokens(index)
		return
	case byKeys:
		w.barrier.wait()
		w.attendKeys(index)
		return
	}
	w.dealHeads(a, false, func(sp span, head int) {
		at := sp.fits(slot, 0)
		w.attendSpan(index, sp.part(0, at), head)
		for at < sp.n { // a ring is full
			part := sp.part(at, sp.fits(slot, at))
			w.storeSpan(index, part, head)
			w.attendSpan(index, part, head)
			at += part.n
		}
	})
}

// part returns n rows of a span, beginning with row at.
func (sp span) part(at, n int) span {
	sp.row, sp.start, sp.n = sp.row+at, sp.start+at, n
	return sp
}

// storeSpan stores the keys and values of a span's head in its cache.
func (w *worker) storeSpan(index int, sp span, head int) {
	w.storeKV(w.kept(sp, index, head), sp.start, &w.m.decoder[index], sp, head)
}

// attendSpan computes the attention of a span's queries to a head of its cache.
func (w *worker) attendSpan(index int, sp span, head int) {
	if sp.mutual != nil {
		w.attendMutual(index, sp, head)
		return
	}
	w.m.kernels.Attend(w.attention, w.causal(index, sp, head), w.kept(sp, index, head))
}

// kept returns the keys and values of a head that a layer reads in the cache of a span.
func (w *worker) kept(sp span, index, head int) kernel.KV {
	return sp.cache.layers[w.m.decoder[index].slot].head(head)
}

// causal returns the queries of a span for a head of its cache.
func (w *worker) causal(index int, sp span, head int) *kernel.Queries {
	l := &w.m.decoder[index]
	q := w.queries(l, l.Attention.rows(), sp, head)
	q.Seen, q.Causal = sp.start+1, true
	q.Window, q.Chunk, q.Sinks, q.Slopes = l.Attention.Window, l.Attention.Chunk, l.headSinks(head), l.headSlopes(head)
	q.Biases = w.headBiases(l, sp.start+sp.n, head, w.m.causalRelative, w.m.causalBiases)
	return q
}

// fullAttention computes a layer's attention of the encoder into heads: each token
// sees the text on both sides, as far as the layer's window reaches.
func (w *worker) fullAttention(l *layer) {
	if w.uneven(&l.Attention) && w.long(&l.Attention) && !l.Attention.Local && l.Attention.Slopes == nil {
		w.fullTokens(l)
		return
	}
	layer := w.storeParts(l)
	w.dealHeads(&l.Attention, true, func(sp span, head int) {
		if !l.Attention.Local {
			w.attendAll(l, layer, sp, head)
			return
		}
		at := 0
		for _, n := range sp.windows {
			part := sp.part(at, n)
			part.start, part.seen = 0, n
			w.attendAll(l, layer, part, head)
			at += n
		}
	})
}

// attendAll computes the attention of a span's queries to a head of its own keys or, of a part of a text, to
// those of the whole.
func (w *worker) attendAll(l *layer, layer int32, sp span, head int) {
	kv, tokens := kernel.KV{}, sp.n
	if sp.keys != nil {
		kv, tokens = sp.keys.head(&l.Attention, layer, head), sp.keys.tokens
	} else {
		size, all := kernel.KVLen(kernel.KVF32, sp.n, l.Attention.HeadDim)
		fit(&w.store, size+all)
		kv = kernel.KV{Keys: w.store[:size], Values: w.store[size:], Dim: l.Attention.HeadDim}
		w.storeKV(kv, 0, l, sp, head)
	}
	if l.disentangled != nil {
		w.attendDistances(l, kv, sp, head)
		return
	}
	q := w.queries(l, l.Attention.rows(), sp, head)
	q.First, q.Seen, q.Window, q.Sinks = sp.start, sp.seen, l.Attention.Window, l.headSinks(head)
	if q.Biases = w.headBiases(l, 2*tokens-1, head, w.m.relative, w.m.relativeBiases); l.Attention.Slopes != nil {
		q.Biases = w.biasRows(l, 2*tokens-1, head, func(dst []float32, head int) { slopeBiases(dst, l.Attention.Slopes[head]) })
	}
	w.m.kernels.Attend(w.attention, q, kv)
}

// headBiases returns n relative biases of each of the queries of a head of keys, which write
// computes from the layer's table, or else from that of its stack.
func (w *worker) headBiases(l *layer, n, head int, table []float32, write func(dst, table []float32, head int)) [][]float32 {
	if w.m.RelativeBuckets == 0 {
		return nil
	}
	if l.relative != nil {
		table = l.relative
	}
	return w.biasRows(l, n, head, func(dst []float32, head int) { write(dst, table, head) })
}

// biasRows returns n biases, which write computes, of each of the queries of a head of keys.
func (w *worker) biasRows(l *layer, n, head int, write func(dst []float32, head int)) [][]float32 {
	group := l.Attention.Heads / l.Attention.KVHeads
	fit(&w.bias, group*n)
	w.biases = w.biases[:0]
	for i := range group {
		row := w.bias[i*n : (i+1)*n]
		write(row, head*group+i)
		w.biases = append(w.biases, row)
	}
	return w.biases
}

// crossAttention computes a layer's attention to the encoded texts into heads.
func (w *worker) crossAttention(index int) {
	l := &w.m.decoder[index]
	w.dealHeads(&l.Attention, true, func(sp span, head int) {
		q := w.queries(l, l.crossQ.rows, sp, head)
		q.Seen = sp.memory.Len
		w.m.kernels.Attend(w.attention, q, sp.memory.layers[index].head(head))
	})
}

// headSinks returns the sinks of the queries of a head of keys.
func (l *layer) headSinks(head int) []float32 {
	if l.sinks == nil {
		return nil
	}
	group := l.Attention.Heads / l.Attention.KVHeads
	return l.sinks[head*group : (head+1)*group]
}

// headSlopes returns the slopes of the queries of a head of keys.
func (l *layer) headSlopes(head int) []float32 {
	if l.Attention.Slopes == nil {
		return nil
	}
	group := l.Attention.Heads / l.Attention.KVHeads
	return l.Attention.Slopes[head*group : (head+1)*group]
}

// growth returns the factor of queries at a position.
func (a *Attention) growth(position int) float32 {
	return 1 + float32(a.Growth*float32(math.Log(float64(1+position/a.GrowthStep))))
}

// storeKV normalises and rotates the keys of a head and its queries, and stores keys and
// values as tokens at, at+1, ... If the layer reads those of another, there are only queries.
func (w *worker) storeKV(kv kernel.KV, at int, l *layer, sp span, head int) {
	a := &l.Attention
	dim, group := a.HeadDim, a.Heads/a.KVHeads
	queries, all := a.Heads*dim, a.KVHeads*dim
	stride := l.Attention.rows()
	rows := w.qkv[sp.row*stride : (sp.row+sp.n)*stride]
	each := a.QKNorm == QKNormHead || a.QKNorm == QKNormEachHead
	if each || a.Rotary > 0 || a.Growth > 0 || a.ValueNorm || a.KeysAsValues {
		for j := range sp.n {
			q := rows[j*stride+head*group*dim:][:group*dim]
			var k, v []float32
			if a.KVLayer == 0 {
				k = rows[j*stride+queries+head*dim:][:dim]
			}
			switch {
			case a.KeysAsValues:
				fit(&w.value, dim)
				v = w.value
				copy(v, k)
			case a.KVLayer == 0:
				v = rows[j*stride+queries+all+head*dim:][:dim]
			}
			if a.ValueNorm && v != nil {
				w.m.normalise(v, v, norm{weight: w.m.ones})
			}
			if each && !a.RotatedNorm {
				w.normaliseHeads(l, q, k, head)
			}
			if a.Rotary > 0 {
				w.rotate(q, sp.row+j, a)
				w.rotate(k, sp.row+j, a)
			}
			if a.RotatedNorm {
				w.normaliseHeads(l, q, k, head)
			}
			if a.Growth > 0 {
				w.m.kernels.Scale(q, a.growth(at+j))
			}
			if a.KeysAsValues {
				w.m.kernels.Store(kv, at+j, k, v, 1, dim)
			}
		}
	}
	if a.KVLayer == 0 && !a.KeysAsValues {
		w.m.kernels.Store(kv, at, rows[queries+head*dim:], rows[queries+all+head*dim:], sp.n, stride)
	}
}

// normaliseHeads normalises a key, unless it is nil, and the queries of its head, (heads, HeadDim).
func (w *worker) normaliseHeads(l *layer, queries, key []float32, head int) {
	dim := l.Attention.HeadDim
	of := func(n norm, head int) norm {
		if l.Attention.QKNorm == QKNormHead {
			return n
		}
		if n.weight != nil {
			n.weight = n.weight[head*dim:]
		}
		if n.bias != nil {
			n.bias = n.bias[head*dim:]
		}
		return n
	}
	group := len(queries) / dim
	for i := range group {
		q := queries[i*dim : (i+1)*dim]
		w.m.normalise(q, q, of(l.qNorm, head*group+i))
	}
	if key != nil {
		w.m.normalise(key, key, of(l.kNorm, head))
	}
}

// rotate rotates heads, (heads, HeadDim), by the position of a row.
func (w *worker) rotate(heads []float32, row int, a *Attention) {
	r, angles := &w.m.Rotaries[a.Rotary-1], &w.angles[a.Rotary-1]
	n := len(r.Frequencies)
	cos, sin := angles.cos[row*n:(row+1)*n], angles.sin[row*n:(row+1)*n]
	for at := 0; at < len(heads); at += a.HeadDim {
		w.m.kernels.Rotate(heads[at:at+a.HeadDim], cos, sin, r.Interleaved)
	}
}

// queries returns the queries of a span for a head of keys, with results in heads. In qkv
// they come first in each row; rows are a stride apart.
func (w *worker) queries(l *layer, stride int, sp span, head int) *kernel.Queries {
	a := &l.Attention
	group, width := a.Heads/a.KVHeads, a.Heads*a.HeadDim
	first := head * group * a.HeadDim
	w.scratch = kernel.Queries{
		In: w.qkv[sp.row*stride+first : (sp.row+sp.n)*stride], InStride: stride,
		Out: w.heads[sp.row*width+first : (sp.row+sp.n)*width], OutStride: width,
		Tokens: sp.n, Heads: group, Scale: l.scale, Cap: l.cap,
	}
	return &w.scratch
}
