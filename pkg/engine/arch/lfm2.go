package arch

import "glossa/pkg/engine/transformer"

// lfm2 is Liquid AI 2025 (LFM2): layers of short convolutions, and some of attention with a norm
// of each head of queries and keys. The norm that is named after the embedding is the last one.
var lfm2 = lfm2Like("LFM2", func(f *family) {
	f.decoder.ffn = field{"block_ff_dim intermediate_size", 12288}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].FeedForward.Width = lfm2Width(c, s.Kinds[0].FeedForward.Width)
		lfm2Layers(c, s, l)
	}
})

// lfm2MoE is LFM2-8B-A1B: LFM2 with experts in all layers but the first.
var lfm2MoE = lfm2Like("LFM2-MoE", func(f *family) {
	f.width, f.decoder.ffn = field{"hidden_size", 2048}, field{"intermediate_size", 7168}
	f.tensors.decoder.experts = expertNames{
		router: "layers.%d.feed_forward.gate", correction: "layers.%d.feed_forward.expert_bias",
		up: "layers.%d.feed_forward.experts.%e.w3", gate: "layers.%d.feed_forward.experts.%e.w1", down: "layers.%d.feed_forward.experts.%e.w2",
		stacked: stackedNames{"layers.%d.feed_forward.experts.gate_up_proj", "layers.%d.feed_forward.experts.down_proj"},
	}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		lfm2Layers(c, s, l)
		e := readExperts(c, field{"num_experts", 32}, 4, c.flag("norm_topk_prob", true))
		e.Sigmoid, e.Corrected = true, c.flag("use_expert_bias", true)
		e.Scale = float32(c.number("routed_scaling_factor", 1, 1e-6, 1e6))
		expertsFrom(s, c.integer("num_dense_layers", 2, 0, maxDepth), c.integer("moe_intermediate_size", 1792, 1, maxFFN), e)
	}
})

func lfm2Like(title string, change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		f.vocab, f.context, f.width = field{"vocab_size", 65536}, field{"max_position_embeddings", 128000}, field{"hidden_size", 2560}
		f.eps, f.tied = real{"norm_eps", 1e-5}, true
		f.kind.Attention.QKNorm = transformer.QKNormHead
		f.tensors.norm = "embedding_norm"
		l := &f.tensors.decoder
		l.attentionNorm, l.ffnNorm = "layers.%d.operator_norm", "layers.%d.ffn_norm"
		l.qNorm, l.kNorm = "layers.%d.self_attn.q_layernorm", "layers.%d.self_attn.k_layernorm"
		l.out.names = "layers.%d.self_attn.out_proj"
		l.up.names, l.gate.names, l.down.names = "layers.%d.feed_forward.w3", "layers.%d.feed_forward.w1", "layers.%d.feed_forward.w2"
		l.convolution = "layers.%d.conv."
		change(f)
	})
}

// lfm2Layers reads what layers are.
func lfm2Layers(c *config, s *transformer.Spec, l *layout) {
	l.tied = c.flag("tie_embedding tie_word_embeddings", true)
	setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 1e6}}))
	setConvolutions(s, c.convolved(len(s.Decoder)), c.integer("conv_L_cache", 3, 1, maxTaps))
	if c.flag("conv_bias", false) {
		l.decoder.convolutionBias = always
	}
}

// lfm2Width returns the width of the feed-forward block: that of the configuration is of one
// without a gate.
func lfm2Width(c *config, width int) int {
	if !c.flag("block_auto_adjust_ff_dim", true) {
		return width
	}
	width = 2 * width / 3
	if !c.has("block_ffn_dim_multiplier") && c.fields["block_ffn_dim_multiplier"] != nil { // null
		return width
	}
	width = int(c.number("block_ffn_dim_multiplier", 1, 0, maxFFN) * float64(width))
	step := c.integer("block_multiple_of", 256, 1, maxFFN)
	return (width + step - 1) / step * step
}
