package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// ggufTypes maps GGUF's general.architecture to architectures, with their [Model.Type].
var ggufTypes = map[string]struct {
	kind   string
	family *family
}{
	"gpt2": {"gpt2", &ggufGPT2}, "gptneox": {"gpt_neox", &ggufNeoX}, "llama": {"llama", &ggufLlama},
}

// Common parts of all architectures; names of keys are without the architecture's prefix.
var (
	ggufVocab   = field{"vocab_size", 0}
	ggufContext = field{"context_length", 0}
	ggufWidth   = field{"embedding_length", 0}
	ggufDecoder = dimensions{
		depth: field{"block_count", 0}, heads: field{"attention.head_count", 0}, ffn: field{"feed_forward_length", 0},
	}
	ggufEps   = real{"attention.layer_norm_epsilon", 1e-5}
	ggufFixed = []requiredValue{
		{"expert_count", "0"}, {"attention.clamp_kqv", "0"}, {"attention.max_alibi_bias", "0"}, {"attention.scale", "0"},
		{"attn_logit_softcapping", "0"}, {"final_logit_softcapping", "0"}, {"logit_scale", "0"}, {"residual_scale", "0"},
		{"embedding_scale", "0"}, {"attention.causal", "true"}, {"rope.scaling.attn_factor", "1"}, {"tensor_data_layout", `"Meta AI original pth"`},
	}
)

// ggufLayers names the tensors of a layer; qkv are those of queries, keys and values.
func ggufLayers(qkv string, offsets bias) layers {
	return layers{
		attentionNorm: "blk.%d.attn_norm", ffnNorm: "blk.%d.ffn_norm",
		qkv:  linear{names: qkv, bias: offsets},
		out:  linear{names: "blk.%d.attn_output", bias: offsets},
		up:   linear{names: "blk.%d.ffn_up", bias: offsets},
		gate: linear{names: "blk.%d.ffn_gate", bias: offsets},
		down: linear{names: "blk.%d.ffn_down", bias: offsets},
	}
}

func ggufLayout(decoder layers) layout {
	return layout{
		embed: "token_embd", positions: "position_embd", norm: "output_norm", head: linear{names: "output"}, decoder: decoder,
	}
}

// ggufGPT2: the converter transposes the matrices to (out, in).
var ggufGPT2 = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps, fixed: ggufFixed,
	activation: text{"", "gelu_new"},
	spec:       transformer.Spec{Position: transformer.Learned},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", always)),
}

// ggufNeoX: the converter regroups queries, keys and values. The file does not specify
// the form of GELU: among the published models only GPT-NeoX-20B uses the tanh form.
var ggufNeoX = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps, fixed: ggufFixed,
	activation: text{"", "gelu"},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", stored)),
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		k := &s.Kinds[0]
		k.Parallel = c.flag("use_parallel_residual", true)
		if len(s.Decoder) == 44 && s.Width == 6144 {
			k.FeedForward.Activation = transformer.GELU
		}
		setRotary(s, ggufRotary(c, k.Attention.HeadDim))
	},
}

// ggufLlama: the converter permutes the rows of queries and keys, which makes the pairs
// of the rotary embedding neighbours.
var ggufLlama = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, fixed: ggufFixed,
	activation: text{"", "silu"},
	eps:        real{"attention.layer_norm_rms_epsilon", 1e-5},
	spec:       transformer.Spec{Norm: transformer.RMSNorm},
	kind:       transformer.Kind{FeedForward: transformer.FeedForward{Gated: true}},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_q blk.%d.attn_k blk.%d.attn_v", stored)),
	buffers:    []string{"blk.*.attn_rot_embd", "blk.*.attn_rot_embd.weight"},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		a := &s.Kinds[0].Attention
		a.KVHeads = c.integer("attention.head_count_kv", a.Heads, 1, maxHeads)
		a.HeadDim = c.integer("attention.key_length", a.HeadDim, 1, maxWidth)
		if v := c.integer("attention.value_length", a.HeadDim, 1, maxWidth); v != a.HeadDim {
			c.reject("attention.value_length", "%d is not attention.key_length, %d", v, a.HeadDim)
		}
		r := ggufRotary(c, a.HeadDim)
		r.Interleaved = true
		setRotary(s, r)
	},
}

// ggufRotary reads the rotary embedding of heads of dim dimensions. Like llama.cpp, it
// treats a missing type as linear, and a missing factor, or 0, as 1.
func ggufRotary(c *config, dim int) transformer.Rotary {
	r := transformer.Rotary{Dims: c.integer("rope.dimension_count", dim, 2, maxWidth)}
	base := c.number("rope.freq_base", 10000, 1, 1e12)
	factor := float32(c.number("rope.scaling.factor rope.scale_linear", 0, 0, 1e6))
	kind := c.text("rope.scaling.type", "linear")
	if kind != "linear" && kind != "none" {
		c.reject("rope.scaling.type", "%.40q is not supported, only linear and none", kind)
	}
	if r.Dims%2 != 0 || r.Dims > dim {
		c.reject("rope.dimension_count", "%d is not even and at most the width of a head, %d", r.Dims, dim)
	}
	if *c.err != nil {
		return r
	}
	r.Frequencies = transformer.Frequencies(base, r.Dims)
	for j := range r.Frequencies {
		if kind == "linear" && factor > 0 {
			r.Frequencies[j] /= factor
		}
	}
	return r
}

// openGGUF opens a GGUF file.
func openGGUF(fsys fs.FS, p *location) (*Model, error) {
	o, err := openGGUFWeights(fsys, p)
	if err != nil {
		return nil, err
	}
	if err := o.readGGUFTokens(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", p.weights, err), o.Close())
	}
	return o.Model, nil
}

func openGGUFWeights(fsys fs.FS, p *location) (*opened, error) {
	file, err := checkpoint.Open(fsys, p.weights)
	if err != nil {
		return nil, err
	}
	o := &opened{Model: &Model{closer: file}, file: file}
	if err := o.readGGUF(); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *opened) readGGUF() error {
	named := func(err error) error { return fmt.Errorf("checkpoint %s: %w", o.file.Name(), err) }
	kind, err := o.file.Meta.Text("general.architecture")
	if err != nil {
		return named(err)
	}
	t, ok := ggufTypes[kind]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(ggufTypes)), ", ")
		return named(fmt.Errorf("general.architecture: %.40q is not supported, only %s", kind, known))
	}
	o.Type, o.family = t.kind, t.family
	c, err := ggufConfig(o.file, kind)
	if err != nil {
		return named(err)
	}
	c.needs("context_length", "embedding_length", "block_count", "attention.head_count", "feed_forward_length", "vocab_size")
	s, l, err := t.family.read(c)
	if err != nil {
		return named(err)
	}
	src := newSource(o.file, "")
	l.tied = !src.has("output.weight")
	for i := range s.Rotaries {
		if err := scaleFrequencies(src, &s.Rotaries[i]); err != nil {
			return err
		}
	}
	o.Spec, o.Version = s, version(nil, o.file)
	o.Weights, err = build(src, s, l, t.family.buffers)
	return err
}

// ggufConfig makes a configuration of the keys of an architecture. If the keys lack the
// number of tokens, it is that of the embedding.
func ggufConfig(f *checkpoint.File, kind string) (*config, error) {
	c := &config{fields: map[string]json.RawMessage{}, within: kind + ".", err: new(error)}
	for key, value := range f.Meta {
		name, ok := strings.CutPrefix(key, kind+".")
		if !ok {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("key %.80q: %w", key, err)
		}
		c.fields[name] = raw
	}
	if t, ok := f.Tensor("token_embd.weight"); ok && len(t.Shape) == 2 && !c.has("vocab_size") {
		c.fields["vocab_size"] = fmt.Append(nil, t.Shape[0])
	}
	return c, nil
}

// scaleFrequencies divides the frequencies by the factors that the converter has computed
// for Llama 3.
func scaleFrequencies(src *source, r *transformer.Rotary) error {
	const name = "rope_freqs.weight"
	if len(r.Frequencies) == 0 || !src.has(name) {
		return nil
	}
	factors := make([]float32, len(r.Frequencies))
	span := src.vector(name, len(factors))
	if src.err != nil {
		return src.err
	}
	if err := span.rows(0, len(factors)).Read(factors, 0); err != nil {
		return err
	}
	for j, f := range factors {
		if !(f > 0) {
			return fmt.Errorf("checkpoint %s: tensor %q: factor %d is %v", src.file.Name(), name, j, f)
		}
		r.Frequencies[j] /= f
	}
	return nil
}
