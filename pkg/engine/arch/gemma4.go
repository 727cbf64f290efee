package arch

import (
	"math"
	"strconv"

	"glossa/pkg/engine/transformer"
)

// gemma4Text is the text model of Gemma Team 2026 (Gemma 4), as transformers' Gemma4ForCausalLM has
// it: inputs of each layer, last layers that read the keys and values of earlier ones, and heads that
// layers of full attention have of their own.
var gemma4Text = gemmaLike("Gemma 4", func(f *family) {
	sandwich(f)
	f.vocab, f.context = field{"vocab_size", 262144}, field{"max_position_embeddings", 131072}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 30}, field{"num_attention_heads", 8}
	f.tensors.lessOne = false
	f.kind.Attention.QKNorm, f.kind.Attention.ValueNorm, f.kind.Attention.Scale = transformer.QKNormHead, true, 1
	f.tensors.layerEmbed, f.tensors.layerNorm = "embed_tokens_per_layer", "per_layer_projection_norm"
	f.tensors.layerProjection = linear{names: "per_layer_model_projection"}
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	l.inputGate, l.inputOut = linear{names: "layers.%d.per_layer_input_gate"}, linear{names: "layers.%d.per_layer_projection"}
	l.inputNorm, l.scale = "layers.%d.post_per_layer_input_norm", "layers.%d.layer_scalar"
	l.experts = expertNames{
		router:  "layers.%d.router.proj",
		stacked: stackedNames{"layers.%d.experts.gate_up_proj", "layers.%d.experts.down_proj"},
		shared:  block{up: l.up, gate: l.gate, down: l.down},
		apart: apartNames{
			router: "layers.%d.router.scale", norm: "layers.%d.pre_feedforward_layernorm_2", scale: "layers.%d.router.per_expert_scale",
			sharedPost: "layers.%d.post_feedforward_layernorm_1", postNorm: "layers.%d.post_feedforward_layernorm_2",
		},
	}
	// Files may have keys and values of layers that read those of others.
	for _, name := range []string{"k_proj.weight", "v_proj.weight", "k_proj.bias", "v_proj.bias", "k_norm.weight"} {
		f.buffers = append(f.buffers, "layers.*.self_attn."+name)
	}
	f.adjust = gemma4Layers
	f.detect = func(src *source, s *transformer.Spec, _ *layout) { s.LayerScale = src.has("layers.0.layer_scalar") }
})

// gemma4 is the whole model as it is published, of which that of text is read.
var gemma4 = viewer{
	title: "Gemma 4", inner: "gemma4_text", renames: []rename{{"model.language_model.", ""}},
	skipped: []string{"vision_tower.", "audio_tower.", "embed_vision.", "embed_audio."},
}

// gemma4Layers reads the kinds of layers, and their inputs.
func gemma4Layers(c *config, s *transformer.Spec, l *layout) {
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.LogitSoftCap = float32(c.cap("final_logit_softcapping", 0))
	llamaBiases(c, l)
	if by := c.text("use_bidirectional_attention", "vision"); by != "vision" { // which is of images, and those are not read
		c.reject("use_bidirectional_attention", "%.40q is not supported", by)
	}
	depth := len(s.Decoder)
	const inputs = "hidden_size_per_layer_input"
	if _, stated := c.fields[inputs]; !stated || c.has(inputs) { // null is none
		s.LayerInputs = c.integer(inputs, 256, 0, maxWidth)
	}
	if s.LayerInputs > 0 {
		if n := c.integer("vocab_size_per_layer_input", 262144, 1, maxVocab); n != s.Vocab {
			c.reject("vocab_size_per_layer_input", "%d is not vocab_size, %d", n, s.Vocab)
		}
	}
	windowed := c.windowed(depth, func(layer int) bool { return (layer+1)%6 != 0 })
	windowed[depth-1] = false // whatever layer_types says
	a := &s.Kinds[0].Attention
	a.HeadDim, a.KVHeads = c.integer("head_dim", 256, 1, maxWidth), c.integer("num_key_value_heads", 4, 1, maxHeads)
	heads := gemma4Heads(c, windowed, a)
	window := c.integer("sliding_window", 512, 1, maxContext)
	sources := c.sources("num_kv_shared_layers", 0, windowed)
	wider := c.flag("use_double_wide_mlp", false)
	same := c.flag("attention_k_eq_v", false)
	experts, ffn := gemma4Experts(c)
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		a := &k.Attention
		a.HeadDim, a.KVHeads, a.KVLayer = heads[layer].HeadDim, heads[layer].KVHeads, sources[layer]
		a.KeysAsValues = same && !windowed[layer] && a.KVLayer == 0
		if windowed[layer] && window < s.Context {
			a.Window = window
		}
		if wider && a.KVLayer > 0 {
			k.FeedForward.Width *= 2
		}
		if experts != nil {
			expertsApart(&k.FeedForward, *experts, ffn)
		}
		r := typedRotary(c, a.HeadDim, windowed[layer], 0.25)
		a.Rotary = addRotary(s, &r)
	})
}

// gemma4Experts reads the experts of all layers, and their width; nil if there are none.
func gemma4Experts(c *config) (e *transformer.Experts, ffn int) {
	if !c.flag("enable_moe_block", false) {
		return nil, 0
	}
	c.needs("num_experts", "top_k_experts", "moe_intermediate_size")
	e = &transformer.Experts{Count: c.integer("num_experts", 1, 1, maxExperts), Renormalised: true}
	e.Used = c.integer("top_k_experts", 1, 1, e.Count)
	return e, c.integer("moe_intermediate_size", 1, 1, maxFFN)
}

// expertsApart gives a layer experts of a width next to its block, which becomes the shared one.
func expertsApart(f *transformer.FeedForward, e transformer.Experts, ffn int) {
	e.Apart, e.Shared = true, f.Width
	f.Experts, f.Width = &e, ffn
}

// gemma4Heads returns the heads of keys of each layer: those of full attention have other ones, unless
// per_layer_config lists what layers have.
func gemma4Heads(c *config, windowed []bool, all *transformer.Attention) []transformer.Attention {
	heads := make([]transformer.Attention, len(windowed))
	full := *all
	full.HeadDim = c.integer("global_head_dim", 512, 1, maxWidth)
	if c.flag("attention_k_eq_v", false) {
		full.KVHeads = c.integer("num_global_key_value_heads", all.KVHeads, 1, maxHeads)
	}
	list := c.object("per_layer_config")
	for i := range heads {
		if heads[i] = *all; list == nil && !windowed[i] {
			heads[i] = full
		}
	}
	if list == nil {
		return heads
	}
	for name := range list.fields {
		layer, err := strconv.Atoi(name)
		if err != nil || layer < 0 || layer >= len(heads) {
			list.reject(name, "there is no such layer")
			return heads
		}
		own := list.object(name)
		if own == nil {
			continue
		}
		heads[layer].HeadDim = own.integer("head_dim", all.HeadDim, 1, maxWidth)
		heads[layer].KVHeads = own.integer("num_key_value_heads", all.KVHeads, 1, maxHeads)
		for member := range own.fields {
			if member != "head_dim" && member != "num_key_value_heads" {
				own.reject(member, "it is the same in all layers that are supported")
			}
		}
	}
	return heads
}

// sources returns for each layer the layer, counted from 1, whose keys and values it reads, 0 for its
// own: the last layers, whose number is the member name or absent, read those of the last one of their type
// before them.
func (c *config) sources(name string, absent int, windowed []bool) []int {
	list := make([]int, len(windowed))
	first := len(list) - c.integer(name, absent, 0, maxDepth)
	for i := max(first, 0); i < len(list); i++ {
		for j := range max(first, 0) {
			if windowed[j] == windowed[i] {
				list[i] = j + 1
			}
		}
		if list[i] == 0 {
			c.reject(name, "no layer of the type of layer %d has keys and values", i)
		}
	}
	return list
}

// typedRotary reads the rotary embedding of a type of layers, for heads of a width. Without rope_parameters
// full attention rotates a part of the pairs.
func typedRotary(c *config, dim int, windowed bool, part float64) transformer.Rotary {
	layers, r := fullAttention, rope{dim: dim, base: real{"", 1e6}, part: real{"", part}}
	if windowed {
		layers, r = slidingAttention, rope{dim: dim, base: real{"", 10000}, part: real{"", 1}}
	}
	all := c.object("rope_parameters")
	if all == nil {
		if windowed {
			return r.readFrom(c, nil)
		}
		return proportional(dim, r.base.absent, r.part.absent, 1)
	}
	own := all.object(layers)
	if own == nil {
		all.reject(layers, "missing")
		return transformer.Rotary{}
	}
	r.part.absent = 1
	if own.text("rope_type", "") != "proportional" {
		out := r.readFrom(c, own)
		if out.Dims != dim {
			own.reject("partial_rotary_factor", "only a proportional embedding can rotate a part of a head")
		}
		return out
	}
	own.needs("rope_theta")
	return proportional(dim, own.number("rope_theta", r.base.absent, 1, 1e12), own.number("partial_rotary_factor", 1, 0, 1), own.number("factor", 1, 1e-3, 1e6))
}

// proportional returns an embedding that rotates a part of the pairs of a head, with frequencies as if
// it were all (transformers, modeling_rope_utils).
func proportional(dim int, theta, part, factor float64) transformer.Rotary {
	r := transformer.Rotary{Dims: dim / 2 * 2, Frequencies: transformer.Frequencies(theta, dim)}
	rotated := int(part*float64(dim)) / 2
	for j := range r.Frequencies {
		if r.Frequencies[j] /= float32(factor); j >= rotated {
			r.Frequencies[j] = 0
		}
	}
	return r
}
