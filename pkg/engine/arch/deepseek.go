package arch

import "glossa/pkg/engine/transformer"

// deepSeekV2 is DeepSeek-AI 2024 (DeepSeek-V2, V2.5, V2-Lite): latent attention, and experts that a softmax
// chooses, perhaps among those of some groups, next to a block that all tokens use.
var deepSeekV2 = deepSeekLike("DeepSeek-V2", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 102400}, field{"max_position_embeddings", 2048}
	f.fixed = append(f.fixed, requiredValue{"norm_topk_prob", "false"}, requiredValue{"scoring_func", `"softmax"`}, requiredValue{"mlp_bias", "false"})
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		latentShape{1536, 512, 128, 64, 128}.latents(c, s, 10000)
		attentionBiases(c, l)
		e := readExperts(c, field{"n_routed_experts num_experts", 64}, 6, false)
		switch method := c.text("topk_method", "greedy"); method {
		case "greedy":
		case "group_limited_greedy":
			readGroups(c, e, 1, 1)
		default:
			c.reject("topk_method", "%.40q is not supported, only greedy and group_limited_greedy", method)
		}
		placeExperts(c, s, e, field{"moe_intermediate_size", 1407}, 0, 2)
	}
})

// deepSeekV3 is DeepSeek-AI 2024 (DeepSeek-V3, R1) and Moonshot AI 2025 (Kimi K2): DeepSeek-V2 whose experts
// corrected sigmoids choose. Layers that draft tokens are not read.
var deepSeekV3 = deepSeekLike("DeepSeek-V3", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 129280}, field{"max_position_embeddings", 4096}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 1}
	f.fixed = append(f.fixed, requiredValue{"scoring_func", `"sigmoid"`}, requiredValue{"topk_method", `"noaux_tc"`})
	f.tensors.decoder.experts.correction = "layers.%d.mlp.gate.e_score_correction_bias"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		latentShape{1536, 512, 128, 64, 128}.latents(c, s, 10000)
		attentionBiases(c, l)
		e := readCorrectedExperts(c, 256, 8, true)
		readGroups(c, e, 8, 4)
		placeExperts(c, s, e, field{"moe_intermediate_size", 2048}, 3, 1)
	}
	f.detect = func(src *source, s *transformer.Spec, _ *layout) { ignoreDrafts(src, "layers.", "eh_proj", s) }
})

// glm4MoELite is GLM-4.7-Flash: DeepSeek-V3 with other sizes.
var glm4MoELite = deepSeekLike("GLM-4-MoE-Lite", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 154880}, field{"max_position_embeddings", 202752}, field{"hidden_size", 2048}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 47}, heads: field{"num_attention_heads", 20}, ffn: field{"intermediate_size", 10240}}
	f.eps, f.bos, f.eos = real{"rms_norm_eps", 1e-5}, field{"bos_token_id", 0}, field{"eos_token_id", 1}
	f.tensors.decoder.experts.correction = deepSeekV3.tensors.decoder.experts.correction
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		latentShape{768, 512, 192, 64, 256}.latents(c, s, 10000)
		attentionBiases(c, l)
		e := readCorrectedExperts(c, 64, 4, true)
		readGroups(c, e, 1, 1)
		placeExperts(c, s, e, field{"moe_intermediate_size", 1536}, 1, 1)
	}
	f.detect = deepSeekV3.detect
})

// youtu is Tencent's Youtu-LLM: DeepSeek-V3 without experts.
var youtu = llamaLike("Youtu-LLM", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 128256}, field{"max_position_embeddings", 131072}, field{"hidden_size", 2048}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 32}, heads: field{"num_attention_heads", 16}, ffn: field{"intermediate_size", 6144}}
	f.bos, f.eos, f.tied = field{"bos_token_id", 128000}, field{"eos_token_id", 128001}, true
	f.tensors.decoder.latent = llamaLatents
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		latentShape{1536, 512, 128, 64, 128}.latents(c, s, 10000)
		attentionBiases(c, l)
	}
})

// deepSeekLike returns a family with DeepSeek's tensors, changed by change.
func deepSeekLike(title string, change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		f.fixed = append(f.fixed, requiredValue{"moe_layer_freq", "1"})
		f.tensors.decoder.latent = llamaLatents
		qwenExperts(f)
		f.tensors.decoder.experts.shared = sharedExperts()
		change(f)
	})
}

// readGroups reads the groups of experts, of which there may be one.
func readGroups(c *config, e *transformer.Experts, groups, used int) {
	n := c.integer("n_group", groups, 1, maxExperts)
	if k := c.integer("topk_group", min(used, n), 1, n); n > 1 {
		e.Groups, e.GroupsUsed = n, k
	}
}
