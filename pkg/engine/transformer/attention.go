package transformer

import "glossa/pkg/engine/kernel"

// span is where a sequence's rows lie in a pass.
type span struct {
	index  int // of the sequence
	row, n int // first row, rows
	start  int // position of the first
	cache  *Cache
	memory *Memory
}

// eachHead calls do with the spans and the heads of keys that are the worker's.
func (w *worker) eachHead(s *Stack, do func(sp span, head int)) {
	from, to := w.share(len(w.spans) * s.KVHeads)
	for i := from; i < to; i++ {
		if sp := w.spans[i/s.KVHeads]; sp.n > 0 {
			do(sp, i%s.KVHeads)
		}
	}
}

// selfAttention computes a layer's attention of the decoder into heads: each token
// sees those before it and itself.
func (w *worker) selfAttention(index int) {
	l, s := &w.m.decoder[index], &w.m.Decoder
	w.eachHead(s, func(sp span, head int) { // first, since what was just stored is slow to load
		w.remember(sp.cache.layers[index].head(head), sp.start, s, sp, head)
	})
	w.eachHead(s, func(sp span, head int) {
		kv := sp.cache.layers[index].head(head)
		w.attend(kv, s, l, l.qkv.rows, sp, head, sp.start+1, true)
	})
}

// fullAttention computes a layer's attention of the encoder into heads: each token
// sees the whole text.
func (w *worker) fullAttention(l *layer) {
	s := &w.m.Encoder
	w.eachHead(s, func(sp span, head int) {
		size, all := kernel.KVLen(sp.n, s.HeadDim)
		fit(&w.store, size+all)
		kv := kernel.KV{Keys: w.store[:size], Values: w.store[size:], Dim: s.HeadDim}
		w.remember(kv, 0, s, sp, head)
		w.attend(kv, s, l, l.qkv.rows, sp, head, sp.n, false)
	})
}

// crossAttention computes a layer's attention to the encoded texts into heads.
func (w *worker) crossAttention(index int) {
	l, s := &w.m.decoder[index], &w.m.Decoder
	w.eachHead(s, func(sp span, head int) {
		kv := sp.memory.layers[index].head(head)
		w.attend(kv, s, l, l.crossQ.rows, sp, head, sp.memory.Len, false)
	})
}

// remember turns the keys of a head, and the queries that it serves, and stores its
// keys and values as the tokens from at on.
func (w *worker) remember(kv kernel.KV, at int, s *Stack, sp span, head int) {
	dim, group := s.HeadDim, s.Heads/s.KVHeads
	queries, all := s.Heads*dim, s.KVHeads*dim
	stride := queries + 2*all
	rows := w.qkv[sp.row*stride : (sp.row+sp.n)*stride]
	if w.m.Position == RotaryEmbedding {
		for j := range sp.n {
			row := rows[j*stride:]
			w.rotate(row[head*group*dim:(head+1)*group*dim], sp.row+j, dim)
			w.rotate(row[queries+head*dim:queries+(head+1)*dim], sp.row+j, dim)
		}
	}
	w.m.kernels.Store(kv, at, rows[queries+head*dim:], rows[queries+all+head*dim:], sp.n, stride)
}

// rotate turns heads, (heads, HeadDim), by the position of a row.
func (w *worker) rotate(heads []float32, row, dim int) {
	n := len(w.m.Rotary.Frequencies)
	cos, sin := w.cos[row*n:(row+1)*n], w.sin[row*n:(row+1)*n]
	for at := 0; at < len(heads); at += dim {
		w.m.kernels.Rotate(heads[at:at+dim], cos, sin, w.m.Rotary.Interleaved)
	}
}

// attend computes the queries of a span that a head of keys serves into heads. They lie
// first in the rows of qkv, a stride apart; the first token sees so many keys, with
// causal each later one sees one more.
func (w *worker) attend(kv kernel.KV, s *Stack, l *layer, stride int, sp span, head, seen int, causal bool) {
	group, width := s.Heads/s.KVHeads, s.Heads*s.HeadDim
	first := head * group * s.HeadDim
	w.m.kernels.Attend(w.attention, &kernel.Queries{
		In: w.qkv[sp.row*stride+first : (sp.row+sp.n)*stride], InStride: stride,
		Out: w.heads[sp.row*width+first : (sp.row+sp.n)*width], OutStride: width,
		Tokens: sp.n, Heads: group, Seen: seen, Causal: causal,
		Scale: l.scale, Cap: w.m.Cap,
	}, kv)
}
