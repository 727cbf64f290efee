package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// hunyuan is Tencent's dense HunYuan: Llama with a norm of each head of queries and keys after their
// rotary embedding.
var hunyuan = llamaLike("HunYuan", func(f *family) {
	f.vocab, f.eps = field{"vocab_size", 290943}, real{"rms_norm_eps", 1e-5}
	f.kind.Attention.QKNorm, f.kind.Attention.RotatedNorm = transformer.QKNormHead, true
	f.fixed = append(f.fixed, requiredValue{"use_qk_norm", "true"}, requiredValue{"use_cla", "false"})
	f.tensors.decoder.qNorm, f.tensors.decoder.kNorm = "layers.%d.self_attn.query_layernorm", "layers.%d.self_attn.key_layernorm"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		r := rope{base: real{"rope_theta", 10000}}
		setRotary(s, stretched(c, r, llamaHeads(c, s, r)))
		attentionBiases(c, l)
	}
})

// stretched applies HunYuan's alpha, which changes the base of a rotary embedding. Files call this
// dynamic, but it does not depend on the length of a text.
func stretched(c *config, r rope, plain transformer.Rotary) transformer.Rotary {
	scaling := r.scaling(c)
	if scaling == nil || scaling.text("rope_type type", "default") != "dynamic" {
		return plain
	}
	alpha := scaling.number("alpha", 0, 0, 1e9)
	if alpha == 0 || *c.err != nil {
		return plain
	}
	if plain.Dims < 4 {
		scaling.reject("alpha", "%v, of heads of %d", alpha, plain.Dims)
		return plain
	}
	theta := scaling.number("rope_theta", c.number(r.base.names, r.base.absent, 1, 1e12), 1, 1e12)
	plain.Frequencies = transformer.Frequencies(theta*math.Pow(alpha, float64(plain.Dims)/float64(plain.Dims-2)), plain.Dims)
	return plain
}

// ggufHunyuan: the converter has applied alpha to the base.
var ggufHunyuan = ggufLike(func(f *family) {
	ggufQKNorm(f, transformer.QKNormHead)
	f.kind.Attention.RotatedNorm = true
	f.fixed = append(f.fixed, requiredValue{"rope.scaling.alpha", "0"})
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
})
