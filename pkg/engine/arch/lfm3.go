package arch

import "glossa/pkg/engine/transformer"

// lfm3 is Liquid AI 2026 (LFM3): LFM2 with norms behind branches too, windows in half of the layers of
// attention, and a gate of each head's results.
var lfm3 = lfm2Like("LFM3", func(f *family) {
	f.vocab, f.width = field{"vocab_size", 128000}, field{"hidden_size", 2048}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 24}, heads: field{"num_attention_heads", 16}, ffn: field{"intermediate_size", 7680}}
	f.eps = real{"norm_eps rms_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 124894}, field{"eos_token_id", 124900}
	f.fixed = append(f.fixed, requiredValue{"attention_bias", "false"})
	l := &f.tensors.decoder
	l.attentionPostNorm, l.ffnPostNorm = "layers.%d.post_operator_norm", "layers.%d.post_ffn_norm"
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	l.out.names = "layers.%d.self_attn.o_proj"
	f.adjust = lfm3Layers
})

// lfm3Layers reads what layers are.
func lfm3Layers(c *config, s *transformer.Spec, l *layout) {
	a, f := &s.Kinds[0].Attention, &s.Kinds[0].FeedForward
	a.HeadDim, a.KVHeads = c.integer("head_dim", 128, 1, maxWidth), c.integer("num_key_value_heads", 4, 1, maxHeads)
	if c.flag("use_attention_gate", true) {
		a.Gated, a.HeadGates = true, true
		l.decoder.qkv.names += " layers.%d.self_attn.gate_proj"
	}
	if c.flag("use_sandwich_norm", true) {
		a.Norms, f.Norms = transformer.SandwichNorm, transformer.SandwichNorm
	}
	if c.flag("conv_bias", false) {
		l.decoder.convolutionBias = always
	}
	convolved, windowed := c.lfm3Types(len(s.Decoder))
	taps, window := c.integer("conv_L_cache", 7, 1, maxTaps), c.integer("sliding_window", 256, 1, maxContext)
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		a := &k.Attention
		if convolved[layer] {
			k.Convolution, *a = &transformer.Convolution{Norms: a.Norms, Taps: taps}, transformer.Attention{}
			return
		}
		r := typedRotary(c, a.HeadDim, windowed[layer], 0.5)
		if a.Rotary = addRotary(s, &r); windowed[layer] && window < s.Context {
			a.Window = window
		}
	})
}

// lfm3Types reports for each layer whether it is a convolution, or attention with a window.
func (c *config) lfm3Types(depth int) (convolved, windowed []bool) {
	convolved = c.replaced("layer_types", depth, []string{"conv"}, []string{fullAttention, slidingAttention}, func(depth int) []bool {
		convolved := make([]bool, depth)
		for i := range convolved {
			convolved[i] = i%2 == 1 || i == 0
		}
		return convolved
	})
	windowed = make([]bool, depth)
	_, types, said := read[[]string](c, "layer_types", "list of strings")
	for i := range windowed {
		windowed[i] = said && i < len(types) && types[i] == slidingAttention || !said && i%4 == 0 && i > 0
	}
	return convolved, windowed
}
