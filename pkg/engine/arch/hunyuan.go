package arch

import (
	"math"
	"slices"

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

// hunyuanMoE is HunYuan with experts in all layers, of which each may use another number, and a block
// that all tokens use.
var hunyuanMoE = llamaLike("HunYuan-MoE", func(f *family) {
	dense := hunyuan.adjust
	f.vocab, f.eps, f.kind, f.fixed = hunyuan.vocab, hunyuan.eps, hunyuan.kind, append(slices.Clip(hunyuan.fixed), requiredValue{"moe_layer_num_skipped", "0"})
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = hunyuan.tensors.decoder.qNorm, hunyuan.tensors.decoder.kNorm
	qwenExperts(f)
	l.experts.router = "layers.%d.mlp.gate.wg"
	l.experts.shared = block{
		up: linear{names: "layers.%d.mlp.shared_mlp.up_proj"}, gate: linear{names: "layers.%d.mlp.shared_mlp.gate_proj"},
		down: linear{names: "layers.%d.mlp.shared_mlp.down_proj"},
	}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		a, depth, ffn := &s.Kinds[0].Attention, len(s.Decoder), s.Kinds[0].FeedForward.Width
		a.HeadDim = c.integer("head_dim attention_head_dim", a.HeadDim, 1, maxWidth)
		dense(c, s, l)
		count := c.integer("num_experts num_local_experts", 1, 1, maxExperts)
		used := c.perLayer("moe_topk num_experts_per_tok", depth, 1, count)
		widths := c.perLayer("moe_intermediate_size", depth, ffn, maxFFN)
		shared := c.perLayer("num_shared_expert", depth, 1, maxFFN/ffn)
		if *c.err != nil {
			return
		}
		eachLayer(s, func(i int, k *transformer.Kind) {
			k.FeedForward.Width = widths[i]
			k.FeedForward.Experts = &transformer.Experts{Count: count, Used: used[i], Renormalised: true, Shared: shared[i] * ffn}
		})
	}
})

// perLayer returns a positive number for each layer: those of a list, or one for all.
func (c *config) perLayer(names string, depth, absent, high int) []int {
	name, raw := c.find(names)
	if raw == nil || raw[0] != '[' {
		return slices.Repeat([]int{c.integer(names, absent, 1, high)}, depth)
	}
	_, list, _ := read[[]int](c, name, "list of integers")
	if len(list) < depth {
		c.reject(name, "%d values of %d layers", len(list), depth)
		return make([]int, depth)
	}
	for i, v := range list[:depth] {
		if v < 1 || v > high {
			c.reject(name, "%d of layer %d is not in 1..%d", v, i, high)
		}
	}
	return list
}

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

// ggufHunyuanMoE: the widths of experts and of the block of all tokens have keys of their own.
var ggufHunyuanMoE = ggufLike(func(f *family) {
	f.kind, f.fixed = ggufHunyuan.kind, ggufHunyuan.fixed
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = ggufHunyuan.tensors.decoder.qNorm, ggufHunyuan.tensors.decoder.kNorm
	l.experts = ggufExperts()
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		dense := s.Kinds[0].FeedForward.Width
		ggufSetExperts(c, s, true).Shared = c.integer("expert_shared_feed_forward_length", dense, 1, maxFFN)
		setRotary(s, ggufHeads(c, s))
	}
})
