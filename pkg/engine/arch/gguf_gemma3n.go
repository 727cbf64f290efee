package arch

import (
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
)

// ggufGemma3n: what files do not say is what llama.cpp takes for granted, which reads only the models
// as they are published. The rank of the branch next to attention is in the shapes of its tensors.
var ggufGemma3n = ggufLike(func(f *family) {
	f.activation = text{"", "gelu_pytorch_tanh"}
	ggufSandwich(f)
	ggufQKNorm(f, transformer.QKNormHead)
	f.decoder.ffn = field{} // see adjust
	f.fixed = append(f.fixed, requiredValue{"attn_logit_softcapping", "0"}, requiredValue{"altup.active_idx", "0"})
	f.kind.Attention.ValueNorm, f.kind.Attention.Scale = true, 1
	f.tensors.layerEmbed, f.tensors.layerNorm = "per_layer_token_embd", "per_layer_proj_norm"
	f.tensors.layerProjection = linear{names: "per_layer_model_proj"}
	f.tensors.streamsIn, f.tensors.streamsOut = "altup_proj", "altup_unembd_proj"
	l := &f.tensors.decoder
	l.inputGate, l.inputOut, l.inputNorm = linear{names: "blk.%d.inp_gate"}, linear{names: "blk.%d.proj"}, "blk.%d.post_norm"
	l.streams = streamNames{
		norm: "blk.%d.altup_router_norm", router: "blk.%d.altup_router", predict: "blk.%d.altup_predict_coef",
		correct: "blk.%d.altup_correct_coef", scale: "blk.%d.altup_correct_scale.weight",
	}
	l.laurel = laurelNames{linear{names: "blk.%d.laurel_l"}, linear{names: "blk.%d.laurel_r"}, "blk.%d.laurel_post_norm"}
	f.buffers = append(f.buffers, "blk.*.attn_k.weight", "blk.*.attn_v.weight", "blk.*.attn_k_norm.weight")
	f.adjust = ggufGemma3nLayers
	f.detect = func(src *source, s *transformer.Spec, _ *layout) {
		if t, ok := src.file.Tensor("blk.0.laurel_l.weight"); ok && len(t.Shape) == 2 && t.Shape[0] > 0 && t.Shape[0] <= maxWidth {
			s.Laurel = t.Shape[0]
		}
	}
})

// ggufGemma3nLayers reads what layers are.
func ggufGemma3nLayers(c *config, s *transformer.Spec, _ *layout) {
	depth := len(s.Decoder)
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.LogitSoftCap = float32(c.number("final_logit_softcapping", 30, 0, 1e9))
	s.Streams, s.Laurel = c.integer("altup.num_inputs", 4, 2, maxStreams), 64
	s.LayerInputs = c.integer("embedding_length_per_layer_input", 256, 1, maxWidth)
	rotaries := []transformer.Rotary{ggufHeads(c, s), {}}
	rotaries[1] = plainRotary(c, rotaries[0].Dims, "rope.freq_base_swa rope.local.freq_base", 10000)
	windowed := ggufWindowed(c, s, func(layer int) bool { return (layer+1)%5 != 0 })
	window := c.integer(ggufWindow, 512, 1, maxContext)
	const kept = 20 // layers that have keys and values
	sources := c.sources("attention.shared_kv_layers", max(0, depth-kept), windowed)
	widths, sparsities := c.each("feed_forward_length", 0, depth, 1, maxFFN), c.ggufSparsities(depth)
	if *c.err != nil {
		return
	}
	gemma3nKinds(s, windowed, sources, widths, sparsities, window, rotaries)
}

// ggufSparsities is sparsities of a file, which has numbers of standard deviations: -∞ keeps all.
func (c *config) ggufSparsities(depth int) []float32 {
	const key = "activation_sparsity_scale"
	if !c.has(key) {
		list := make([]float32, depth)
		copy(list, slices.Repeat([]float32{0.95}, 10))
		return list
	}
	_, list, _ := read[[]float64](c, key, "list of numbers")
	if len(list) != depth {
		c.reject(key, "%d values of %d layers", len(list), depth)
	}
	out := make([]float32, depth)
	for i := range min(depth, len(list)) {
		out[i] = float32(math.Erfc(-list[i]/math.Sqrt2) / 2)
	}
	return out
}

// finite returns the value of a key without infinities, which JSON lacks: they become the greatest
// numbers.
func finite(value any) any {
	list, ok := value.([]float32)
	if !ok {
		return value
	}
	list = slices.Clone(list)
	for i, v := range list {
		if math.IsInf(float64(v), 0) {
			list[i] = float32(math.Copysign(math.MaxFloat32, float64(v)))
		}
	}
	return list
}
