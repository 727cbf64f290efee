package transformer

// A Sequence is the part of a sequence that a pass computes: Tokens come after
// the tokens in Cache.
type Sequence struct {
	Cache  *Cache
	Tokens []int // ids below Vocab; Cache has room for them
	Logits int   // logits are wanted after the last so many tokens
}

// A Pass computes forward passes, keeping its scratch memory between them.
type Pass struct {
	m *Model

	x, norm, out []float32 // (tokens, width)
	qkv          []float32 // (tokens, 3*width)
	h, g         []float32 // (tokens, ffn)
	row          []float32 // scratch of the activation
	scores       []float32 // (context)
	wanted       []float32 // (outputs, width)
	logits       []float32 // (outputs, vocab)
}

// NewPass returns a pass over m.
func (m *Model) NewPass() *Pass { return &Pass{m: m} }

// Forward appends the sequences' tokens to their caches and returns the logits
// (outputs, vocab), row-major: for each sequence in turn those after its last
// Logits tokens. They are valid until the next call. A row's values do not depend,
// to the bit, on what else is computed with it.
func (p *Pass) Forward(seqs []Sequence) []float32 {
	m := p.m
	tokens, outputs := 0, 0
	for _, s := range seqs {
		tokens += len(s.Tokens)
		outputs += s.Logits
	}
	p.grow(tokens, outputs)
	p.embed(seqs)
	for i := range m.layers {
		p.attention(i, seqs, tokens)
		p.feedForward(&m.layers[i], tokens)
	}
	for _, s := range seqs {
		s.Cache.Len += len(s.Tokens)
	}
	p.pick(seqs)
	for i := range outputs {
		v := p.wanted[i*m.Width : (i+1)*m.Width]
		m.kernels.LayerNorm(v, v, m.final.weight, m.final.bias, layerNormEps)
	}
	p.logits = p.logits[:outputs*m.Vocab]
	if outputs > 0 {
		m.kernels.MatMul(p.logits, p.wanted, outputs, m.head)
	}
	return p.logits
}

// grow makes the scratch fit.
func (p *Pass) grow(tokens, outputs int) {
	m := p.m
	fit := func(s *[]float32, n int) {
		if cap(*s) < n {
			*s = make([]float32, n)
		}
		*s = (*s)[:n]
	}
	fit(&p.x, tokens*m.Width)
	fit(&p.norm, tokens*m.Width)
	fit(&p.out, tokens*m.Width)
	fit(&p.qkv, tokens*3*m.Width)
	fit(&p.scores, m.Context)
	fit(&p.wanted, outputs*m.Width)
	fit(&p.logits, outputs*m.Vocab)
	f := &m.layers[0].ffn // all layers have one shape
	fit(&p.h, tokens*f.up.Rows)
	fit(&p.row, f.act.depth*f.up.Rows)
	if f.gate != nil {
		fit(&p.g, tokens*f.up.Rows)
	}
}

// embed writes x = wte[token] + wpe[position].
func (p *Pass) embed(seqs []Sequence) {
	m, w, i := p.m, p.m.Width, 0
	for _, s := range seqs {
		for j, t := range s.Tokens {
			x, pos := p.x[i*w:(i+1)*w], s.Cache.Len+j
			copy(x, m.wte[t*w:(t+1)*w])
			m.kernels.Add(x, m.wpe[pos*w:(pos+1)*w])
			i++
		}
	}
}

// attention adds a layer's attention to x: x += out(softmax(cap(q·k/√dim))·v).
func (p *Pass) attention(index int, seqs []Sequence, tokens int) {
	m, k, l := p.m, p.m.kernels, &p.m.layers[index]
	p.normalise(l.attnNorm, tokens)
	k.MatMul(p.qkv, p.norm, tokens, l.qkv)
	i := 0
	for _, s := range seqs {
		p.remember(index, s, i)
		for j := range s.Tokens {
			p.attend(index, s.Cache, i+j, s.Cache.Len+j+1)
		}
		i += len(s.Tokens)
	}
	k.MatMul(p.out, p.norm, tokens, l.out)
	k.Add(p.x[:tokens*m.Width], p.out)
}

// remember stores the keys and values of a sequence's tokens, whose first is row i.
func (p *Pass) remember(layer int, s Sequence, i int) {
	w, dim := p.m.Width, p.m.Width/p.m.Heads
	keys, values := s.Cache.keys[layer], s.Cache.values[layer]
	for j := range s.Tokens {
		row := p.qkv[(i+j)*3*w : (i+j+1)*3*w]
		for h := range p.m.Heads {
			at := (h*s.Cache.capacity + s.Cache.Len + j) * dim
			copy(keys[at:at+dim], row[w+h*dim:])
			copy(values[at:at+dim], row[2*w+h*dim:])
		}
	}
}

// attend computes all heads of row i over the first n tokens of its sequence, into
// the row's place in norm.
func (p *Pass) attend(layer int, c *Cache, i, n int) {
	m, w, dim := p.m, p.m.Width, p.m.Width/p.m.Heads
	out, q := p.norm[i*w:(i+1)*w], p.qkv[i*3*w:i*3*w+w]
	for h := range m.Heads {
		at, end := h*c.capacity*dim, (h*c.capacity+n)*dim
		m.kernels.Attend(out[h*dim:(h+1)*dim], q[h*dim:(h+1)*dim],
			c.keys[layer][at:end], c.values[layer][at:end], p.scores, n, m.scale, m.limit)
	}
}

// feedForward adds a layer's feed-forward block to x.
func (p *Pass) feedForward(l *layer, tokens int) {
	p.normalise(l.ffnNorm, tokens)
	l.ffn.run(p.m.kernels, p.out, p.norm, p.h, p.g, p.row, tokens)
	p.m.kernels.Add(p.x[:tokens*p.m.Width], p.out)
}

// normalise writes the LayerNorm of each row of x to norm.
func (p *Pass) normalise(n norm, tokens int) {
	w := p.m.Width
	for i := range tokens {
		p.m.kernels.LayerNorm(p.norm[i*w:(i+1)*w], p.x[i*w:(i+1)*w], n.weight, n.bias, layerNormEps)
	}
}

// pick gathers the rows of x whose logits are wanted.
func (p *Pass) pick(seqs []Sequence) {
	w, end, to := p.m.Width, 0, 0
	for _, s := range seqs {
		end += len(s.Tokens)
		to += copy(p.wanted[to:], p.x[(end-s.Logits)*w:end*w])
	}
}
