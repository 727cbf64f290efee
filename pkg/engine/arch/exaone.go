package arch

import "glossa/pkg/engine/transformer"

// exaone4 is LG AI Research's EXAONE 4: norms after each branch only, and of each head of
// queries and keys. If some layers have a window, the others have no rotary embedding.
var exaone4 = llamaLike("EXAONE 4", func(f *family) {
	f.vocab, f.decoder.ffn = field{"vocab_size", 102400}, field{"intermediate_size", 16384}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 2}
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.PostNorm, transformer.PostNorm
	f.kind.Attention.QKNorm = transformer.QKNormHead
	l := &f.tensors.decoder
	l.attentionNorm, l.ffnNorm = "", ""
	l.attentionPostNorm, l.ffnPostNorm = "layers.%d.post_attention_layernorm", "layers.%d.post_feedforward_layernorm"
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}})
		if _, stated := c.fields["sliding_window"]; stated && !c.has("sliding_window") { // null
			setRotary(s, r)
			return
		}
		windowed := c.windowed(len(s.Decoder), exaonePattern(c))
		setWindowedRotary(c, s, windowed, r)
		setWindows(c, s, windowed, field{"sliding_window", 4096})
	}
})

// exaoneMoE is LG AI Research's K-EXAONE: EXAONE 4 with norms before branches, and with experts behind
// the first layers. Layers that draft tokens are not read.
var exaoneMoE = llamaLike("EXAONE-MoE", func(f *family) {
	attention := exaone4.adjust
	f.vocab, f.decoder.ffn, f.eps = exaone4.vocab, exaone4.decoder.ffn, exaone4.eps
	f.eos = field{"eos_token_id", 53}
	f.kind.Attention.QKNorm = transformer.QKNormHead
	f.skipped = []string{"mtp."}
	correctedExperts(f)
	f.tensors.decoder.experts.correction = "layers.%d.mlp.e_score_correction_bias layers.%d.mlp.gate.e_score_correction_bias"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		c.needs("num_experts", "routed_scaling_factor")
		attention(c, s, l)
		setCorrectedExperts(c, s, field{"moe_intermediate_size", 1024}, 1, 1, true)
	}
})

// ggufEXAONEMoE: layers without a window have no rotary embedding.
var ggufEXAONEMoE = ggufCorrected(func(f *family) {
	ggufQKNorm(f, transformer.QKNormHead)
	experts, corrections := f.adjust, f.detect
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		c.needs("attention.sliding_window")
		experts(c, s, l)
		windowed := ggufWindows(c, s, func(layer int) bool { return (layer+1)%4 != 0 }, 0)
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if !windowed[layer] {
				k.Attention.Rotary = 0
			}
		})
	}
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		corrections(src, s, l)
		ignoreDrafts(src, "blk.", ggufDraft, s)
	}
})

// exaonePattern returns which layers have a window unless layer_types says it: all but the
// last of each period.
func exaonePattern(c *config) func(layer int) bool {
	name, raw := c.find("sliding_window_pattern")
	if raw == nil || raw[0] != '"' {
		every := c.integer(name, 4, 1, maxDepth)
		return func(layer int) bool { return (layer+1)%every != 0 }
	}
	if !c.has("layer_types") {
		c.reject(name, "%.40s is not supported without layer_types, only a number of layers", raw)
	}
	return everyLayer
}
