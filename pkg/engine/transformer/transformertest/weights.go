// Package transformertest makes models for tests: random weights for any [transformer.Spec],
// and random architectures. It refuses to know files and kernels.
package transformertest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"glossa/pkg/engine/transformer"
)

// A Model has an architecture and random weights, none of which is trivial.
type Model struct {
	Spec    *transformer.Spec
	Weights *transformer.Weights
	// Values are the weights by the names that packed files have for them.
	Values map[string]Values
}

// Values are the values of a tensor.
type Values struct {
	Rows, Cols int
	Data       []float32 // (Rows, Cols), row-major
}

// New returns a model of an architecture, always the same for a seed.
func New(spec *transformer.Spec, seed uint64) *Model {
	b := &builder{Model: &Model{Spec: spec, Values: map[string]Values{}}, r: rand.New(rand.NewPCG(seed, 1))}
	width := spec.Width
	if spec.EmbedWidth > 0 {
		width = spec.EmbedWidth
	}
	w := &transformer.Weights{}
	if spec.Patch > 0 {
		w.Embed = b.linear("patches", spec.Width, spec.Patch)
	} else {
		w.Embed = b.matrix("embedding", spec.Vocab, width, 1)
	}
	if b.r.IntN(2) == 0 {
		w.Head = b.linear("head", spec.Vocab, width)
	}
	if spec.EmbedWidth > 0 {
		w.ProjectIn, w.ProjectOut = b.linear("project_in", spec.Width, width), b.linear("project_out", width, spec.Width)
	}
	if n := spec.LayerInputs; n > 0 {
		all := len(spec.Decoder) * n
		w.LayerEmbed, w.LayerProjection = b.matrix("layer_embedding", spec.Vocab, all, 1), b.linear("layer_projection", all, spec.Width)
		w.LayerNorm = b.norm("layer_projection_norm", n)
	}
	if spec.HeadActivation != "" {
		w.HeadDense, w.HeadNorm = b.linear("head_dense", spec.Width, spec.Width), b.norm("head_norm", spec.Width)
	}
	b.streams(w)
	if spec.Position == transformer.Learned {
		w.Positions = b.matrix("positions", spec.Context, spec.InputWidth(), 0.5)
	}
	if spec.Position == transformer.Learned && spec.DecoderInput {
		w.DecoderPositions = b.matrix("decoder_positions", spec.Context, spec.Width, 0.5)
	}
	if spec.RelativeBuckets > 0 && !spec.RelativeLayers {
		w.Relative = b.matrix("relative", spec.RelativeBuckets, spec.Kinds[spec.Encoder[0]].Attention.Heads, 1)
	}
	if spec.RelativeBuckets > 0 && !spec.RelativeLayers && len(spec.Decoder) > 0 {
		w.CausalRelative = b.matrix("causal_relative", spec.RelativeBuckets, spec.Kinds[spec.Decoder[0]].Attention.Heads, 1)
	}
	if spec.TokenTypes > 0 {
		w.TokenTypes = b.matrix("token_types", spec.TokenTypes, spec.Width, 0.5)
	}
	if spec.EmbedNorm {
		w.EmbedNorm = b.norm("embedding_norm", spec.InputWidth())
	}
	if spec.EmbedNorm && spec.DecoderInput {
		w.DecoderEmbedNorm = b.norm("decoder_embedding_norm", spec.Width)
	}
	w.Encoder = b.stack("encoder", spec.Encoder, false)
	w.Decoder = b.stack("decoder", spec.Decoder, len(spec.Encoder) > 0)
	if !spec.NoLastNorm {
		w.DecoderNorm = b.norm("norm", spec.Width)
		if len(spec.Encoder) > 0 {
			w.EncoderNorm = b.norm("encoder.norm", spec.Width)
		}
	}
	b.Weights = w
	return b.Model
}

type builder struct {
	*Model
	r *rand.Rand
}

// add keeps values, which are read as they are, less some number.
func (b *builder) add(name string, rows, cols int, less float32, value func() float64) []transformer.Tensor {
	v := Values{rows, cols, make([]float32, rows*cols)}
	stored := make([]float32, rows*cols)
	for i := range stored {
		stored[i] = float32(value()) - less
		v.Data[i] = stored[i] + less
	}
	b.Values[name] = v
	return []transformer.Tensor{{Name: name, Rows: rows, Cols: cols, Read: func(dst []float32, from int) error {
		if from+len(dst) > len(stored) {
			return fmt.Errorf("tensor %q: values %d to %d of %d", name, from, from+len(dst), len(stored))
		}
		copy(dst, stored[from:])
		return nil
	}}}
}

func (b *builder) vector(name string, n int, mean, deviation float64) transformer.Vector {
	return b.add(name, n, 1, 0, func() float64 { return mean + deviation*b.r.NormFloat64() })
}

func (b *builder) matrix(name string, rows, cols int, scale float64) transformer.Linear {
	scale /= math.Sqrt(float64(cols))
	return transformer.Linear{Weight: b.add(name, rows, cols, 0, func() float64 { return scale * b.r.NormFloat64() })}
}

// linear is a matrix with or without a bias.
func (b *builder) linear(name string, rows, cols int) transformer.Linear {
	l := b.matrix(name, rows, cols, 0.8)
	if b.r.IntN(2) == 0 {
		l.Bias = b.vector(name+".bias", rows, 0, 0.2)
	}
	return l
}

func (b *builder) norm(name string, n int) (out transformer.Norm) {
	if b.Spec.Norm.Plain() {
		return out
	}
	less := float32(0)
	if out.LessOne = b.r.IntN(2) == 0; out.LessOne {
		less = 1
	}
	out.Weight = b.add(name, n, 1, less, func() float64 { return 1 + 0.3*b.r.NormFloat64() })
	if b.Spec.Norm == transformer.LayerNorm && b.r.IntN(2) == 0 {
		out.Bias = b.vector(name+".bias", n, 0, 0.2)
	}
	return out
}

// norms are those around a branch.
func (b *builder) norms(name string, p transformer.Placement) (first, last transformer.Norm) {
	if p == transformer.PreNorm || p == transformer.SandwichNorm {
		first = b.norm(name+"_norm", b.Spec.Width)
	}
	if p != transformer.PreNorm && p != transformer.NoNorm {
		last = b.norm(name+"_post_norm", b.Spec.Width)
	}
	return first, last
}

func (b *builder) stack(name string, kinds []int, cross bool) (list []transformer.Layer) {
	for i, kind := range kinds {
		list = append(list, b.layer(fmt.Sprintf("%s.%d.", name, i), &b.Spec.Kinds[kind], cross))
	}
	return list
}

func (b *builder) layer(at string, k *transformer.Kind, cross bool) transformer.Layer {
	l, width := b.branches(at, k, cross), b.Spec.Width
	if n := b.Spec.LayerInputs; n > 0 {
		l.InputGate, l.InputOut = b.linear(at+"input_gate", n, width), b.linear(at+"input_out", width, n)
		l.InputNorm = b.norm(at+"input_post_norm", width)
	}
	b.layerStreams(&l, at)
	if b.Spec.LayerScale {
		l.Scale = b.vector(at+"scale", 1, 0.9, 0.2)
	}
	return l
}

func (b *builder) branches(at string, k *transformer.Kind, cross bool) (l transformer.Layer) {
	f, width := &k.FeedForward, b.Spec.Width
	if k.Attention.Heads > 0 {
		l.AttentionNorm, l.AttentionPostNorm = b.norms(at+"attention", k.Attention.Norms)
		b.attention(&l, at, &k.Attention, cross)
	}
	if k.Convolution != nil {
		b.convolution(&l, at, k.Convolution)
	}
	if k.Deltas != nil {
		l.AttentionNorm, l.AttentionPostNorm = b.norms(at+"deltas", k.Deltas.Norms)
		b.deltas(&l, at, k.Deltas)
	}
	if k.States != nil {
		if k.Attention.Heads == 0 {
			l.AttentionNorm, l.AttentionPostNorm = b.norms(at+"states", k.States.Norms)
		}
		b.states(&l, at, k.States)
	}
	if f.Width == 0 {
		return l
	}
	if !k.SharedNorm {
		l.FFNNorm, l.FFNPostNorm = b.norms(at+"ffn", f.Norms)
	}
	if f.Experts != nil {
		b.experts(&l, at, f)
		return l
	}
	l.Up, l.Down = b.linear(at+"up", f.Width, width), b.linear(at+"down", width, f.Width)
	if f.Gated {
		l.Gate = b.linear(at+"gate", f.Width, width)
	}
	learned, values := map[transformer.Activation]int{transformer.Universal: 2, transformer.KANSpline: 5, transformer.XIELU: 4}, f.Width
	if f.Activation == transformer.XIELU {
		values = 1
	}
	for i := range learned[f.Activation] {
		l.Learned = append(l.Learned, b.vector(fmt.Sprintf("%sactivation.%d", at, i), values, 0.5, 0.3))
	}
	return l
}

func (b *builder) attention(l *transformer.Layer, at string, a *transformer.Attention, cross bool) {
	queries, keys, width := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim, b.Spec.Width
	rows := queries + 2*keys
	switch {
	case a.KVLayer > 0:
		rows = queries
	case a.KeysAsValues:
		rows = queries + keys
	}
	switch {
	case a.HeadGates:
		rows += a.Heads
	case a.Gated:
		rows += queries
	}
	if a.Latent != nil {
		b.latent(l, at, a)
	} else {
		l.QKV, l.Out = b.linear(at+"qkv", rows, width), b.linear(at+"out", width, queries)
	}
	normed, own := keys, queries
	if a.QKNorm == transformer.QKNormHead {
		normed, own = a.HeadDim, a.HeadDim
	}
	if a.QKNorm != transformer.NoQKNorm {
		l.QNorm = b.norm(at+"q_norm", own)
	}
	if a.QKNorm != transformer.NoQKNorm && a.KVLayer == 0 {
		l.KNorm = b.norm(at+"k_norm", normed)
	}
	if a.Sinks {
		l.Sinks = b.vector(at+"sinks", a.Heads, 0.5, 1)
	}
	if a.Disentangled != nil {
		b.distances(l, at, a)
	}
	if b.Spec.RelativeLayers {
		l.Relative = b.matrix(at+"relative", b.Spec.RelativeBuckets, a.Heads, 1)
	}
	if cross {
		l.CrossNorm, l.CrossPostNorm = b.norms(at+"cross", a.Norms)
		l.CrossQ, l.CrossKV = b.linear(at+"cross_q", queries, width), b.linear(at+"cross_kv", 2*keys, width)
		l.CrossOut = b.linear(at+"cross_out", width, queries)
	}
}

func (b *builder) distances(l *transformer.Layer, at string, a *transformer.Attention) {
	for h := range a.Heads {
		var head transformer.DistanceHead
		if a.Disentangled.Keys {
			head.Keys = b.matrix(fmt.Sprintf("%sdistance_key.%d", at, h), 2*a.Disentangled.Buckets, a.HeadDim, 2).Weight
		}
		if a.Disentangled.Queries {
			head.Queries = b.matrix(fmt.Sprintf("%sdistance_query.%d", at, h), 2*a.Disentangled.Buckets, a.HeadDim, 2).Weight
		}
		l.DistanceHeads = append(l.DistanceHeads, head)
	}
}

func (b *builder) latent(l *transformer.Layer, at string, a *transformer.Attention) {
	t, rank := a.Latent, a.HeadDim-a.Latent.Shared
	queries, first := a.Heads*(t.KeyDim+t.Shared), t.QueryRank
	if first == 0 {
		first = queries
	}
	l.QKV, l.Out = b.linear(at+"qkv", first+a.HeadDim, b.Spec.Width), b.linear(at+"out", b.Spec.Width, a.Heads*t.ValueDim)
	if l.KNorm = b.norm(at+"k_norm", rank); t.QueryRank > 0 {
		l.QNorm, l.LatentQueries = b.norm(at+"q_norm", t.QueryRank), b.linear(at+"latent_queries", queries, t.QueryRank)
	}
	for h := range a.Heads {
		key, value := fmt.Sprintf("%slatent_key.%d", at, h), fmt.Sprintf("%slatent_value.%d", at, h)
		l.LatentHeads = append(l.LatentHeads, transformer.LatentHead{Key: b.matrix(key, rank, t.KeyDim, 1).Weight, Value: b.matrix(value, t.ValueDim, rank, 1).Weight})
	}
}

func (b *builder) convolution(l *transformer.Layer, at string, c *transformer.Convolution) {
	width := b.Spec.Width
	l.AttentionNorm, l.AttentionPostNorm = b.norms(at+"convolution", c.Norms)
	l.ConvolutionIn, l.ConvolutionOut = b.linear(at+"convolution_in", 3*width, width), b.linear(at+"convolution_out", width, width)
	l.Convolution = b.vector(at+"convolution", c.Taps*width, 0, 1)
	if b.r.IntN(2) == 0 {
		l.ConvolutionBias = b.vector(at+"convolution.bias", width, 0, 0.2)
	}
}

func (b *builder) states(l *transformer.Layer, at string, s *transformer.StateSpace) {
	if s.StepRank > 0 {
		b.steps(l, at, s)
		return
	}
	inner, both := s.Heads*s.HeadDim, 2*s.Groups*s.Size
	l.StatesIn, l.StatesOut = b.linear(at+"states_in", 2*inner+both+s.Heads, b.Spec.Width), b.linear(at+"states_out", b.Spec.Width, inner)
	l.Convolution = b.vector(at+"states_convolution", s.Taps*(inner+both), 0, 0.7)
	if b.r.IntN(2) == 0 {
		l.ConvolutionBias = b.vector(at+"states_convolution.bias", inner+both, 0, 0.2)
	}
	l.Step, l.Skip = b.vector(at+"states_step", s.Heads, 0, 1), b.vector(at+"states_skip", s.Heads, 1, 0.3)
	l.Decay = b.add(at+"states_decay", s.Heads, 1, 0, func() float64 { return -math.Exp(b.r.NormFloat64()) })
	if s.Gating != transformer.GateAlone {
		l.InnerNorm = b.vector(at+"states_inner_norm", inner, 1, 0.3)
	}
}

// steps are states whose inputs have steps of their own.
func (b *builder) steps(l *transformer.Layer, at string, s *transformer.StateSpace) {
	inner, selected := s.HeadDim, s.StepRank+2*s.Size
	l.StatesIn, l.StatesOut = b.linear(at+"states_in", 2*inner, b.Spec.Width), b.linear(at+"states_out", b.Spec.Width, inner)
	l.Convolution = b.vector(at+"states_convolution", s.Taps*inner, 0, 0.7)
	if b.r.IntN(2) == 0 {
		l.ConvolutionBias = b.vector(at+"states_convolution.bias", inner, 0, 0.2)
	}
	l.StatesSelection, l.StatesSteps = b.linear(at+"states_selection", selected, inner), b.linear(at+"states_steps", inner, s.StepRank)
	if s.StepEps > 0 {
		l.StepNorm = b.vector(at+"states_step_norm", selected, 1, 0.3)
	}
	l.Skip = b.vector(at+"states_skip", inner, 1, 0.3)
	l.Decay = b.add(at+"states_decay", inner*s.Size, 1, 0, func() float64 { return -math.Exp(b.r.NormFloat64()) })
}

func (b *builder) deltas(l *transformer.Layer, at string, d *transformer.DeltaNet) {
	inner, keys := d.Heads*d.HeadDim, d.KeyHeads*d.KeyDim
	l.DeltasIn, l.DeltasOut = b.linear(at+"deltas_in", 2*(inner+keys+d.Heads), b.Spec.Width), b.linear(at+"deltas_out", b.Spec.Width, inner)
	l.Convolution = b.vector(at+"deltas_convolution", d.Taps*(inner+2*keys), 0, 0.7)
	l.Step = b.vector(at+"deltas_step", d.Heads, 0, 1)
	l.Decay = b.add(at+"deltas_decay", d.Heads, 1, 0, func() float64 { return -math.Exp(b.r.NormFloat64() - 1) })
	l.InnerNorm = b.vector(at+"deltas_inner_norm", d.HeadDim, 1, 0.3)
}

// experts are those of a layer.
func (b *builder) experts(l *transformer.Layer, at string, f *transformer.FeedForward) {
	width, e := b.Spec.Width, f.Experts
	l.Router = b.linear(at+"router", e.Count, width)
	if e.Corrected {
		l.Correction = b.vector(at+"correction", e.Count, 0, 0.3)
	}
	if e.Apart {
		l.RouterNorm, l.ExpertsNorm = b.norm(at+"router_norm", width), b.norm(at+"experts_norm", width)
		l.SharedPostNorm, l.ExpertsPostNorm = b.norm(at+"shared_post_norm", width), b.norm(at+"experts_post_norm", width)
		l.ExpertScale = b.vector(at+"expert_scale", e.Count, 1, 0.3)
	}
	if e.Shared > 0 {
		shared := b.expert(at, e.Shared, f.Gated)
		l.Up, l.Gate, l.Down = shared.Up, shared.Gate, shared.Down
	}
	if e.SharedGate {
		l.SharedGate = b.linear(at+"shared_gate", 1, width)
	}
	for i := range e.Count {
		l.Experts = append(l.Experts, b.expert(fmt.Sprintf("%sexpert.%d.", at, i), f.Width, f.Gated))
	}
}

// expert is one of a layer, or the block that all tokens use.
func (b *builder) expert(at string, ffn int, gated bool) (e transformer.Expert) {
	width := b.Spec.Width
	if e.Up = b.linear(at+"up", ffn, width); gated {
		e.Gate = b.linear(at+"gate", ffn, width)
	}
	e.Down = b.linear(at+"down", width, ffn)
	return e
}
