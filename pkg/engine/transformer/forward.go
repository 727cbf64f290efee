package transformer

import (
	"math"
	"time"

	"glossa/pkg/engine/kernel"
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

	ShareAll bool // small work is shared too, for tests

	m        *Model
	tokens   int
	spans    []span
	seqs     []Sequence
	outputs  int
	memories []*Memory // that the encoder's pass is to fill; nil in the decoder's

	team    *Team
	workers []*worker

	x, out   []float32 // (tokens, Width)
	qkv      []float32 // (tokens, (Heads+2*KVHeads)*HeadDim)
	heads    []float32 // (tokens, Heads*HeadDim)
	h, g     []float32 // (tokens, FFN)
	cross    []float32 // (tokens, 2*KVHeads*HeadDim), of an encoder
	cos, sin []float32 // (tokens, Rotary.Dims/2)
	logits   []float32 // (outputs, Vocab)
}

// NewPass returns a pass over m that a team computes; nil is the caller alone. What is
// computed does not depend, to the bit, on the team.
func (m *Model) NewPass(team *Team) *Pass {
	p := &Pass{m: m, team: team}
	dim := max(m.Decoder.HeadDim, m.Encoder.HeadDim)
	for i := range team.Size() {
		p.workers = append(p.workers, &worker{Pass: p, index: i, attention: kernel.NewAttention(dim)})
	}
	return p
}

// worthSharing is for how many multiplications between two barriers a second worker
// pays: some five microseconds of one.
const worthSharing = 128 << 10

// run has the workers compute the pass over layers of weights.
func (p *Pass) run(layers int) {
	work := p.m.work(p.tokens, layers)
	switch {
	case p.team.Size() == 1 || p.tokens == 0 || p.Hidden != nil || work < worthSharing && !p.ShareAll:
		p.work(0, 1, nil)
	case p.ShareAll:
		p.team.do(true, p)
	default:
		begin := time.Now()
		shared := p.team.do(p.m.pace.useTeam(p.tokens), p)
		p.m.pace.note(p.tokens, shared, time.Since(begin))
	}
}

// work is one worker's share of the pass.
func (p *Pass) work(index, count int, b *barrier) {
	w := p.workers[index]
	w.count, w.barrier = count, b
	if p.memories != nil {
		for i := range p.m.encoder {
			p.m.await.stage(1 + i)
			w.encode(&p.m.encoder[i])
			p.show(true, i+1)
		}
		p.m.await.stage(p.m.await.stages - 1)
		w.memorise(p.memories)
		return
	}
	for i := range p.m.decoder {
		p.m.await.stage(1 + len(p.m.encoder) + i)
		w.decode(i)
		p.show(false, i+1)
	}
	p.m.await.stage(p.m.await.stages - 1)
	w.project()
}

// Forward appends the sequences' tokens to their caches and returns the logits
// (outputs, Vocab), row-major: for each sequence in turn those after its last
// Logits tokens. They are valid until the next call. A row's values do not depend,
// to the bit, on what else is computed with it. The only errors are of weights that were
// still to come and did not ([Weights.Await]), and of a model that was closed; the caches
// are of no use then.
func (p *Pass) Forward(seqs []Sequence) ([]float32, error) {
	if err := p.m.await.enter(); err != nil {
		return nil, err
	}
	defer p.m.await.leave()
	p.begin()
	p.m.await.stage(0)
	outputs := 0
	for _, s := range seqs {
		p.add(span{n: len(s.Tokens), start: s.Cache.Len, cache: s.Cache, memory: s.Memory})
		outputs += s.Logits
	}
	p.grow(&p.m.Decoder)
	for i, s := range seqs {
		p.embed(p.spans[i], s.Tokens)
	}
	p.seqs, p.outputs = seqs, outputs
	fit(&p.logits, outputs*p.m.Vocab)
	p.show(false, 0)
	p.run(len(p.m.decoder))
	for _, s := range seqs {
		s.Cache.Len += len(s.Tokens)
	}
	return p.logits, p.m.await.failed()
}

// Encode runs the encoder over texts of at most Context tokens, at least one each. Its
// error is [Pass.Forward]'s.
func (p *Pass) Encode(texts [][]int) ([]*Memory, error) {
	m := p.m
	if err := m.await.enter(); err != nil {
		return nil, err
	}
	defer m.await.leave()
	p.begin()
	m.await.stage(0)
	for _, t := range texts {
		p.add(span{n: len(t)})
	}
	p.grow(&m.Encoder)
	for i, t := range texts {
		p.embed(p.spans[i], t)
	}
	out := make([]*Memory, len(texts))
	for i, t := range texts {
		out[i] = &Memory{Len: len(t), layers: m.newLayers(len(t))}
	}
	p.show(true, 0)
	p.memories = out
	p.run(len(m.encoder))
	p.memories = nil
	return out, m.await.failed()
}

// memorise computes the keys and values of each text for each layer of the decoder.
func (w *worker) memorise(out []*Memory) {
	w.normalise(w.m.encoderNorm)
	for l := range w.m.decoder {
		w.apply(&w.m.decoder[l].crossKV, w.cross, w.norm, w.tokens)
		w.barrier.wait()
		w.eachHead(&w.m.Decoder, func(sp span, head int) {
			d := &w.m.Decoder
			all := d.KVHeads * d.HeadDim
			rows := w.cross[sp.row*2*all : (sp.row+sp.n)*2*all]
			w.m.kernels.Store(out[sp.index].layers[l].head(head), 0, rows[head*d.HeadDim:], rows[all+head*d.HeadDim:], sp.n, 2*all)
		})
		w.barrier.wait()
	}
}

func (p *Pass) begin() { p.tokens, p.spans = 0, p.spans[:0] }

func (p *Pass) add(sp span) {
	sp.index, sp.row = len(p.spans), p.tokens
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
	fit(&p.out, n*m.Width)
	fit(&p.qkv, n*(s.Heads+2*s.KVHeads)*s.HeadDim)
	fit(&p.heads, n*s.Heads*s.HeadDim)
	fit(&p.h, n*s.FFN)
	if m.Encoder.Depth > 0 {
		fit(&p.cross, n*2*m.Decoder.KVHeads*m.Decoder.HeadDim)
	}
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
		m.embed.row(x, t)
		if m.EmbedScale != 0 {
			m.kernels.Scale(x, m.EmbedScale)
		}
		m.addPosition(x, sp.start+j)
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

// project computes the worker's share of the logits that seqs want.
func (w *worker) project() {
	if w.outputs == 0 {
		return
	}
	m, width, to := w.m, w.m.Width, 0
	fit(&w.norm, max(w.outputs, w.tokens)*width)
	for i, s := range w.seqs {
		end := w.spans[i].row + w.spans[i].n
		for row := end - s.Logits; row < end; row++ {
			m.normalise(w.norm[to:to+width], w.x[row*width:(row+1)*width], m.decoderNorm)
			to += width
		}
	}
	w.apply(&m.head, w.logits, w.norm[:to], w.outputs)
}
