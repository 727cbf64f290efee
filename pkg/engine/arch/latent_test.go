package arch_test

import (
	"encoding/json"
	"testing"
)

// Configurations of latent attention that do not fit are refused.
func TestHostileLatents(t *testing.T) {
	for _, c := range []hostileConfig{
		{"minicpm3", members{"kv_lora_rank": 21}, `kv_a_proj_with_mqa.weight": shape [28 32], but the configuration has [29 32]`},
		{"minicpm3", members{"q_lora_rank": json.RawMessage("null")}, `tensor "layers.0.self_attn.q_proj.weight": missing`},
		{"minicpm3", members{"q_lora_rank": 15}, `q_a_proj.weight": shape [14 32], but the configuration has [15 32]`},
		{"minicpm3", members{"kv_lora_rank": 1 << 17, "num_attention_heads": 32}, "attention.heads: 32 attention heads of 131080 are more than 1048576"},
		{"minicpm3", members{"v_head_dim": 1 << 17, "num_attention_heads": 16}, "attention.latent: vectors of 14, 10, 8 and 131072 for 16 heads are too wide"},
		{"minicpm3", members{"v_head_dim": 7}, `kv_b_proj.weight": shape [72 20], but the configuration has [68 20]`},
		{"minicpm3", members{"qk_rope_head_dim": 7}, "rotary dimensions: 1 of heads of 7 are 7"},
		{"minicpm3", members{"num_attention_heads": 4096, "num_hidden_layers": 17, "kv_lora_rank": 2, "qk_nope_head_dim": 1, "qk_rope_head_dim": 2, "v_head_dim": 1, "rope_parameters": nil},
			"attention.latent: 69632 heads in all layers, at most 65536"},
		{"minicpm3", members{"rope_parameters": members{"rope_type": "default", "partial_rotary_factor": 0.5}}, "partial_rotary_factor: partial rotary embeddings are not"},
		{"deepseek_v2", members{"topk_method": "noaux_tc"}, `topk_method: "noaux_tc" is not supported, only greedy and group_limited_greedy`},
		{"deepseek_v2", members{"n_group": 3}, "feed_forward.experts.groups: 3 do not divide 8 experts"},
		{"deepseek_v2", members{"topk_group": 5}, "topk_group: 5 is not in 1..4"},
		{"deepseek_v2", members{"topk_group": 1}, "feed_forward.experts.groups_used: 1 of 4 have 3 experts"},
		{"deepseek_v2", members{"norm_topk_prob": true}, "norm_topk_prob: true is not supported, only false"},
		{"deepseek_v2", members{"moe_layer_freq": 2}, "moe_layer_freq: 2 is not supported, only 1"},
		{"deepseek_v2", members{"kv_lora_rank": 0}, "kv_lora_rank: 0 is not in"},
		{"deepseek_v3", members{"scoring_func": "softmax"}, `scoring_func: "softmax" is not supported, only "sigmoid"`},
		{"deepseek_v3", members{"first_k_dense_replace": 0}, `tensor "layers.0.mlp.gate.weight": missing`},
		{"deepseek_v3", members{"attention_bias": true}, `tensor "layers.0.self_attn.q_a_proj.bias": missing`},
	} {
		c.check(t)
	}
}
