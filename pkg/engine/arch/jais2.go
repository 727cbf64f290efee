package arch

import "glossa/pkg/engine/transformer"

// jais2 is Inception's Jais 2: Arcee with layer norms, and biases of all matrices.
var jais2 = llamaLike("Jais 2", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 150272}, field{"max_position_embeddings", 8192}
	f.width, f.decoder.ffn = field{"hidden_size", 3328}, field{"intermediate_size", 26624}
	f.decoder.heads, f.eps = field{"num_attention_heads", 26}, real{"layer_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 150024}
	f.spec.Norm = transformer.LayerNorm
	ungated(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		if inputBiases(c, l, true) {
			l.decoder.out.bias = always
		}
		if c.flag("mlp_bias", true) {
			l.decoder.up.bias, l.decoder.down.bias = always, always
		}
	}
})

var ggufJais2 = ggufLike(func(f *family) {
	ggufUngated(f, "relu2")
	f.eps = ggufEps
	f.spec.Norm = transformer.LayerNorm
	allBiases(&f.tensors.decoder, stored)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
})
