package transformer

import (
	"math"
)

// A Sequence is the part of a sequence that a pass computes: Tokens come after
// the tokens in Cache.
type Sequence struct {
	Cache  *Cache
	Tokens []int   // ids below Vocab; Cache has room for them
	Logits int     // logits are wanted after the last so many tokens
	Memory *Memory // of an encoder-decoder: the encoded text
}

// A Pass computes forward passes, keeping its scratch memory between them.
type Pass struct {
	// Hidden, if set, is shown the residual stream x (tokens, Width), row-major: what
	// enters the first layer as 0, what leaves layer i, counted from 1, as i. Encoder
	// tells of which stack. x is valid during the call.
	Hidden func(encoder bool, layer int, x []float32)

	m      *Model
	tokens int
	spans  []span

	x, norm, out []float32 // (tokens, Width)
	qkv          []float32 // (tokens, (Heads+2*KVHeads)*HeadDim)
	heads        []float32 // (tokens, Heads*HeadDim)
	h, g         []float32 // (tokens, FFN)
	row          []float32 // scratch of the activation
	scores       []float32 // (tokens of a sequence)
	cos, sin     []float32 // (tokens, Rotary.Dims/2)
	store        []float32 // keys and values of one encoded text in one layer
	wanted       []float32 // (outputs, Width)
	logits       []float32 // (outputs, Vocab)
}

// NewPass returns a pass over m.
func (m *Model) NewPass() *Pass { return &Pass{m: m} }

// Forward appends the sequences' tokens to their caches and returns the logits
// (outputs, Vocab), row-major: for each sequence in turn those after its last
// Logits tokens. They are valid until the next call. A row's values do not depend,
// to the bit, on what else is computed with it.
func (p *Pass) Forward(seqs []Sequence) []float32 {
	outputs := 0
	p.begin()
	for _, s := range seqs {
		p.add(span{n: len(s.Tokens), start: s.Cache.Len, cache: s.Cache, memory: s.Memory})
		outputs += s.Logits
	}
	p.grow(&p.m.Decoder)
	for i, s := range seqs {
		p.embed(p.spans[i], s.Tokens)
	}
	p.show(false, 0)
	for i := range p.m.decoder {
		p.decode(i)
		p.show(false, i+1)
	}
	for _, s := range seqs {
		s.Cache.Len += len(s.Tokens)
	}
	return p.project(seqs, outputs)
}

// Encode runs the encoder over texts of at most Context tokens, at least one each.
func (p *Pass) Encode(texts [][]int) []*Memory {
	m := p.m
	p.begin()
	for _, t := range texts {
		p.add(span{n: len(t)})
	}
	p.grow(&m.Encoder)
	for i, t := range texts {
		p.embed(p.spans[i], t)
	}
	p.show(true, 0)
	for i := range m.encoder {
		l := &m.encoder[i]
		p.normalise(l.attentionNorm)
		p.fullAttention(l)
		p.feed(l)
		p.show(true, i+1)
	}
	p.normalise(m.encoderNorm)
	return p.memories()
}

// memories computes the keys and values of each text for each layer of the decoder,
// from the encoder's output in norm.
func (p *Pass) memories() []*Memory {
	m, out := p.m, make([]*Memory, len(p.spans))
	for i, sp := range p.spans {
		out[i] = &Memory{Len: sp.n, layers: m.newLayers(sp.n)}
	}
	keys, dim := m.Decoder.KVHeads*m.Decoder.HeadDim, m.Decoder.HeadDim
	fit(&p.qkv, p.tokens*2*keys)
	for l := range m.decoder {
		m.decoder[l].crossKV.apply(m.kernels, p.qkv, p.norm, p.tokens)
		for i, sp := range p.spans {
			for j := range sp.n {
				row := p.qkv[(sp.row+j)*2*keys:]
				out[i].layers[l].put(j, row[:keys], row[keys:2*keys], dim)
			}
		}
	}
	return out
}

func (p *Pass) begin() { p.tokens, p.spans = 0, p.spans[:0] }

func (p *Pass) add(sp span) {
	sp.row = p.tokens
	p.tokens += sp.n
	p.spans = append(p.spans, sp)
}

// fit makes s n long. Its content is lost; what grows a little grows some more, so
// that a growing sequence does not allocate at every token.
func fit(s *[]float32, n int) {
	if cap(*s) < n {
		*s = make([]float32, max(n, cap(*s)*5/4))
	}
	*s = (*s)[:n]
}

// grow makes the scratch fit the tokens in a stack.
func (p *Pass) grow(s *Stack) {
	m, n := p.m, p.tokens
	fit(&p.x, n*m.Width)
	fit(&p.norm, n*m.Width)
	fit(&p.out, n*m.Width)
	fit(&p.qkv, n*(s.Heads+2*s.KVHeads)*s.HeadDim)
	fit(&p.heads, n*s.Heads*s.HeadDim)
	fit(&p.h, n*s.FFN)
	fit(&p.row, m.decoder[0].ffn.act.depth*s.FFN)
	if m.Gated {
		fit(&p.g, n*s.FFN)
	}
	if m.Position == RotaryEmbedding {
		p.angles()
	}
}

// angles computes the cosine and sine of every rotation. Angles are float32, as
// those of the published models are.
func (p *Pass) angles() {
	frequencies := p.m.Rotary.Frequencies
	n := len(frequencies)
	fit(&p.cos, p.tokens*n)
	fit(&p.sin, p.tokens*n)
	for _, sp := range p.spans {
		for j := range sp.n {
			at := (sp.row + j) * n
			for i, f := range frequencies {
				sin, cos := math.Sincos(float64(float32(sp.start+j) * f))
				p.cos[at+i], p.sin[at+i] = float32(cos), float32(sin)
			}
		}
	}
}

// embed writes x = embedding·EmbedScale + position.
func (p *Pass) embed(sp span, tokens []int) {
	m, w := p.m, p.m.Width
	for j, t := range tokens {
		x := p.x[(sp.row+j)*w : (sp.row+j+1)*w]
		if m.embed != nil {
			copy(x, m.embed[t*w:(t+1)*w])
		} else {
			m.head.weight.Row(x, t)
		}
		if m.EmbedScale != 0 {
			m.kernels.Scale(x, m.EmbedScale)
		}
		m.addPosition(x, sp.start+j)
	}
}

// decode runs layer i of the decoder.
func (p *Pass) decode(i int) {
	l := &p.m.decoder[i]
	p.normalise(l.attentionNorm)
	p.selfAttention(i)
	if p.m.Parallel {
		p.feedParallel(l)
		return
	}
	if len(p.m.encoder) > 0 {
		p.residual()
		p.normalise(l.crossNorm)
		p.crossAttention(i)
	}
	p.feed(l)
}

// feed adds the attention in out to x, and then the feed-forward block.
func (p *Pass) feed(l *layer) {
	p.residual()
	p.normalise(l.ffnNorm)
	l.ffn.run(p)
	p.residual()
}

// feedParallel adds the attention in out and the feed-forward block of what the
// layer began with.
func (p *Pass) feedParallel(l *layer) {
	if !p.m.SharedNorm {
		p.normalise(l.ffnNorm)
	}
	p.residual()
	l.ffn.run(p)
	p.residual()
}

// residual adds out to x.
func (p *Pass) residual() { p.m.kernels.Add(p.x, p.out) }

// normalise writes the norm of each row of x to norm.
func (p *Pass) normalise(n norm) {
	w := p.m.Width
	for i := range p.tokens {
		p.m.normalise(p.norm[i*w:(i+1)*w], p.x[i*w:(i+1)*w], n)
	}
}

func (m *Model) normalise(dst, x []float32, n norm) {
	if m.Norm == RMSNorm {
		m.kernels.RMSNorm(dst, x, n.weight, m.Eps)
		return
	}
	m.kernels.LayerNorm(dst, x, n.weight, n.bias, m.Eps)
}

// FinalNorm computes dst = the last norm of x, one row (Width) of what Hidden sees
// as the last layer of a stack. dst may be x.
func (m *Model) FinalNorm(encoder bool, dst, x []float32) {
	n := m.decoderNorm
	if encoder {
		n = m.encoderNorm
	}
	m.normalise(dst, x, n)
}

func (p *Pass) show(encoder bool, layer int) {
	if p.Hidden != nil {
		p.Hidden(encoder, layer, p.x)
	}
}

// project computes the logits that seqs want.
func (p *Pass) project(seqs []Sequence, outputs int) []float32 {
	m, w, to := p.m, p.m.Width, 0
	fit(&p.wanted, outputs*w)
	fit(&p.logits, outputs*m.Vocab)
	for i, s := range seqs {
		end := p.spans[i].row + p.spans[i].n
		to += copy(p.wanted[to:], p.x[(end-s.Logits)*w:end*w])
	}
	for i := range outputs {
		v := p.wanted[i*w : (i+1)*w]
		m.normalise(v, v, m.decoderNorm)
	}
	if outputs > 0 {
		m.head.apply(m.kernels, p.logits, p.wanted, outputs)
	}
	return p.logits
}
