package transformer

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
		do(w.spans[i/s.KVHeads], i%s.KVHeads)
	}
}

// selfAttention computes a layer's attention of the decoder into heads: each token
// sees those before it and itself.
func (w *worker) selfAttention(index int) {
	l, s := &w.m.decoder[index], &w.m.Decoder
	w.eachHead(s, func(sp span, head int) {
		fit(&w.scores, sp.cache.Capacity())
		keys, values := sp.cache.layers[index].head(head, sp.start+sp.n, s.HeadDim)
		w.remember(keys, values, s, sp, head)
		for j := range sp.n {
			w.attend(keys, values, s, l, w.qkv, l.qkv.rows, sp.row+j, head, sp.start+j+1)
		}
	})
}

// fullAttention computes a layer's attention of the encoder into heads: each token
// sees the whole text.
func (w *worker) fullAttention(l *layer) {
	s := &w.m.Encoder
	w.eachHead(s, func(sp span, head int) {
		size := sp.n * s.HeadDim
		fit(&w.store, 2*size)
		fit(&w.scores, sp.n)
		keys, values := w.store[:size], w.store[size:]
		w.remember(keys, values, s, sp, head)
		for j := range sp.n {
			w.attend(keys, values, s, l, w.qkv, l.qkv.rows, sp.row+j, head, sp.n)
		}
	})
}

// crossAttention computes a layer's attention to the encoded texts into heads.
func (w *worker) crossAttention(index int) {
	l, s := &w.m.decoder[index], &w.m.Decoder
	w.eachHead(s, func(sp span, head int) {
		fit(&w.scores, sp.memory.Len)
		keys, values := sp.memory.layers[index].head(head, sp.memory.Len, s.HeadDim)
		for j := range sp.n {
			w.attend(keys, values, s, l, w.qkv, l.crossQ.rows, sp.row+j, head, sp.memory.Len)
		}
	})
}

// remember turns the keys of a head, and the queries that it serves, and stores its
// keys and values at the end of keys and values (tokens, HeadDim).
func (w *worker) remember(keys, values []float32, s *Stack, sp span, head int) {
	dim, group := s.HeadDim, s.Heads/s.KVHeads
	queries, all := s.Heads*dim, s.KVHeads*dim
	end := len(keys) - sp.n*dim
	for j := range sp.n {
		row := w.qkv[(sp.row+j)*(queries+2*all):]
		key := row[queries+head*dim : queries+(head+1)*dim]
		if w.m.Position == RotaryEmbedding {
			w.rotate(row[head*group*dim:(head+1)*group*dim], sp.row+j, dim)
			w.rotate(key, sp.row+j, dim)
		}
		copy(keys[end+j*dim:], key)
		copy(values[end+j*dim:end+(j+1)*dim], row[queries+all+head*dim:])
	}
}

// rotate turns heads, (heads, HeadDim), by the position of a row.
func (w *worker) rotate(heads []float32, row, dim int) {
	n := len(w.m.Rotary.Frequencies)
	cos, sin := w.cos[row*n:(row+1)*n], w.sin[row*n:(row+1)*n]
	for at := 0; at < len(heads); at += dim {
		w.m.kernels.Rotate(heads[at:at+dim], cos, sin, w.m.Rotary.Interleaved)
	}
}

// attend computes the queries that a head of keys serves, of one row, over the first
// n tokens, into the row of heads. q has the row's queries first, with the given
// stride.
func (w *worker) attend(keys, values []float32, s *Stack, l *layer, q []float32, stride, row, head, n int) {
	dim, group := s.HeadDim, s.Heads/s.KVHeads
	out := w.heads[row*s.Heads*dim : (row+1)*s.Heads*dim]
	q = q[row*stride:]
	for h := head * group; h < (head+1)*group; h++ {
		w.m.kernels.Attend(out[h*dim:(h+1)*dim], q[h*dim:(h+1)*dim], keys[:n*dim], values[:n*dim], w.scores, n, l.scale, w.m.Cap)
	}
}
