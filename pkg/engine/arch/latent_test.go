package arch_test

import (
	"encoding/json"
	"maps"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/transformer"
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

// Keys of latent attention in GGUF files that lie are rejected by name.
func TestHostileGGUFLatents(t *testing.T) {
	for want, change := range map[string]map[string]any{
		"deepseek2.attention.kv_lora_rank: 0 is not in":                           {"deepseek2.attention.kv_lora_rank": 0},
		"deepseek2.attention.key_length: 4, of which 4 are rotated":               {"deepseek2.rope.dimension_count": 4},
		"deepseek2.attention.key_length_mla: 2, of which 2 are rotated":           {"deepseek2.attention.key_length_mla": 2},
		"deepseek2.attention.value_length_mla: 0 is not in":                       {"deepseek2.attention.value_length_mla": 0},
		"deepseek2.expert_count: missing":                                         {"deepseek2.leading_dense_block_count": 0},
		"deepseek2.expert_gating_func: 3 is not in 0..2":                          {"deepseek2.leading_dense_block_count": 0, "deepseek2.expert_gating_func": 3},
		"deepseek2.expert_group_used_count: 4 is not in 1..3":                     groups(3, 4),
		"kinds[0].feed_forward.experts.groups: 3 do not divide 4 experts":         groups(3, 1),
		"deepseek2.nextn_predict_layers: 1 is not in 0..0":                        {"deepseek2.nextn_predict_layers": 1},
		`tensor "blk.0.attn_q_a.weight": missing`:                                 {"deepseek2.attention.q_lora_rank": 3},
		`tensor "blk.0.attn_kv_a_mqa.weight": shape [5 8], but the configuration`: {"deepseek2.attention.kv_lora_rank": 4},
	} {
		keys, all := ggufLatents()
		maps.Copy(keys, change)
		if change["deepseek2.attention.q_lora_rank"] != nil {
			delete(all, "blk.0.attn_q.weight")
		}
		checkRejected(t, want, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, want)
	}
}

func groups(n, used int) map[string]any {
	return map[string]any{
		"deepseek2.leading_dense_block_count": 0, "deepseek2.expert_count": 4, "deepseek2.expert_used_count": 1,
		"deepseek2.expert_group_count": n, "deepseek2.expert_group_used_count": used,
	}
}

// ggufLatents returns a file of the older form, with one layer, two heads and a latent vector of three values.
func ggufLatents() (map[string]any, map[string]block) {
	keys, all := ggufOf("deepseek2")
	maps.Copy(keys, map[string]any{
		"deepseek2.attention.kv_lora_rank": 3, "deepseek2.rope.dimension_count": 2, "deepseek2.leading_dense_block_count": 1,
		"deepseek2.attention.key_length": 4, "deepseek2.attention.value_length": 4,
	})
	delete(all, "rope_freqs.weight")
	delete(all, "blk.0.attn_k.weight")
	delete(all, "blk.0.attn_v.weight")
	all["blk.0.attn_kv_a_mqa.weight"], all["blk.0.attn_kv_a_norm.weight"], all["blk.0.attn_kv_b.weight"] = blockOf(5, 8), blockOf(3), blockOf(12, 3)
	return keys, all
}

// The scale of scores follows from the factor of YaRN and from a tenth of a multiplier of its logarithm, which
// then does not change sines and cosines.
func TestGGUFLatentScale(t *testing.T) {
	for _, c := range []struct{ factor, multiplier, scale, magnitude float64 }{
		{40, 0.0707, 0.7948131, 0}, {40, 0.1, 0.9369271, 0}, {40, 0, 0, 1.3688879}, {1, 0.1, 0, 0},
	} {
		keys, all := ggufLatents()
		maps.Copy(keys, map[string]any{
			"deepseek2.rope.scaling.type": "yarn", "deepseek2.rope.scaling.original_context_length": 8, "deepseek2.rope.scaling.factor": c.factor,
		})
		if c.multiplier > 0 {
			keys["deepseek2.rope.scaling.yarn_log_multiplier"] = c.multiplier
		}
		s := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m").Spec
		a := &s.Kinds[0].Attention
		if want := (transformer.Latent{KeyDim: 2, Shared: 2, ValueDim: 4, Eps: a.Latent.Eps}); *a.Latent != want || !s.Rotaries[0].Interleaved {
			t.Errorf("%+v of %+v", a.Latent, s.Rotaries[0])
		}
		if off(float64(a.Scale), c.scale) || off(float64(s.Rotaries[0].Magnitude), c.magnitude) {
			t.Errorf("%+v: scale %v, magnitude %v", c, a.Scale, s.Rotaries[0].Magnitude)
		}
	}
}

func off(a, b float64) bool { return a-b > 1e-6 || b-a > 1e-6 }
