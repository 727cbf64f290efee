package arch

import (
	"fmt"
	"strings"

	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// A layout names the tensors of a model. Names are without the common prefix, and without
// ".weight" and ".bias"; %d is the number of a layer.
type layout struct {
	prefix    string // alternatives are separated by spaces
	embed     string // alternatives are separated by spaces
	positions string
	skip      int    // rows of positions before that of the first position
	head      linear // has the embedding's weight if tied
	headDense linear // of a Spec with HeadActivation
	headNorm  string // the same
	copies    string // tensors that may repeat the embedding, and must then be equal
	tied      bool
	headBias  []string // of an encoder's head, with ".bias": the first that the file has
	lastBias  string   // of a decoder's head, (1, Vocab): the whole name

	projectIn, projectOut linear // of a Spec with EmbedWidth

	tokenTypes, relative string // of a Spec with TokenTypes and with RelativeBuckets
	causalRelative       string // of its decoder

	layerEmbed, layerNorm string // of a Spec with LayerInputs
	layerProjection       linear // the same
	layerVocab            int    // tokens of layerEmbed; 0: all

	streamsIn, streamsOut string // of a Spec with Streams: %s is the number of a matrix, if each is a tensor

	class             string // the whole name
	embedNorm         string
	decoderPositions  string // of a Spec with DecoderInput
	decoderEmbedNorm  string // the same
	norm, encoderNorm string
	noNormBias        bool // layer norms have no bias
	lessOne           bool // norms are stored minus 1 (Gemma)
	decoder, encoder  layers
}

// layers names the tensors of a stack.
type layers struct {
	attentionNorm, crossNorm, ffnNorm string
	attentionPostNorm, ffnPostNorm    string
	crossPostNorm                     string
	qNorm, kNorm                      string // %h is the number of a head, if each has a norm
	sinks                             string // the whole name
	relative                          string // of layers with biases by distance of their own
	convolution                       string // of layers with one: the stem of its tensors
	convolutionBias                   bias   // of all its tensors
	states                            stateNames
	deltas                            deltaNames // of layers with a delta rule
	streams                           streamNames
	laurel                            laurelNames
	latent                            latentNames
	distances                         distanceNames // of layers with a Disentangled
	inputNorm, scale                  string        // of a Spec with LayerInputs; of one with LayerScale, the whole name

	qkv, out        linear
	fused           string // instead of qkv in layers that have it: the rows of all three
	crossQ, crossKV linear
	crossOut        linear
	up, gate, down  linear
	inputGate       linear   // of a Spec with LayerInputs
	inputOut        linear   // the same
	gateUp          linear   // instead of up and gate: the rows of gate, then those of up
	upFirst         bool     // the rows of up come first
	learned         []string // the numbers of the activation: whole names
	learnedKeys     []string // of GGUF instead: keys with a value of each layer
	experts         expertNames
}

// A linear names a matrix and its bias. Several names, separated by spaces, are its parts
// one below the other.
type linear struct {
	names      string
	bias       bias
	scaleBias  float32 // factor of the bias; 0: 1
	transposed bool    // stored as (in, out)
	grouped    bool    // for each head of keys: the rows of its queries, of its key and of its value
	quarters   bool    // see [builder.quarters]
}

// A bias specifies whether a matrix has one.
type bias uint8

const (
	never bias = iota
	always
	stored // if the file has it
)

// A builder looks up the tensors of a file by their role.
type builder struct {
	*source
	spec   *transformer.Spec
	layout *layout

	distanceRows func() ([]float32, error) // the embeddings of distances; nil: they are not looked up yet
}

// build finds the weights of a model. Every tensor of the file must be used.
func build(src *source, s *transformer.Spec, l *layout, buffers []string) (*transformer.Weights, error) {
	b := &builder{source: src, spec: s, layout: l}
	w := b.weights()
	b.unused(buffers)
	return w, b.err
}

// weights finds the weights of a model.
func (b *builder) weights() *transformer.Weights {
	s, l, w := b.spec, b.layout, &transformer.Weights{}
	if s.Patch > 0 {
		w.Embed = b.patches(l.embed)
		if s.Class {
			w.Class = transformer.Vector{b.vector(l.class, s.Width).rows(0, s.Width)}
		}
	} else {
		w.Embed = b.embedding(l)
	}
	if s.EmbedWidth > 0 {
		w.ProjectIn = b.linear(&l.projectIn, 0, s.Width, s.EmbedWidth)
		if len(s.Decoder) > 0 {
			w.ProjectOut = b.linear(&l.projectOut, 0, s.EmbedWidth, s.Width)
		}
	}
	w.Positions, w.EmbedNorm = b.input(l.positions, l.embedNorm)
	if s.DecoderInput {
		w.DecoderPositions, w.DecoderEmbedNorm = b.input(l.decoderPositions, l.decoderEmbedNorm)
	}
	if s.TokenTypes > 0 {
		w.TokenTypes = b.table(l.tokenTypes, s.TokenTypes, s.InputWidth())
	}
	if s.RelativeBuckets > 0 && !s.RelativeLayers {
		w.Relative = b.table(l.relative, s.RelativeBuckets, s.Kinds[s.Encoder[0]].Attention.Heads)
		if len(s.Decoder) > 0 {
			w.CausalRelative = b.table(l.causalRelative, s.RelativeBuckets, s.Kinds[s.Decoder[0]].Attention.Heads)
		}
	}
	if n := s.LayerInputs; n > 0 {
		all := len(s.Decoder) * n
		w.LayerEmbed, w.LayerProjection = b.layerEmbedding(l, all), b.linear(&l.layerProjection, 0, all, s.Width)
		w.LayerNorm = b.normOf([]string{l.layerNorm}, n, never)
	}
	b.streams(w, l)
	b.stacks(w, l)
	return w
}

// input returns the positions and the norm of embeddings of a stack.
func (b *builder) input(positions, norm string) (p transformer.Linear, n transformer.Norm) {
	s, skip := b.spec, b.layout.skip
	if s.Position == transformer.Learned {
		table := b.matrix(positions+".weight", s.Context+skip, s.InputWidth(), false)
		p.Weight = []transformer.Tensor{table.rows(skip, s.Context)}
	}
	if s.EmbedNorm {
		n = b.normOf([]string{norm}, s.InputWidth(), b.offsets())
	}
	return p, n
}

// patches returns the matrix of patches, which is stored as a convolution's.
func (b *builder) patches(name string) transformer.Linear {
	width, side := b.spec.Width, root(b.spec.Patch/3)
	var weight transformer.Tensor
	if b.dimensions(name+".weight") == 5 {
		weight = b.still(name+".weight", width, side)
	} else {
		weight = b.take(name+".weight", []int{width, 3, side, side}, span{cols: b.spec.Patch}).rows(0, width)
	}
	out := transformer.Linear{Weight: []transformer.Tensor{weight}}
	if b.has(name + ".bias") {
		out.Bias = transformer.Vector{b.vector(name+".bias", width).rows(0, width)}
	}
	return out
}

// still returns the matrix of patches of two frames of a film for a picture, which both frames show: the
// sum of their weights. It is stored as a convolution's, (rows, 3, 2, side, side).
func (b *builder) still(name string, rows, side int) transformer.Tensor {
	square := side * side
	both := b.take(name, []int{rows, 3, 2, side, side}, span{cols: 6 * square}).rows(0, rows)
	t := transformer.Tensor{Name: both.Name, Rows: rows, Cols: 3 * square, Stored: transformer.F32}
	t.Read = func(dst []float32, from int) error {
		first := from / square * square
		films := make([]float32, 2*((from+len(dst)-first+square-1)/square)*square)
		if err := both.Read(films, 2*first); err != nil {
			return err
		}
		for i := range dst {
			at := from - first + i
			at += at / square * square
			dst[i] = films[at] + films[at+square]
		}
		return nil
	}
	return t
}

// table returns a matrix that is looked up by row.
func (b *builder) table(name string, rows, cols int) transformer.Linear {
	return transformer.Linear{Weight: []transformer.Tensor{b.matrix(name+".weight", rows, cols, false).rows(0, rows)}}
}

// stacks looks up the layers, and what follows them.
func (b *builder) stacks(w *transformer.Weights, l *layout) {
	s := b.spec
	if len(s.Encoder) > 0 {
		if !s.NoLastNorm {
			w.EncoderNorm = b.norm(l.encoderNorm, 0)
		}
		w.Encoder = b.stack(s.Encoder, &l.encoder)
	}
	if s.MaskedHead {
		b.maskedWeights(w)
	}
	if len(s.Decoder) == 0 {
		return
	}
	if !l.tied {
		w.Head = b.linear(&l.head, 0, s.Vocab, b.embedWidth())
	} else if l.head.bias == always {
		w.Head.Bias = b.biasOf(&l.head, 0, []int{s.Vocab})
	}
	if l.lastBias != "" {
		w.Head.Bias = transformer.Vector{b.take(l.lastBias, []int{1, s.Vocab}, span{cols: 1}).rows(0, s.Vocab)}
	}
	if s.HeadActivation != "" {
		w.HeadDense, w.HeadNorm = b.linear(&l.headDense, 0, s.Width, s.Width), b.norm(l.headNorm, 0)
	}
	if !s.NoLastNorm {
		w.DecoderNorm = b.norm(l.norm, 0)
	}
	w.Decoder = b.stack(s.Decoder, &l.decoder)
}

// embedding returns the table of tokens. Tensors that repeat it must be equal.
func (b *builder) embedding(l *layout) transformer.Linear {
	name, ok := b.first(l.embed)
	if !ok && l.tied {
		name, _ = b.first(l.embed + " " + l.copies)
	}
	whole := b.matrix(name+".weight", b.spec.Vocab, b.embedWidth(), false)
	t := whole.rows(0, b.spec.Vocab)
	copies := strings.Fields(l.embed)
	if l.tied {
		copies = append(copies, strings.Fields(l.copies)...)
	}
	for _, other := range copies {
		if other != name && b.has(other+".weight") {
			t.Read = same(t, b.matrix(other+".weight", b.spec.Vocab, b.embedWidth(), false).rows(0, b.spec.Vocab))
			t.ReadStored = compared(t, whole.kind)
		}
	}
	return transformer.Linear{Weight: []transformer.Tensor{t}}
}

// embedWidth returns the width of the embedding and of the head.
func (b *builder) embedWidth() int {
	if b.spec.EmbedWidth > 0 {
		return b.spec.EmbedWidth
	}
	return b.spec.Width
}

// same reads a tensor that repeats another one, and fails if they differ.
func same(t, other transformer.Tensor) func([]float32, int) error {
	return func(dst []float32, from int) error {
		if err := t.Read(dst, from); err != nil {
			return err
		}
		again := make([]float32, len(dst))
		if err := other.Read(again, from); err != nil {
			return err
		}
		for i, v := range again {
			if v != dst[i] {
				return fmt.Errorf("tensor %q: value %d is %v, where tensor %q, which it is tied to, has %v", other.Name, from+i, v, t.Name, dst[i])
			}
		}
		return nil
	}
}

// compared returns t.ReadStored, if set, followed by t.Read of the same values, which
// compares them.
func compared(t transformer.Tensor, kind dtype.Type) func([]byte, int) error {
	if t.ReadStored == nil {
		return nil
	}
	values, bytes := kind.Block()
	return func(dst []byte, from int) error {
		if err := t.ReadStored(dst, from); err != nil {
			return err
		}
		return t.Read(make([]float32, len(dst)/bytes*values), from)
	}
}

// norm returns a norm of the residual stream.
func (b *builder) norm(name string, layer int) transformer.Norm {
	return b.normOf([]string{at(name, layer)}, b.spec.Width, b.offsets())
}

// offsets returns whether norms of the residual stream have a bias.
func (b *builder) offsets() bias {
	if b.spec.Norm == transformer.RMSNorm || b.layout.noNormBias {
		return never
	}
	return always
}

// normOf returns a norm of n values in each of the names.
func (b *builder) normOf(names []string, n int, offsets bias) (norm transformer.Norm) {
	if b.spec.Norm.Plain() {
		return norm
	}
	norm.LessOne = b.layout.lessOne
	for _, name := range names {
		norm.Weight = append(norm.Weight, b.vector(name+".weight", n).rows(0, n))
		if offsets == always {
			norm.Bias = append(norm.Bias, b.vector(name+".bias", n).rows(0, n))
		}
	}
	return norm
}

func (b *builder) stack(kinds []int, l *layers) []transformer.Layer {
	var out []transformer.Layer
	for i, kind := range kinds {
		if b.err != nil { // before allocating much for missing tensors
			return nil
		}
		k := &b.spec.Kinds[kind]
		var o transformer.Layer
		if k.Attention.Heads > 0 {
			b.attention(&o, l, i, &k.Attention)
		}
		if k.Convolution != nil {
			b.convolution(&o, l, i, k.Convolution)
		}
		if k.Deltas != nil {
			b.deltas(&o, l, i, k.Deltas)
		}
		if k.States != nil {
			b.states(&o, l, i, k.States)
		}
		if l.crossQ.names != "" {
			b.cross(&o, l, i, &k.Attention)
		}
		if k.FeedForward.Width > 0 {
			b.feedForward(&o, l, i, k)
		}
		if n := b.spec.LayerInputs; n > 0 {
			o.InputGate, o.InputOut = b.linear(&l.inputGate, i, n, b.spec.Width), b.linear(&l.inputOut, i, b.spec.Width, n)
			o.InputNorm = b.norm(l.inputNorm, i)
		}
		b.layerStreams(&o, l, i)
		if b.spec.LayerScale {
			o.Scale = transformer.Vector{b.vector(at(l.scale, i), 1).rows(0, 1)}
		}
		out = append(out, o)
	}
	return out
}

// attention looks up the attention of a layer.
func (b *builder) attention(o *transformer.Layer, l *layers, i int, a *transformer.Attention) {
	width, queries, keys := b.spec.Width, a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	if a.Norms.Before() {
		o.AttentionNorm = b.norm(l.attentionNorm, i)
	}
	if a.Norms.After() {
		o.AttentionPostNorm = b.norm(l.attentionPostNorm, i)
	}
	if a.Latent != nil {
		b.latent(o, l, i, a)
		return
	}
	switch names := strings.Fields(l.qkv.names); {
	case l.fused != "" && b.has(at(l.fused, i)+".weight"):
		all := b.matrix(at(l.fused, i)+".weight", queries+2*keys, width, false)
		if o.QKV = one(all.rows(0, queries+2*keys)); a.KVLayer > 0 {
			o.QKV = one(all.rows(0, queries))
		}
	case a.Gated && len(names) == 4: // gates are a matrix of their own
		gates := queries
		if a.HeadGates {
			gates = a.Heads
		}
		o.QKV = b.pieces(&l.qkv, i, width, queries, keys, keys, gates)
	case a.Gated:
		o.QKV = b.gated(&l.qkv, i, a, width)
	case l.qkv.quarters:
		o.QKV = b.quarters(&l.qkv, i, queries, width)
	case l.qkv.grouped:
		o.QKV = b.groups(&l.qkv, i, a, width)
	case a.KVLayer > 0:
		o.QKV = b.linear(&linear{names: names[0], bias: l.qkv.bias}, i, queries, width)
	case a.KeysAsValues:
		o.QKV = b.pieces(&linear{names: names[0] + " " + names[1], bias: l.qkv.bias}, i, width, queries, keys)
	default:
		o.QKV = b.pieces(&l.qkv, i, width, queries, keys, keys)
	}
	switch a.QKNorm {
	case transformer.QKNormHead:
		o.QNorm = b.normOf([]string{at(l.qNorm, i)}, a.HeadDim, never)
		if a.KVLayer == 0 {
			o.KNorm = b.normOf([]string{at(l.kNorm, i)}, a.HeadDim, never)
		}
	case transformer.QKNormEachHead:
		o.QNorm, o.KNorm = b.headNorms(l.qNorm, i, a.Heads, a.HeadDim), b.headNorms(l.kNorm, i, a.KVHeads, a.HeadDim)
	case transformer.QKNormAll:
		o.QNorm = b.normOf([]string{at(l.qNorm, i)}, queries, never)
		o.KNorm = b.normOf([]string{at(l.kNorm, i)}, keys, never)
	}
	if a.Disentangled != nil {
		b.distances(o, l, i, a)
	}
	if a.Sinks {
		o.Sinks = transformer.Vector{b.vector(at(l.sinks, i), a.Heads).rows(0, a.Heads)}
	}
	if b.spec.RelativeLayers {
		o.Relative = b.table(at(l.relative, i), b.spec.RelativeBuckets, a.Heads)
	}
	o.Out = b.linear(&l.out, i, width, queries)
}

// headNorms returns the norm of each of some heads, which are tensors of their own or the
// rows of one.
func (b *builder) headNorms(name string, layer, heads, dim int) transformer.Norm {
	name = at(name, layer)
	if !strings.Contains(name, "%h") {
		t := b.matrix(name+".weight", heads, dim, false).rows(0, heads)
		t.Rows, t.Cols = heads*dim, 1
		return transformer.Norm{Weight: transformer.Vector{t}}
	}
	var names []string
	for h := range heads {
		names = append(names, strings.ReplaceAll(name, "%h", fmt.Sprint(h)))
	}
	return b.normOf(names, dim, never)
}

// cross looks up the cross-attention of a layer.
func (b *builder) cross(o *transformer.Layer, l *layers, i int, a *transformer.Attention) {
	width, queries, keys := b.spec.Width, a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	if a.Norms.Before() {
		o.CrossNorm = b.norm(l.crossNorm, i)
	}
	if a.Norms.After() {
		o.CrossPostNorm = b.norm(l.crossPostNorm, i)
	}
	o.CrossQ = b.linear(&l.crossQ, i, queries, width)
	o.CrossKV = b.pieces(&l.crossKV, i, width, keys, keys)
	o.CrossOut = b.linear(&l.crossOut, i, width, queries)
}

// feedForward looks up the feed-forward block of a layer.
func (b *builder) feedForward(o *transformer.Layer, l *layers, i int, k *transformer.Kind) {
	if k.FeedForward.Norms.Before() && !k.SharedNorm {
		o.FFNNorm = b.norm(l.ffnNorm, i)
	}
	if k.FeedForward.Norms.After() {
		o.FFNPostNorm = b.norm(l.ffnPostNorm, i)
	}
	n, ffn := block{l.up, l.gate, l.down, l.gateUp}, k.FeedForward.Width
	if e := k.FeedForward.Experts; e != nil {
		b.experts(o, &l.experts, i, &k.FeedForward)
		if n, ffn = l.experts.shared, e.Shared; ffn == 0 {
			return
		}
	}
	o.Learned = b.learned(l, i)
	width := b.spec.Width
	switch {
	case n.gateUp.names != "":
		both := b.matrix(at(n.gateUp.names, i)+".weight", 2*ffn, width, false)
		gate, up := both.rows(0, ffn), both.rows(ffn, ffn)
		if l.upFirst {
			gate, up = up, gate
		}
		o.Gate.Weight, o.Up.Weight = []transformer.Tensor{gate}, []transformer.Tensor{up}
	default:
		o.Up = b.linear(&n.up, i, ffn, width)
		if k.FeedForward.Gated {
			o.Gate = b.linear(&n.gate, i, ffn, width)
		}
	}
	o.Down = b.linear(&n.down, i, width, ffn)
}

func (b *builder) linear(l *linear, layer, rows, cols int) transformer.Linear {
	return b.pieces(l, layer, cols, rows)
}

// pieces returns a matrix of parts with the given numbers of rows, stored separately or
// as one.
func (b *builder) pieces(l *linear, layer, cols int, rows ...int) (out transformer.Linear) {
	names := strings.Fields(l.names)
	if len(names) != len(rows) {
		total := 0
		for _, n := range rows {
			total += n
		}
		rows = []int{total}
		name, _ := b.first(at(l.names, layer)) // alternatives
		names = []string{name}
	}
	for i, n := range rows {
		t := b.matrix(at(names[i], layer)+".weight", n, cols, l.transposed)
		out.Weight = append(out.Weight, t.rows(0, n))
	}
	out.Bias = b.biasOf(&linear{names: strings.Join(names, " "), bias: l.bias, scaleBias: l.scaleBias}, layer, rows)
	return out
}

// biasOf returns the bias of parts with the given numbers of rows; nil if there is none.
func (b *builder) biasOf(l *linear, layer int, rows []int) (v transformer.Vector) {
	names := strings.Fields(l.names)
	for i, name := range names {
		name = at(name, layer) + ".bias"
		if l.bias == never || l.bias == stored && !b.has(at(names[0], 0)+".bias") {
			return nil
		}
		t := b.vector(name, rows[i]).rows(0, rows[i])
		scale(&t, 0, rows[i], l.scaleBias)
		v = append(v, t)
	}
	return v
}

// groups returns a matrix whose rows are stored as (KVHeads, Heads/KVHeads+2, HeadDim),
// separated into the queries of all heads, their keys and their values.
func (b *builder) groups(l *linear, layer int, a *transformer.Attention, cols int) (out transformer.Linear) {
	each := a.Heads / a.KVHeads
	name, rows := at(l.names, layer), (a.Heads+2*a.KVHeads)*a.HeadDim
	weight := b.matrix(name+".weight", rows, cols, false)
	var offsets span
	if l.bias == always {
		offsets = b.vector(name+".bias", rows)
	}
	add := func(row, n int) {
		out.Weight = append(out.Weight, weight.rows(row*a.HeadDim, n*a.HeadDim))
		if l.bias == always {
			out.Bias = append(out.Bias, offsets.rows(row*a.HeadDim, n*a.HeadDim))
		}
	}
	for _, part := range []struct{ at, n int }{{0, each}, {each, 1}, {each + 1, 1}} {
		for group := range a.KVHeads {
			add(group*(each+2)+part.at, part.n)
		}
	}
	return out
}

// at returns the name of a tensor in a layer.
func at(name string, layer int) string {
	return strings.ReplaceAll(name, "%d", fmt.Sprint(layer))
}
