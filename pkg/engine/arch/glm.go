package arch

import "glossa/pkg/engine/transformer"

// glm is GLM Team 2024 (GLM-4 9B, GLM-Edge): Llama with biases of queries, keys and values,
// gate and up in one tensor, and a rotary embedding of half of each head, whose pairs are
// neighbours.
var glm = llamaLike("GLM", glmCommon)

// glm4 is GLM-4-0414: GLM with norms after each branch too.
var glm4 = llamaLike("GLM-4", func(f *family) {
	glmCommon(f)
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.SandwichNorm, transformer.SandwichNorm
	l := &f.tensors.decoder
	l.attentionPostNorm, l.ffnPostNorm = "layers.%d.post_self_attn_layernorm", "layers.%d.post_mlp_layernorm"
})

func glmCommon(f *family) {
	f.vocab, f.context = field{"vocab_size", 151552}, field{"max_position_embeddings", 131072}
	f.decoder.depth, f.decoder.ffn = field{"num_hidden_layers", 40}, field{"intermediate_size", 13696}
	f.eps = real{"rms_norm_eps", 1.5625e-7}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", 151329}
	f.tensors.decoder.gateUp = linear{names: "layers.%d.mlp.gate_up_proj"}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, interleaved(llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor", 0.5}})))
		inputBiases(c, l, true)
	}
}
