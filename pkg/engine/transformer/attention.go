package transformer

// span is where a sequence's rows lie in a pass.
type span struct {
	row, n int // first row, rows
	start  int // position of the first
	cache  *Cache
	memory *Memory
}

// selfAttention computes a layer's attention of the decoder into out: each token
// sees those before it and itself.
func (p *Pass) selfAttention(index int) {
	l, s := &p.m.decoder[index], &p.m.Decoder
	l.qkv.apply(p.m.kernels, p.qkv, p.norm, p.tokens)
	for _, sp := range p.spans {
		store := &sp.cache.layers[index]
		p.remember(store, s, sp)
		for j := range sp.n {
			p.attend(store, s, l, p.qkv, l.qkv.rows(), sp.row+j, sp.start+j+1)
		}
	}
	l.out.apply(p.m.kernels, p.out, p.heads, p.tokens)
}

// fullAttention computes a layer's attention of the encoder into out: each token
// sees the whole text.
func (p *Pass) fullAttention(l *layer) {
	s := &p.m.Encoder
	l.qkv.apply(p.m.kernels, p.qkv, p.norm, p.tokens)
	for _, sp := range p.spans {
		size := sp.n * s.KVHeads * s.HeadDim
		fit(&p.store, 2*size)
		store := kv{keys: p.store[:size], values: p.store[size:], capacity: sp.n}
		p.remember(&store, s, sp)
		for j := range sp.n {
			p.attend(&store, s, l, p.qkv, l.qkv.rows(), sp.row+j, sp.n)
		}
	}
	l.out.apply(p.m.kernels, p.out, p.heads, p.tokens)
}

// crossAttention computes a layer's attention to the encoded texts into out.
func (p *Pass) crossAttention(index int) {
	l, s := &p.m.decoder[index], &p.m.Decoder
	l.crossQ.apply(p.m.kernels, p.qkv, p.norm, p.tokens)
	for _, sp := range p.spans {
		for j := range sp.n {
			p.attend(&sp.memory.layers[index], s, l, p.qkv, l.crossQ.rows(), sp.row+j, sp.memory.Len)
		}
	}
	l.crossOut.apply(p.m.kernels, p.out, p.heads, p.tokens)
}

// remember turns the queries and keys of a span and stores its keys and values.
func (p *Pass) remember(store *kv, s *Stack, sp span) {
	queries, keys := s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	for j := range sp.n {
		row := p.qkv[(sp.row+j)*(queries+2*keys):]
		if p.m.Position == RotaryEmbedding {
			p.rotate(row[:queries+keys], sp.row+j, s.HeadDim)
		}
		store.put(sp.start+j, row[queries:queries+keys], row[queries+keys:queries+2*keys], s.HeadDim)
	}
}

// rotate turns heads, (heads, HeadDim), by the position of a row.
func (p *Pass) rotate(heads []float32, row, dim int) {
	n := len(p.m.Rotary.Frequencies)
	cos, sin := p.cos[row*n:(row+1)*n], p.sin[row*n:(row+1)*n]
	for at := 0; at < len(heads); at += dim {
		p.m.kernels.Rotate(heads[at:at+dim], cos, sin, p.m.Rotary.Interleaved)
	}
}

// attend computes all heads of a row over n tokens of store, into the row of heads.
// q has the row's queries first, with the given stride.
func (p *Pass) attend(store *kv, s *Stack, l *layer, q []float32, stride, row, n int) {
	dim, group := s.HeadDim, s.Heads/s.KVHeads
	out := p.heads[row*s.Heads*dim : (row+1)*s.Heads*dim]
	q = q[row*stride:]
	fit(&p.scores, n)
	for h := range s.Heads {
		keys, values := store.head(h/group, n, dim)
		p.m.kernels.Attend(out[h*dim:(h+1)*dim], q[h*dim:(h+1)*dim], keys, values, p.scores, n, l.scale, p.m.Cap)
	}
}
