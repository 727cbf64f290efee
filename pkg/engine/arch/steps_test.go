package arch_test

import "testing"

// Configurations of states whose inputs have steps of their own that do not fit the file, or are out of
// bounds, are errors with the name of the member or of the tensor.
func TestHostileSteps(t *testing.T) {
	for _, c := range []hostileConfig{
		{"mamba", members{"state_size": 9}, `x_proj.weight": shape [17 32], but the configuration has [19 32]`},
		{"mamba", members{"time_step_rank": 1 << 20}, "time_step_rank: 1048576 is not in 1..131072"},
		{"mamba", members{"time_step_rank": "many"}, `time_step_rank: "many" is not a valid integer`},
		{"mamba", members{"expand": 1 << 40}, "expand: 1099511627776 is not in"},
		{"mamba", members{"intermediate_size": 1 << 20}, "states.head_dim: 1048576 is not in"},
		{"mamba", members{"use_conv_bias": false}, `conv1d.bias": unknown in this architecture`},
		{"mamba", members{"hidden_act": "gelu"}, `hidden_act: "gelu" is not supported`},
		{"falcon_mamba", members{"mixer_rms_eps": 0}, "mixer_rms_eps: 0 is not in"},
		{"falcon_mamba", members{"intermediate_size": nil}, `in_proj.weight": shape [48 16], but the configuration has [512 16]`},
		{"jamba", members{"attn_layer_offset": 3}, "attn_layer_offset: 3 is not below attn_layer_period, 3"},
		{"jamba", members{"attn_layer_period": 0}, "attn_layer_period: 0 is not in"},
		{"jamba", members{"attn_layer_offset": 0}, `tensor "layers.0.self_attn.q_proj.weight": missing`},
		{"jamba", members{"expert_layer_offset": 1}, `tensor "layers.0.feed_forward.up_proj.weight": missing`},
		{"jamba", members{"num_experts": 4}, `router.weight": shape [3 12], but the configuration has [4 12]`},
		{"jamba", members{"num_experts": 1}, `tensor "layers.0.feed_forward.up_proj.weight": missing`},
		{"jamba", members{"num_experts_per_tok": 4}, "num_experts_per_tok: 4 is not in 1..3"},
		{"jamba", members{"rms_norm_eps": 0}, `unknown in this architecture`},
	} {
		c.check(t)
	}
}
