package arch

import "glossa/pkg/engine/transformer"

// stableLM is Stability AI's StableLM 2 and StableLM 3B: Llama with layer norms, and a rotary
// embedding of a quarter of each head.
var stableLM = llamaLike("StableLM", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 50304}, field{"max_position_embeddings", 4096}
	f.width, f.decoder.ffn = field{"hidden_size", 2560}, field{"intermediate_size", 6912}
	f.eps = real{"layer_norm_eps norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 0}
	f.spec.Norm = transformer.LayerNorm
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_layernorm.norms.%h", "layers.%d.self_attn.k_layernorm.norms.%h"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor rope_pct", 0.25}}))
		k := &s.Kinds[0]
		if c.flag("use_qkv_bias", false) {
			l.decoder.qkv.bias = always
		}
		if c.flag("qk_layernorm", false) {
			k.Attention.QKNorm = transformer.QKNormEachHead
		}
		if c.flag("use_parallel_residual", false) {
			k.Parallel, k.SharedNorm = true, true
		}
	}
})
