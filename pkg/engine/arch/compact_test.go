package arch_test

import "testing"

// Configurations of decoders of 2026 with values that would change results, or that do not fit.
func TestHostileCompact(t *testing.T) {
	for _, c := range []hostileConfig{
		{"lfm3", members{"layer_types": []string{"conv"}}, "layer_types: 1 types of 3 layers"},
		{"lfm3", members{"layer_types": []string{"conv", "mamba", "conv"}}, `layer_types: layer 1 is of type "mamba"`},
		{"lfm3", members{"attention_bias": true}, "attention_bias: true is not supported, only false"},
		{"lfm3", members{"use_attention_gate": false}, `tensor "model.layers.1.self_attn.gate_proj.weight": unknown`},
		{"lfm3", members{"use_sandwich_norm": false}, `post_ffn_norm.weight": unknown`},
		{"lfm3", members{"head_dim": 10}, `self_attn.q_proj.weight": shape [8 8]`},
		{"lfm3", members{"sliding_window": -1}, "sliding_window: -1 is not in"},
		{"lfm3", members{"conv_L_cache": 1 << 30}, "conv_L_cache: 1073741824 is not in"},
		{"nanochat", members{"final_logit_softcapping": -1}, "final_logit_softcapping: -1 is not in"},
		{"afmoe", members{"score_func": "softmax"}, `score_func: "softmax" is not supported, only "sigmoid"`},
		{"afmoe", members{"route_norm": false}, "route_norm: false is not supported, only true"},
		{"afmoe", members{"n_group": 2}, "n_group: 2 is not supported, only 1"},
		{"afmoe", members{"global_attn_every_n_layers": 0, "layer_types": nil}, "global_attn_every_n_layers: 0 is not in"},
		{"afmoe", members{"num_shared_experts": 1 << 40}, "num_shared_experts: 1099511627776 is not in"},
	} {
		c.check(t)
	}
}
