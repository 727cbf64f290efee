package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// afmoe is Arcee AI 2025 (Trinity): Qwen 3 with gates of all results of heads, norms behind branches too,
// experts that corrected sigmoids choose behind the first layers, and windows, without which layers have
// no rotary embedding.
var afmoe = llamaLike("AFMoE", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 200192}, field{"max_position_embeddings", 16384}, field{"hidden_size", 2048}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 32}, heads: field{"num_attention_heads", 16}, ffn: field{"intermediate_size", 6144}}
	f.eps, f.bos, f.eos = real{"rms_norm_eps", 1e-5}, field{"bos_token_id", -1}, field{"eos_token_id", -1}
	correctedExperts(f)
	f.fixed = append(f.fixed, requiredValue{"attention_bias", "false"}, requiredValue{"route_norm", "true"}, requiredValue{"score_func", `"sigmoid"`})
	sandwich(f)
	f.kind.Attention.QKNorm, f.kind.Attention.Gated = transformer.QKNormHead, true
	l := &f.tensors.decoder
	l.qkv.names += " layers.%d.self_attn.gate_proj"
	l.ffnNorm, l.ffnPostNorm = "layers.%d.pre_mlp_layernorm", "layers.%d.post_mlp_layernorm"
	l.experts.router, l.experts.correction = "layers.%d.mlp.router.gate", "layers.%d.mlp.expert_bias"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}})
		if c.flag("mup_enabled", false) {
			s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
		}
		every := c.integer("global_attn_every_n_layers", 4, 1, maxDepth)
		windowed := c.windowed(len(s.Decoder), func(layer int) bool { return (layer+1)%every != 0 })
		setWindowedRotary(c, s, windowed, r)
		setWindows(c, s, windowed, field{"sliding_window", 1024})
		e := readExperts(c, field{"num_experts", 64}, 6, true)
		e.Sigmoid, e.Corrected, e.Floor = true, true, correctedFloor
		e.Scale = float32(c.number("route_scale", 1, 1e-6, 1e6))
		width := c.integer("moe_intermediate_size", 1408, 1, maxFFN)
		e.Shared = width * c.integer("num_shared_experts", 2, 0, maxFFN/width)
		expertsFrom(s, c.integer("num_dense_layers", 1, 0, maxDepth), width, e)
	}
})

// ggufAFMoE: embeddings are scaled in all files.
var ggufAFMoE = ggufCorrected(func(f *family) {
	ggufSandwich(f)
	ggufQKNorm(f, transformer.QKNormHead)
	f.kind.Attention.Gated = true
	f.tensors.decoder.qkv.names += " blk.%d.attn_gate"
	experts := f.adjust
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		experts(c, s, l)
		s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
		windowed := ggufWindows(c, s, func(layer int) bool { return (layer+1)%4 != 0 }, 0)
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if !windowed[layer] {
				k.Attention.Rotary = 0
			}
		})
	}
})
