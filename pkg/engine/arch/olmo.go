package arch

import "glossa/pkg/engine/transformer"

// olmo is Groeneveld et al. 2024 (OLMo 1): Llama with layer norms without parameters.
var olmo = llamaLike("OLMo", func(f *family) {
	olmoDefaults(f)
	f.eps = real{"", 1e-5}
	f.spec.Norm = transformer.PlainLayerNorm
	f.fixed = append(f.fixed, requiredValue{"clip_qkv", "null"})
	f.adjust = adjustLlama
})

// olmo2 is OLMo Team 2024 (OLMo 2): norms after each branch only, and of all queries and all
// keys as vectors.
var olmo2 = llamaLike("OLMo 2", func(f *family) {
	olmo2Norms(f)
	f.adjust = adjustLlama
})

// olmo3 is OLMo Team 2025 (OLMo 3): OLMo 2 with a window in three of four layers, whose
// rotary embedding is not scaled.
var olmo3 = llamaLike("OLMo 3", func(f *family) {
	olmo2Norms(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		base := real{"rope_theta", 500000}
		full := llamaHeads(c, s, rope{base: base, layers: fullAttention})
		window := full
		if p := c.object("rope_parameters"); p != nil && p.nested() {
			window = llamaHeads(c, s, rope{base: base, layers: slidingAttention})
		} else if *c.err == nil && p == nil {
			window = rope{dim: s.Kinds[0].Attention.HeadDim, base: base, part: real{"partial_rotary_factor", 1}}.readFrom(c, nil)
		}
		llamaBiases(c, l)
		windowed := c.windowed(len(s.Decoder), func(layer int) bool { return (layer+1)%4 != 0 })
		setTwoRotaries(c, s, windowed, full, window)
		setWindows(c, s, windowed, field{"sliding_window", 4096})
	}
})

func olmoDefaults(f *family) {
	f.vocab = field{"vocab_size", 50304}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", 50279}
}

func olmo2Norms(f *family) {
	olmoDefaults(f)
	f.eps = real{"rms_norm_eps", 1e-5}
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.PostNorm, transformer.PostNorm
	f.kind.Attention.QKNorm = transformer.QKNormAll
	l := &f.tensors.decoder
	l.attentionNorm, l.ffnNorm = "", ""
	l.attentionPostNorm, l.ffnPostNorm = "layers.%d.post_attention_layernorm", "layers.%d.post_feedforward_layernorm"
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
}
