package arch

import (
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
)

// ggufGemma4: layers of full attention have heads, and a rotary embedding, of their own. The frequencies
// that it does not rotate by have large factors. Files say which layers are wider and which heads of keys
// they have by lists, and by the tensors that they lack that keys are values, and that the results of
// experts have no factors.
//
// Source: llama.cpp, src/models/gemma4.cpp.
var ggufGemma4 = ggufLike(func(f *family) {
	f.activation = text{"", "gelu_pytorch_tanh"}
	ggufSandwich(f)
	ggufQKNorm(f, transformer.QKNormHead)
	f.decoder.ffn = field{} // see adjust
	f.factored = 1
	f.fixed = append(f.fixed, requiredValue{"attn_logit_softcapping", "0"})
	f.kind.Attention.ValueNorm, f.kind.Attention.Scale = true, 1
	f.tensors.layerEmbed, f.tensors.layerNorm = "per_layer_token_embd", "per_layer_proj_norm"
	f.tensors.layerProjection = linear{names: "per_layer_model_proj"}
	l := &f.tensors.decoder
	l.inputGate, l.inputOut = linear{names: "blk.%d.inp_gate"}, linear{names: "blk.%d.proj"}
	l.inputNorm, l.scale = "blk.%d.post_norm", "blk.%d.layer_output_scale.weight"
	l.fused = "blk.%d.attn_qkv"
	l.experts = ggufExperts()
	l.experts.stacked = stackedNames{"blk.%d.ffn_gate_up_exps.weight", "blk.%d.ffn_down_exps.weight"}
	l.experts.shared = block{up: l.up, gate: l.gate, down: l.down}
	l.experts.apart = apartNames{
		router: "blk.%d.ffn_gate_inp.scale", norm: "blk.%d.pre_ffw_norm_2", scale: "blk.%d.ffn_down_exps.scale",
		sharedPost: "blk.%d.post_ffw_norm_1", postNorm: "blk.%d.post_ffw_norm_2",
	}
	f.buffers = append(f.buffers, "blk.*.attn_k.weight", "blk.*.attn_v.weight", "blk.*.attn_k_norm.weight")
	f.adjust = ggufGemma4Layers
	f.detect = func(src *source, s *transformer.Spec, found *layout) {
		s.LayerScale = src.has(at(l.scale, 0))
		if !src.has(at(l.experts.apart.scale, 0)) {
			found.decoder.experts.apart.scale = ""
		}
		eachLayer(s, func(layer int, k *transformer.Kind) {
			a := &k.Attention
			a.KeysAsValues = a.Rotary == 1 && a.KVLayer == 0 && !src.has(at("blk.%d.attn_v.weight", layer)) && !src.has(at(l.fused+".weight", layer))
		})
	}
})

// ggufGemma4Layers reads what layers are.
func ggufGemma4Layers(c *config, s *transformer.Spec, _ *layout) {
	c.needs("attention.sliding_window", "attention.sliding_window_pattern")
	depth := len(s.Decoder)
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.LogitSoftCap = float32(c.number("final_logit_softcapping", 0, 0, 1e9))
	s.LayerInputs = c.integer("embedding_length_per_layer_input", 0, 0, maxWidth)
	windowed := ggufWindowed(c, s, fiveOfSix)
	window := c.integer(ggufWindow, 1, 1, maxContext)
	sources := c.sources("attention.shared_kv_layers", 0, windowed)
	keys := c.each("attention.head_count_kv", s.Kinds[0].Attention.Heads, depth, 1, maxHeads)
	widths := c.each("feed_forward_length", 0, depth, 1, maxFFN)
	full := ggufDim(c, "", s.Kinds[0].Attention.HeadDim)
	local := ggufDim(c, "_swa", full)
	s.Rotaries = []transformer.Rotary{
		ggufRotary(c, full, 10000), plainRotary(c, c.integer("rope.dimension_count_swa", local, 2, maxWidth), "rope.freq_base_swa rope.freq_base", 10000),
	}
	var experts *transformer.Experts
	ffn := 0
	if c.integer("expert_count", 0, 0, maxExperts) > 0 {
		c.needs("expert_feed_forward_length")
		experts, ffn = ggufReadExperts(c, true, ggufSoftmax), c.integer("expert_feed_forward_length", 1, 1, maxFFN)
	}
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		a := &k.Attention
		a.HeadDim, a.KVHeads, a.KVLayer, a.Rotary = full, keys[layer], sources[layer], 1
		if k.FeedForward.Width = widths[layer]; windowed[layer] {
			a.HeadDim, a.Rotary = local, 2
			if window < s.Context {
				a.Window = window
			}
		}
		if experts != nil {
			expertsApart(&k.FeedForward, *experts, ffn)
		}
	})
}

// each returns a number from low to high for each layer: of a list, or the same for all.
func (c *config) each(name string, absent, depth, low, high int) []int {
	_, raw := c.find(name)
	if raw == nil || raw[0] != '[' {
		return slices.Repeat([]int{c.integer(name, absent, low, high)}, depth)
	}
	_, list, _ := read[[]int](c, name, "list of integers")
	if len(list) < depth {
		c.reject(name, "%d values of %d layers", len(list), depth)
		return make([]int, depth)
	}
	for layer, v := range list[:depth] {
		if v < low || v > high {
			c.reject(name, "%d, of layer %d, is not in %d..%d", v, layer, low, high)
		}
	}
	return list[:depth]
}
