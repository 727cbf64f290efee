package transformer

import (
	"fmt"
	"math"

	"glossa/pkg/engine/kernel"
)

// A part is one tensor of a model, with the source and the destination of its values. Names
// are those of packed files. The order is that of execution.
type part struct {
	name       string
	stage      int // of a pass that needs it, see [Weights.Await]
	usage      usage
	rows, cols int
	head       bool     // has the head's format
	exact      bool     // is in float32 in every format
	experts    *Experts // of one of which this is a part; nil: every token uses the part
	page       *page    // of that expert
	from       *[]Tensor
	matrix     *linear    // of Multiplied and LookedUp
	values     *[]float32 // of Plain
	lessOne    bool       // 1 is added to the stored values
}

// A usage is the way in which a model uses a tensor. It determines the layout in memory.
type usage uint8

const (
	multiplied usage = iota // packed for products
	lookedUp                // by row: row-major in float32, else packed for products
	plain                   // row-major in float32, whatever the format
)

// embeddingPart is the name of the embedding, which may also be the head.
const embeddingPart = "embedding"

// parts lists the tensors of a model, including those that w does not have. m is the result
// of newModel. In format Stored, pieces of a matrix that have several formats are parts of
// their own.
func (s *Spec) parts(w *Weights, m *Model, format Format) []part {
	l := &partList{spec: s, format: format}
	m.embed = &m.head
	if s.Patch > 0 {
		l.linear("patches", &w.Embed, &m.patches, s.Width, s.Patch)
		if s.Class {
			l.vector("class", &w.Class, &m.class, s.Width)
		}
	} else if w.Head.Weight == nil && s.hasHead() { // the head is the embedding
		l.add(part{name: embeddingPart, head: true, rows: s.Vocab, cols: s.embedWidth(), from: &w.Embed.Weight, matrix: &m.head})
	} else {
		m.embed = &linear{}
		l.add(part{name: embeddingPart, head: true, usage: lookedUp, rows: s.Vocab, cols: s.embedWidth(), from: &w.Embed.Weight, matrix: m.embed})
	}
	l.layerInputs(w, m)
	l.streamParts(w, m)
	if s.EmbedWidth > 0 {
		l.linear("project_in", &w.ProjectIn, &m.projectIn, s.Width, s.EmbedWidth)
	}
	l.input("", &w.Positions, &w.EmbedNorm, &m.input)
	if s.DecoderInput {
		l.input("decoder_", &w.DecoderPositions, &w.DecoderEmbedNorm, &m.ownInput)
	}
	l.tables(w, m)
	l.stack("encoder", w.Encoder, m.encoder, false)
	if len(w.Encoder) > 0 && !s.NoLastNorm {
		l.norm("encoder.norm", &w.EncoderNorm, &m.encoderNorm, s.Width)
	}
	l.stack("decoder", w.Decoder, m.decoder, len(w.Encoder) > 0)
	l.mergeParts(w, m)
	l.stage++
	if !s.hasHead() {
		return l.parts
	}
	if len(s.Decoder) > 0 && !s.NoLastNorm {
		l.norm("norm", &w.DecoderNorm, &m.decoderNorm, s.Width)
	}
	if s.EmbedWidth > 0 {
		l.linear("project_out", &w.ProjectOut, &m.projectOut, s.EmbedWidth, s.Width)
	}
	l.headBlock(w, m)
	if w.Head.Weight != nil {
		l.add(part{name: "head", head: true, rows: s.Vocab, cols: s.embedWidth(), from: &w.Head.Weight, matrix: &m.head})
	}
	l.vector("head.bias", &w.Head.Bias, &m.head.bias, s.Vocab)
	return l.parts
}

// hasHead reports whether the model has a head over the vocabulary.
func (s *Spec) hasHead() bool { return len(s.Decoder) > 0 || s.MaskedHead }

// partList collects parts.
type partList struct {
	spec   *Spec
	format Format
	stage  int
	parts  []part
	number int // of the last product that adapters can update
}

// input lists what makes the input of a stack.
func (l *partList) input(prefix string, positions *Linear, norm *Norm, to *input) {
	s := l.spec
	if s.Position == Learned {
		l.add(part{name: prefix + "positions", usage: plain, rows: s.Context, cols: s.InputWidth(), from: &positions.Weight, values: &to.positions})
	}
	if s.EmbedNorm {
		l.norm(prefix+"embedding_norm", norm, &to.norm, s.InputWidth())
	}
}

// tables lists the tables of encoders.
func (l *partList) tables(w *Weights, m *Model) {
	s := l.spec
	if s.TokenTypes > 0 {
		l.add(part{name: "token_types", usage: plain, rows: s.TokenTypes, cols: s.InputWidth(), from: &w.TokenTypes.Weight, values: &m.tokenTypes})
	}
	if s.RelativeLayers {
		return
	}
	if s.RelativeBuckets > 0 {
		heads := s.Kinds[s.Encoder[0]].Attention.Heads
		l.add(part{name: "relative", usage: plain, rows: s.RelativeBuckets, cols: heads, from: &w.Relative.Weight, values: &m.relative})
	}
	if s.RelativeBuckets > 0 && len(s.Decoder) > 0 {
		heads := s.Kinds[s.Decoder[0]].Attention.Heads
		l.add(part{name: "causal_relative", usage: plain, rows: s.RelativeBuckets, cols: heads, from: &w.CausalRelative.Weight, values: &m.causalRelative})
	}
}

func (l *partList) add(p part) {
	p.stage = l.stage
	if runs := p.runs(); l.format.body() == Stored && len(runs) > 1 {
		p.matrix.rows, p.matrix.cols = p.rows, p.cols
		p.matrix.pieces = make([]linear, len(runs))
		for i := range runs {
			piece := p
			piece.name, piece.from, piece.matrix = p.pieceName(i), &runs[i], &p.matrix.pieces[i]
			piece.rows = rowsOf(runs[i])
			l.parts = append(l.parts, piece)
		}
		return
	}
	l.parts = append(l.parts, p)
}

func (l *partList) stack(name string, from []Layer, to []layer, cross bool) {
	for i := range from {
		f, o := &from[i], &to[i]
		at := fmt.Sprintf("%s.%d.", name, i)
		l.stage++
		if o.attends() {
			l.norms(at+"attention", &f.AttentionNorm, &f.AttentionPostNorm, &o.attentionNorms)
			l.attention(at, f, o, cross)
			l.adaptable(&o.qkv, &o.out)
		}
		if o.convolution != nil {
			l.norms(at+"convolution", &f.AttentionNorm, &f.AttentionPostNorm, &o.attentionNorms)
			l.convolution(at, f, o)
		}
		if o.deltas != nil {
			l.norms(at+"deltas", &f.AttentionNorm, &f.AttentionPostNorm, &o.attentionNorms)
			l.deltas(at, f, o)
		}
		if o.states != nil {
			if !o.attends() {
				l.norms(at+"states", &f.AttentionNorm, &f.AttentionPostNorm, &o.attentionNorms)
			}
			l.states(at, f, o)
		}
		if o.feeds() {
			if !o.SharedNorm {
				l.norms(at+"ffn", &f.FFNNorm, &f.FFNPostNorm, &o.ffn.norms)
			}
			if l.feedForward(at, f, o); o.experts == nil {
				l.adaptable(&o.ffn.upper, &o.ffn.gate, &o.ffn.lower)
			}
		}
		l.layerStreams(at, f, o)
		l.layerEnd(at, f, o)
	}
}

// convolution lists a convolution.
func (l *partList) convolution(at string, f *Layer, o *layer) {
	c, width := o.convolution, l.spec.Width
	l.linear(at+"convolution_in", &f.ConvolutionIn, &c.in, 3*width, width)
	l.vector(at+"convolution", &f.Convolution, &c.taps, c.Taps*width)
	l.vector(at+"convolution.bias", &f.ConvolutionBias, &c.bias, width)
	l.linear(at+"convolution_out", &f.ConvolutionOut, &c.out, width, width)
	l.adaptable(&c.in, &c.out)
}

// states lists a recurrence of states.
func (l *partList) states(at string, f *Layer, o *layer) {
	s, width := o.states, l.spec.Width
	l.linear(at+"states_in", &f.StatesIn, &s.in, s.products(), width)
	l.vector(at+"states_convolution", &f.Convolution, &s.filter.taps, s.Taps*s.channels())
	l.vector(at+"states_convolution.bias", &f.ConvolutionBias, &s.filter.bias, s.channels())
	l.steps(at, f, s)
	l.vector(at+"states_decay", &f.Decay, &s.decay, s.decays())
	l.vector(at+"states_skip", &f.Skip, &s.skip, s.skips())
	if s.Gating != GateAlone {
		l.vector(at+"states_inner_norm", &f.InnerNorm, &s.norm, s.inner())
	}
	l.linear(at+"states_out", &f.StatesOut, &s.out, width, s.inner())
	l.adaptable(&s.in, &s.out)
}

// steps lists what the steps of states are made of.
func (l *partList) steps(at string, f *Layer, s *states) {
	if s.StepRank == 0 {
		l.vector(at+"states_step", &f.Step, &s.step, s.Heads)
		return
	}
	l.linear(at+"states_selection", &f.StatesSelection, &s.selection, s.selected(), s.inner())
	if s.StepEps > 0 {
		l.vector(at+"states_step_norm", &f.StepNorm, &s.stepNorm, s.selected())
	}
	l.linear(at+"states_steps", &f.StatesSteps, &s.steps, s.inner(), s.StepRank)
	l.adaptable(&s.selection, &s.steps)
}

// deltas lists a delta rule.
func (l *partList) deltas(at string, f *Layer, o *layer) {
	d, width := o.deltas, l.spec.Width
	l.linear(at+"deltas_in", &f.DeltasIn, &d.in, d.products(), width)
	l.vector(at+"deltas_convolution", &f.Convolution, &d.filter.taps, d.Taps*d.channels())
	l.vector(at+"deltas_step", &f.Step, &d.step, d.Heads)
	l.vector(at+"deltas_decay", &f.Decay, &d.decay, d.Heads)
	l.vector(at+"deltas_inner_norm", &f.InnerNorm, &d.norm, d.HeadDim)
	l.linear(at+"deltas_out", &f.DeltasOut, &d.out, width, d.inner())
	l.adaptable(&d.in, &d.out)
}

// attention lists an attention and the cross-attention.
func (l *partList) attention(at string, f *Layer, o *layer, cross bool) {
	queries, keys, width := o.Attention.Heads*o.Attention.HeadDim, o.Attention.KVHeads*o.Attention.HeadDim, l.spec.Width
	l.linear(at+"qkv", &f.QKV, &o.qkv, o.Attention.firstRows(), width)
	if o.latent != nil {
		l.latent(at, f, o)
	}
	normed := keys
	switch o.Attention.QKNorm {
	case QKNormHead:
		l.norm(at+"q_norm", &f.QNorm, &o.qNorm, o.Attention.HeadDim)
		normed = o.Attention.HeadDim
	case QKNormEachHead, QKNormAll:
		l.norm(at+"q_norm", &f.QNorm, &o.qNorm, queries)
	}
	if o.Attention.QKNorm != NoQKNorm && o.Attention.KVLayer == 0 {
		l.norm(at+"k_norm", &f.KNorm, &o.kNorm, normed)
	}
	l.distances(at, f, o)
	if o.Attention.Sinks {
		l.vector(at+"sinks", &f.Sinks, &o.sinks, o.Attention.Heads)
	}
	if l.spec.RelativeLayers {
		l.add(part{name: at + "relative", usage: plain, rows: l.spec.RelativeBuckets, cols: o.Attention.Heads, from: &f.Relative.Weight, values: &o.relative})
	}
	l.linear(at+"out", &f.Out, &o.out, width, o.Attention.results())
	if cross {
		l.norms(at+"cross", &f.CrossNorm, &f.CrossPostNorm, &o.crossNorms)
		l.linear(at+"cross_q", &f.CrossQ, &o.crossQ, queries, width)
		l.linear(at+"cross_kv", &f.CrossKV, &o.crossKV, 2*keys, width)
		l.linear(at+"cross_out", &f.CrossOut, &o.crossOut, width, queries)
	}
}

// distances lists the vectors of distances, which are in float32 in every format: they are results.
func (l *partList) distances(at string, f *Layer, o *layer) {
	for i := range f.DistanceHeads {
		head, rows, dim := &f.DistanceHeads[i], 2*o.disentangled.Buckets, o.Attention.HeadDim
		if o.disentangled.Keys {
			l.add(part{name: fmt.Sprintf("%sdistance_key.%d", at, i), exact: true, rows: rows, cols: dim, from: &head.Keys, matrix: &o.disentangled.keys[i]})
		}
		if o.disentangled.Queries {
			l.add(part{name: fmt.Sprintf("%sdistance_query.%d", at, i), exact: true, rows: rows, cols: dim, from: &head.Queries, matrix: &o.disentangled.queries[i]})
		}
	}
}

// latent lists what makes queries, keys and values of narrow vectors.
func (l *partList) latent(at string, f *Layer, o *layer) {
	t, rank := o.latent, o.Attention.rank()
	if t.QueryRank > 0 {
		l.norm(at+"q_norm", &f.QNorm, &o.qNorm, t.QueryRank)
		l.linear(at+"latent_queries", &f.LatentQueries, &t.queries, t.Latent.queries(o.Attention.Heads), t.QueryRank)
		l.adaptable(&t.queries)
	}
	l.norm(at+"k_norm", &f.KNorm, &o.kNorm, rank)
	for i := range f.LatentHeads {
		head := &f.LatentHeads[i]
		l.add(part{name: fmt.Sprintf("%slatent_key.%d", at, i), rows: rank, cols: t.KeyDim, from: &head.Key, matrix: &t.keys[i]})
		l.add(part{name: fmt.Sprintf("%slatent_value.%d", at, i), rows: t.ValueDim, cols: rank, from: &head.Value, matrix: &t.values[i]})
	}
}

func (l *partList) feedForward(at string, f *Layer, o *layer) {
	if o.experts != nil {
		l.router(at+"router", &f.Router, &o.experts.router, o.experts.Count)
		if o.experts.Corrected {
			l.vector(at+"correction", &f.Correction, &o.experts.correction, o.experts.Count)
		}
		l.apart(at, f, o.experts)
	}
	width, ffn := l.spec.Width, o.FeedForward.common()
	if ffn > 0 {
		l.linear(at+"up", &f.Up, &o.ffn.upper, ffn, width)
		if o.FeedForward.Gated {
			l.linear(at+"gate", &f.Gate, &o.ffn.gate, ffn, width)
		}
		values := ffn
		if o.FeedForward.Activation == XIELU {
			values = 1
		}
		for j := range f.Learned {
			l.vector(fmt.Sprintf("%sactivation.%d", at, j), &f.Learned[j], &o.ffn.learned[j], values)
		}
		l.linear(at+"down", &f.Down, &o.ffn.lower, width, ffn)
	}
	if o.experts != nil {
		l.experts(at, f, o)
	}
}

// experts lists the experts of a layer.
func (l *partList) experts(at string, f *Layer, o *layer) {
	e, width, ffn := o.experts, l.spec.Width, o.FeedForward.Width
	if e.SharedGate {
		l.router(at+"shared_gate", &f.SharedGate, &e.sharedGate, 1)
	}
	for i := range f.Experts {
		first := len(l.parts)
		from, to, name := &f.Experts[i], &e.list[i], fmt.Sprintf("%sexpert.%d.", at, i)
		l.linear(name+"up", &from.Up, &to.upper, ffn, width)
		if o.FeedForward.Gated {
			l.linear(name+"gate", &from.Gate, &to.gate, ffn, width)
		}
		l.linear(name+"down", &from.Down, &to.lower, width, ffn)
		for j := range l.parts[first:] {
			p := &l.parts[first+j]
			p.experts, p.page = e.Experts, &e.pages[i]
		}
	}
}

// apart lists what [Experts.Apart] adds.
func (l *partList) apart(at string, f *Layer, e *experts) {
	if !e.Apart {
		return
	}
	a, width := &e.apart, l.spec.Width
	l.norm(at+"router_norm", &f.RouterNorm, &a.router, width)
	l.norm(at+"experts_norm", &f.ExpertsNorm, &a.first, width)
	l.norm(at+"shared_post_norm", &f.SharedPostNorm, &a.shared, width)
	l.norm(at+"experts_post_norm", &f.ExpertsPostNorm, &a.last, width)
	l.vector(at+"expert_scale", &f.ExpertScale, &a.scales, e.Count)
}

// router lists a small matrix whose results decide: rounding it would choose other experts.
func (l *partList) router(name string, from *Linear, to *linear, rows int) {
	first := len(l.parts)
	l.linear(name, from, to, rows, l.spec.Width)
	for i := range l.parts[first:] {
		l.parts[first+i].exact = true
	}
}

func (l *partList) norms(name string, first, last *Norm, to *norms) {
	if to.Before() {
		l.norm(name+"_norm", first, &to.first, l.spec.Width)
	}
	if to.After() {
		l.norm(name+"_post_norm", last, &to.last, l.spec.Width)
	}
}

func (l *partList) linear(name string, from *Linear, to *linear, rows, cols int) {
	l.add(part{name: name, rows: rows, cols: cols, from: &from.Weight, matrix: to})
	l.vector(name+".bias", &from.Bias, &to.bias, rows)
}

// adaptable numbers the products of all rows of a pass, which adapters can update.
func (l *partList) adaptable(products ...*linear) {
	for _, p := range products {
		l.number++
		p.number = l.number
	}
}

func (l *partList) norm(name string, from *Norm, to *norm, n int) {
	if l.spec.Norm.Plain() {
		return
	}
	l.vector(name, &from.Weight, &to.weight, n)
	l.parts[len(l.parts)-1].lessOne = from.LessOne
	if l.spec.Norm == LayerNorm {
		l.vector(name+".bias", &from.Bias, &to.bias, n)
	}
}

func (l *partList) vector(name string, from *Vector, to *[]float32, n int) {
	l.add(part{name: name, usage: plain, rows: n, cols: 1, from: (*[]Tensor)(from), values: to})
}

// absent reports whether the weights lack the part. Method check refuses absent parts unless
// they are optional.
func (p *part) absent() bool { return len(*p.from) == 0 }

// optional reports whether a model may lack the part, as it may lack a bias.
func (p *part) optional() bool {
	const bias = ".bias"
	return len(p.name) > len(bias) && p.name[len(p.name)-len(bias):] == bias
}

// format returns the format of the part in a model of format f.
func (p *part) format(f Format) Format {
	switch {
	case p.usage == plain || p.exact:
		return F32
	case p.head:
		f = f.head()
	}
	f = f.body()
	if f != Stored {
		return f.fit(p.rows, p.cols)
	}
	for i := range *p.from { // pieces may have different formats
		if t := &(*p.from)[i]; t.Transposed || t.Stored != (*p.from)[0].Stored {
			return F32
		}
	}
	return (*p.from)[0].Stored
}

// bytes returns the memory of the part in its format, a multiple of a cache line.
func (p *part) bytes(f Format) int64 {
	kind, packed := f.kind()
	switch {
	case packed:
		return kind.Bytes(p.rows, p.cols)
	case p.usage == multiplied:
		return kernel.MatrixBytes(p.rows, p.cols)
	case int64(p.rows) > math.MaxInt64/8/int64(p.cols):
		return math.MaxInt64
	}
	const line = 64
	return (4*int64(p.rows)*int64(p.cols) + line - 1) / line * line
}

// place makes the part use data, which may be filled later.
func (p *part) place(f Format, data []byte) (err error) {
	if p.usage == plain {
		*p.values = kernel.Floats(data)[:p.rows*p.cols]
		return nil
	}
	l := p.matrix
	l.rows, l.cols = p.rows, p.cols
	kind, packed := f.kind()
	switch {
	case packed:
		l.packed, err = kernel.OpenPacked(kind, p.rows, p.cols, data)
	case p.usage == lookedUp:
		l.table = kernel.Floats(data)[:p.rows*p.cols]
	default:
		l.full, err = kernel.OpenMatrix(p.rows, p.cols, data)
	}
	return err
}

// check refuses pieces that do not add up to the part.
func (p *part) check() error {
	got := 0
	for i := range *p.from {
		t := &(*p.from)[i]
		switch {
		case t.Rows < 1 || t.Cols != p.cols || t.Rows > p.rows-got:
			return fmt.Errorf("%s: tensor %q: shape (%d, %d) does not fit (%d, %d)", p.name, t.Name, t.Rows, t.Cols, p.rows, p.cols)
		case t.Transposed && (t.Rows != p.rows || p.usage != multiplied):
			return fmt.Errorf("%s: tensor %q: one of several pieces, or looked up by row, and transposed", p.name, t.Name)
		}
		got += t.Rows
	}
	if got != p.rows && !(got == 0 && p.optional()) {
		return fmt.Errorf("%s: %d rows of weights, %d are needed", p.name, got, p.rows)
	}
	return nil
}
