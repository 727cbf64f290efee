package transformer

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"glossa/pkg/engine/kernel"
)

// A Sequence is the part of a sequence that a pass computes: Tokens follow the tokens in
// Cache.
type Sequence struct {
	Cache  *Cache
	Tokens []int // ids below Vocab; Cache has room for them
	Logits int   // number of last tokens after which logits are returned

	// Vectors (n, 1+Deep, Width) are the inputs in place of the tokens below 0, in turn: what a picture's
	// encoder made of it. With [Spec.Mutual], vectors next to each other come in one pass.
	Vectors []float32

	Memory *Memory // of an encoder-decoder: the encoded text

	Adapter *Adapter // what updates the model's weights for this sequence; nil: they are used as they are

	start int // position of the first token, during a pass
}

// A Pass computes forward passes, keeping its scratch memory between them.
type Pass struct {
	// Hidden, if set, is called with the residual stream x (tokens, Width), row-major:
	// with layer 0 before the first layer, with layer i after layer i, counted from 1.
	// encoder selects the stack. x is valid during the call.
	Hidden func(encoder bool, layer int, x []float32)

	// Stop, if set, is called before each layer of an encoder, by one or more workers. If it
	// returns true, the pass ends after that layer with [ErrStopped].
	Stop func() bool

	ShareAll   bool // for tests: the team also computes small passes
	ShareTexts bool // for tests: workers compute texts alone, also few tokens

	m         *Model
	tokens    int
	spans     []span
	runs      []run // in the order of their rows
	seqs      []Sequence
	outputs   int
	memories  []*Memory    // results of the encoder's pass; nil in the decoder's
	lastLayer atomic.Int32 // of a pass that Stop ends, else allLayers

	team     *Team
	workers  []*worker
	portions []*Pass // of workers that compute texts alone
	chain    *chain  // of portions of the same text
	place    int     // in the chain
	decoding decoding
	cuts     []Sequence // the texts of portions

	masked []float32 // (outputs, Width), what MaskedLogits reads; nil: of another pass
	x, out []float32 // (tokens, Width)
	qkv    []float32 // (tokens, (Heads+2*KVHeads)*HeadDim), of the layer that is computed, or what other mixers read
	heads  []float32 // (tokens, Heads*HeadDim), or what other mixers write
	h, g   []float32 // (tokens, FeedForward.Width), of what computes all tokens
	eh, eg []float32 // (tokens*Used, FeedForward.Width), of the experts; eg of gated ones
	mixed  []float32 // (tokens, Width), the results of an expert
	apart  []float32 // (tokens, Width), those of all, of Apart
	cross  []float32 // (tokens, 2*KVHeads*HeadDim), of an encoder
	narrow []float32 // (tokens, EmbedWidth), what projections read or write
	latent []float32 // (tokens, ...), of layers with a [Latent]: the first product, then the results of heads
	angles []angles  // of each table of Rotaries
	logits []float32 // (outputs, Vocab)

	layerInputs []float32 // (tokens, layers, LayerInputs)
	streams     []float32 // (tokens, Streams-1, Width), those after x
	predicted   []float32 // (tokens, Width), x as a layer predicted it
	laurel      []float32 // (tokens, Laurel)

	results [][]float32 // (tokens, Width), of each layer of Kept

	parts [][]float32 // of a layer's attention, if workers share its keys
	texts []float32   // keys and values of a layer of an encoder, if workers share its tokens
	keys  []*textKeys // of texts that were cut
}

// ErrStopped is the error of a pass that [Pass.Stop] ends.
var ErrStopped = errors.New("the pass was stopped")

// allLayers is the last layer of a pass that is not stopped.
const allLayers = math.MaxInt32

// angles are the cosines and sines of a table's rotations.
type angles struct {
	cos, sin []float32 // (tokens, Dims/2)
}

// NewPass returns a pass over m that a team computes; a nil team is the caller alone.
// Results do not depend on the team, to the bit.
func (m *Model) NewPass(team *Team) *Pass {
	if p, ok := m.passes.Get().(*Pass); ok && p.team == team {
		return p
	}
	p := &Pass{m: m, team: team, angles: make([]angles, len(m.Rotaries))}
	dim := 0
	for i := range m.Kinds {
		dim = max(dim, m.Kinds[i].Attention.HeadDim)
	}
	for i := range team.Size() {
		p.workers = append(p.workers, &worker{Pass: p, index: i, attention: kernel.NewAttention(dim)})
	}
	return p
}

// PassBytes returns the memory of a pass over a number of tokens that workers compute, without
// caches and adapters: the activations of all, and the norms and packed inputs of products of each worker.
func (s *Spec) PassBytes(tokens, workers int) int64 {
	var qkv, heads, hidden, ffn, dim, routed, cross, texts, latent, narrow, distances int
	for i := range s.Kinds {
		if a := &s.Kinds[i].Attention; len(s.Encoder) > 0 && len(s.Decoder) > 0 {
			cross = max(cross, 2*a.KVHeads*a.HeadDim)
		}
		if a := &s.Kinds[i].Attention; len(s.Encoder) > 0 && workers > 1 { // see textKeys, growTexts
			texts = max(texts, 4*a.KVHeads*a.HeadDim)
		}
		if d := s.Kinds[i].Attention.Disentangled; d != nil {
			distances = max(distances, 4*d.Buckets+kernel.AttendTokens(1)+s.Kinds[i].Attention.HeadDim)
		}
		if states := s.Kinds[i].States; states != nil {
			narrow = max(narrow, states.StepRank)
		}
		if a := &s.Kinds[i].Attention; a.Latent != nil {
			latent, narrow = max(latent, a.scratch()), max(narrow, a.Latent.QueryRank+a.Latent.KeyDim+2*a.HeadDim+a.Latent.ValueDim)
		}
		f := &s.Kinds[i].FeedForward
		products, result := s.Kinds[i].mixer(s.Width)
		qkv, heads, dim = max(qkv, products), max(heads, result), max(dim, s.Kinds[i].Attention.HeadDim)
		each := f.common() + f.chosen()
		if f.Gated {
			each *= 2
		}
		if f.Experts != nil {
			if each += s.Width; f.Experts.Apart {
				each += s.Width
			}
			routed = max(routed, 2*f.Experts.Count+4*f.Experts.Used+s.Width)
		}
		ffn, hidden = max(ffn, f.Width, f.common()), max(hidden, each)
	}
	shared := len(s.Decoder)*s.LayerInputs + (2+s.Streams)*s.Width + len(s.Kept)*s.Width + s.Laurel + qkv + heads + latent + max(hidden, s.LayerInputs) + cross + texts + s.EmbedWidth + s.Patch
	for i := range s.Rotaries {
		shared += 2 * len(s.Rotaries[i].Frequencies)
	}
	const packed = 8 // bytes of an input: 4 in bf16, up to 7.6 in two quantised forms, each twice
	own := 4*(s.Width+2*dim+routed+narrow+distances) + packed*(s.Width+heads+ffn+s.LayerInputs+s.Patch+narrow)
	return int64(tokens) * int64(4*shared+max(1, workers)*own)
}

// worthSharing is the number of multiplications between two barriers above which a second
// worker pays: some five microseconds of work.
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
		pace := p.m.pace.of(p.team, p.tokens)
		shared := p.team.do(pace.First(p.tokens), p)
		pace.Note(shared, p.tokens, time.Since(begin))
	}
}

// work is one worker's share of the pass.
func (p *Pass) work(index, count int, b *barrier) {
	w := p.workers[index]
	w.count, w.barrier, w.step = count, b, 0
	if p.masked != nil {
		w.apply(&p.m.head, p.logits, p.masked, p.outputs, nil)
		return
	}
	if p.memories != nil {
		for i, layer := range p.m.order {
			if index == 0 && p.Stop != nil && p.Stop() {
				p.lastLayer.CompareAndSwap(allLayers, int32(i))
			}
			p.m.await.stage(1 + layer)
			w.encode(&p.m.encoder[layer])
			w.keep(i + 1)
			p.show(true, i+1)
			// All workers read the same answer: the layer ends with a barrier, after which the
			// first worker can only write a later layer.
			if p.lastLayer.Load() <= int32(i) {
				return
			}
		}
		p.m.await.stage(p.m.await.stages - 1)
		w.memorise(p.memories)
		return
	}
	w.computeInputs()
	w.beginStreams()
	for i := range p.m.decoder {
		p.m.await.stage(1 + len(p.m.encoder) + i)
		w.predict(i)
		w.decode(i)
		w.correct(i)
		if w.endLayer(i); i == len(p.m.decoder)-1 {
			w.mergeStreams()
		}
		w.deepen(i)
		p.show(false, i+1)
	}
	p.m.await.stage(p.m.await.stages - 1)
	w.project()
}

// Forward appends the sequences' tokens to their caches and returns the logits
// (outputs, Vocab), row-major: for each sequence in turn those after its last
// Logits tokens. They are valid until the next call. A row's values do not depend,
// to the bit, on the other rows of the pass. Forward fails only if weights could not be
// loaded ([Weights.Await]) or the model was closed; the caches are invalid then.
func (p *Pass) Forward(seqs []Sequence) ([]float32, error) {
	if err := p.m.await.enter(); err != nil {
		return nil, err
	}
	defer p.m.await.leave()
	fit(&p.logits, outputsOf(seqs)*p.m.Vocab)
	for i := range seqs {
		seqs[i].start = seqs[i].Cache.Len
		seqs[i].Cache.Len = 0 // unless the pass ends: a ring has lost tokens then
	}
	p.decoding = decoding{seqs, p.logits, p.m.Vocab}
	err := p.compute(p.m.decoder, &p.decoding)
	for i := range seqs {
		seqs[i].Cache.Len = seqs[i].start + len(seqs[i].Tokens)
	}
	logits := p.decoding.logits
	p.decoding = decoding{}
	return logits, err
}

// decoding is the work of [Pass.Forward].
type decoding struct {
	seqs   []Sequence
	logits []float32 // (outputs, vocab)
	vocab  int
}

func (d *decoding) count() int { return len(d.seqs) }

func (d *decoding) tokens(i int) int { return len(d.seqs[i].Tokens) }

func (d *decoding) compute(p *Pass, from, to int) error {
	p.logits = d.logits[outputsOf(d.seqs[:from])*d.vocab : outputsOf(d.seqs[:to])*d.vocab]
	return p.forward(d.seqs[from:to])
}

// outputsOf returns the number of rows of logits that sequences want.
func outputsOf(seqs []Sequence) (n int) {
	for i := range seqs {
		n += seqs[i].Logits
	}
	return n
}

// forward computes seqs by the pass's team.
func (p *Pass) forward(seqs []Sequence) error {
	p.begin()
	p.m.await.stage(0)
	for _, s := range seqs {
		sp := span{n: len(s.Tokens), start: s.start, cache: s.Cache, memory: s.Memory}
		if p.m.Mutual > 0 {
			sp.mutual = mutualsOf(s.Tokens, sp.start)
		}
		if len(s.Cache.Grids) > 0 && p.m.hasAxes() {
			sp.places = placesOf(s.Cache.Grids, sp.start, sp.n)
		}
		p.add(sp)
	}
	p.grow(p.m.decoder)
	p.growParts()
	for i, s := range seqs {
		p.addRun(s.Adapter, p.spans[i].row, p.spans[i].n)
		p.embed(p.spans[i], s.Tokens, len(s.Tokens), s.Vectors)
	}
	p.seqs, p.outputs = seqs, outputsOf(seqs)
	p.show(false, 0)
	p.run(len(p.m.decoder))
	return p.m.await.failed()
}

// SwapLogits makes memory, of any length, that of the logits of later calls, and returns that of
// earlier ones, which stay valid.
func (p *Pass) SwapLogits(memory []float32) (earlier []float32) {
	earlier, p.logits = p.logits, memory
	return earlier
}

// MaskedLogits returns the logits (n, Vocab), row-major, of n rows x (n, Width) for a Spec with
// MaskedHead. They are valid until the next call. A row's values do not depend, to the bit, on
// the other rows. It fails as [Pass.Forward] does.
func (p *Pass) MaskedLogits(x []float32, n int) ([]float32, error) {
	m := p.m
	if err := m.await.enter(); err != nil {
		return nil, err
	}
	defer m.await.leave()
	m.await.stage(m.await.stages - 1)
	p.outputs, p.masked = n, x
	defer func() { p.masked = nil }()
	fit(&p.logits, n*m.Vocab)
	if work := int64(n) * int64(m.Vocab) * int64(m.Width); p.team.Size() == 1 || work < worthSharing && !p.ShareAll {
		p.work(0, 1, nil)
	} else { // one product, without barriers
		p.team.do(true, p)
	}
	return p.logits, m.await.failed()
}

// Last returns the residual stream x (tokens, Width) after the last layer of the last pass,
// row-major: the tokens of all its texts or sequences. [Model.FinalNorm] completes a row. It
// is valid until the next call, which may reuse it.
func (p *Pass) Last() []float32 { return p.x }

func (p *Pass) begin() { p.tokens, p.spans, p.runs = 0, p.spans[:0], p.runs[:0] }

func (p *Pass) add(sp span) {
	sp.index, sp.row = len(p.spans), p.tokens
	p.tokens += sp.n
	p.spans = append(p.spans, sp)
}

// fit sets the length of s to n and discards its content. It allocates a quarter more than
// before, so that a growing sequence does not allocate at every token.
func fit[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, max(n, cap(*s)*5/4))
	}
	*s = (*s)[:n]
}

// grow makes the scratch fit the tokens in a stack, and computes their angles.
func (p *Pass) grow(layers []layer) {
	p.makeRoom(layers)
	for i := range p.m.Rotaries {
		p.computeAngles(&p.m.Rotaries[i], &p.angles[i])
	}
}

// makeRoom makes the scratch fit the tokens in a stack.
func (p *Pass) makeRoom(layers []layer) {
	m, n := p.m, p.tokens
	fit(&p.x, n*m.Width)
	fit(&p.out, n*m.Width)
	var qkv, heads, h, g, chosen, gates, mixed, apart, latent int
	for i := range layers {
		f := &layers[i].FeedForward
		products, result := layers[i].mixer(m.Width)
		qkv, heads, latent = max(qkv, products), max(heads, result), max(latent, layers[i].Attention.scratch())
		if h = max(h, f.common()); f.Gated {
			g, gates = max(g, f.common()), max(gates, f.chosen())
		}
		if f.Experts != nil {
			if chosen, mixed = max(chosen, f.chosen()), m.Width; f.Experts.Apart {
				apart = m.Width
			}
			if f.Gated {
				gates = max(gates, f.chosen())
			}
		}
	}
	fit(&p.qkv, n*qkv)
	fit(&p.heads, n*heads)
	fit(&p.latent, n*latent)
	fit(&p.narrow, n*m.EmbedWidth)
	fit(&p.h, n*max(h, m.LayerInputs))
	p.growStreams()
	fit(&p.layerInputs, n*len(m.decoder)*m.LayerInputs)
	fit(&p.g, n*g)
	fit(&p.eh, n*chosen)
	fit(&p.eg, n*gates)
	fit(&p.mixed, n*mixed)
	fit(&p.apart, n*apart)
	if len(m.encoder) > 0 {
		cross := 0
		for i := range m.decoder {
			a := &m.decoder[i].Attention
			cross = max(cross, 2*a.KVHeads*a.HeadDim)
		}
		fit(&p.cross, n*cross)
	}
	for i := range m.Rotaries {
		pairs := len(m.Rotaries[i].Frequencies)
		fit(&p.angles[i].cos, n*pairs)
		fit(&p.angles[i].sin, n*pairs)
	}
}

// computeAngles computes the cosine and sine of every rotation of a table, for which there is room. Angles are
// float32, as in the published models.
func (p *Pass) computeAngles(r *Rotary, to *angles) {
	n := len(r.Frequencies)
	for _, sp := range p.spans {
		frequencies := r.Frequencies
		if r.Original > 0 && sp.cache != nil && sp.cache.long {
			frequencies = r.Long
		}
		for j := range sp.n {
			at := (sp.row + j) * n
			for i, f := range frequencies {
				sin, cos := math.Sincos(float64(float32(r.position(&sp, j, i)) * f))
				to.cos[at+i], to.sin[at+i] = float32(cos), float32(sin)
			}
		}
	}
	if r.Magnitude != 0 {
		p.m.kernels.Scale(to.cos, r.Magnitude)
		p.m.kernels.Scale(to.sin, r.Magnitude)
	}
}

// embed writes x = embedding·EmbedScale + type + position, or its norm. The first tokens are of
// type 0, the others of type 1. Vectors replace embedding·EmbedScale of tokens below 0. A decoder
// projects the embedding, an encoder the result.
func (p *Pass) embed(sp span, tokens []int, first int, vectors []float32) {
	m, w, in, rows := p.m, p.m.InputWidth(), p.m.inputOf(sp), p.x[sp.row*p.m.Width:]
	if m.EmbedWidth > 0 {
		rows = p.narrow
	}
	p.lookUp(rows, tokens)
	if m.EmbedWidth > 0 && len(m.decoder) > 0 {
		rows = p.widen(sp)
	}
	for j, t := range tokens {
		x := rows[j*w : (j+1)*w]
		if t < 0 {
			copy(x, vectors[:w])
			vectors = vectors[m.vectors()*w:]
		} else if m.EmbedScale != 0 {
			m.kernels.Scale(x, m.EmbedScale)
		}
		if m.TokenTypes > 0 {
			kind := m.tokenTypes[:w]
			if j >= first {
				kind = m.tokenTypes[w : 2*w]
			}
			m.kernels.Add(x, kind)
		}
		m.addPosition(x, in, sp.start+j)
		if m.EmbedNorm {
			m.normalise(x, x, in.norm)
		}
	}
	if m.EmbedWidth > 0 && len(m.decoder) == 0 {
		p.widen(sp)
	}
}

// lookUp writes the embeddings of tokens.
func (p *Pass) lookUp(dst []float32, tokens []int) {
	width := p.m.embedWidth()
	for j, t := range tokens {
		if t >= 0 {
			p.m.embed.row(dst[j*width:(j+1)*width], t)
		}
	}
}

// widen writes the projections of a span's narrow vectors to its x, which it returns.
func (p *Pass) widen(sp span) []float32 {
	w, x := p.workers[0], p.x[sp.row*p.m.Width:]
	w.count = 1 // the others do not work yet
	w.apply(&p.m.projectIn, x, p.narrow, sp.n, nil)
	return x
}

func (m *Model) normalise(dst, x []float32, n norm) { m.normaliseBy(dst, x, n, m.Eps) }

func (m *Model) normaliseBy(dst, x []float32, n norm, eps float32) {
	switch m.Norm {
	case RMSNorm:
		m.kernels.RMSNorm(dst, x, n.weight, eps)
	case PlainRMSNorm:
		m.kernels.RMSNorm(dst, x, m.ones, eps)
	case PlainLayerNorm:
		m.kernels.LayerNorm(dst, x, m.ones, nil, eps)
	default:
		m.kernels.LayerNorm(dst, x, n.weight, n.bias, eps)
	}
}

// FinalNorm applies the last norm of a stack, if the model has one, to a row x (Width) of
// what Hidden gets after the last layer. dst may be x.
func (m *Model) FinalNorm(encoder bool, dst, x []float32) {
	switch {
	case m.NoLastNorm:
		copy(dst, x)
	case encoder:
		m.normalise(dst, x, m.encoderNorm)
	default:
		m.normalise(dst, x, m.decoderNorm)
	}
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
			m.FinalNorm(false, w.norm[to:to+width], w.x[row*width:(row+1)*width])
			to += width
		}
	}
	in := w.headInputs(w.norm[:to])
	if m.EmbedWidth > 0 {
		in = w.narrow[:w.outputs*m.EmbedWidth]
		w.apply(&m.projectOut, in, w.norm[:to], w.outputs, nil)
		w.barrier.wait()
	}
	w.apply(&m.head, w.logits, in, w.outputs, w.boundLogits)
}

// boundLogits scales and bounds columns of the logits.
func (w *worker) boundLogits(first, last int) {
	m := w.m
	if m.LogitScale == 0 && m.LogitSoftCap == 0 || first == last {
		return
	}
	for i := range w.outputs {
		logits := w.logits[i*m.Vocab+first : i*m.Vocab+last]
		if m.LogitScale != 0 {
			m.kernels.Scale(logits, m.LogitScale)
		}
		if m.LogitSoftCap != 0 {
			m.kernels.Bound(logits, kernel.Cap{Kind: kernel.CapTanh, Value: m.LogitSoftCap})
		}
	}
}
