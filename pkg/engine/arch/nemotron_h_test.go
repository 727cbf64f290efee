package arch_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// Configurations of Nemotron-H that lie are rejected by name.
func TestHostileNemotronH(t *testing.T) {
	pattern := func(letters string) members {
		return members{"layers_block_type": nil, "hybrid_override_pattern": letters}
	}
	for _, c := range []hostileConfig{
		{"nemotron_h", members{"layers_block_type": []string{"mamba", "rwkv"}}, `layers_block_type: layer 1 is of type "rwkv"; only mamba, attention, mlp and moe`},
		{"nemotron_h", members{"layers_block_type": []string{}}, "layers_block_type: 0 layers are not in 1..1000"},
		{"nemotron_h", members{"layers_block_type": nil}, `tensor "layers.1.mixer.gate.weight": missing`},
		{"nemotron_h", pattern("M-Mé"), `hybrid_override_pattern: layer 3 is "é"; only M, *, - and E are supported`},
		{"nemotron_h", pattern(strings.Repeat("M-", 501)), "hybrid_override_pattern: 1002 layers are not in 1..1000"},
		{"nemotron_h", pattern("--"), "kinds: no layer mixes tokens"},
		{"nemotron_h", pattern("M-M"), `layers.3.mixer.`},
		{"nemotron_h", members{"mamba_num_heads": 1 << 20}, "mamba_num_heads: 1048576 is not in"},
		{"nemotron_h", members{"n_groups": 3}, "states.groups: 3 do not divide 4 heads"},
		{"nemotron_h", members{"n_groups": 0}, "n_groups: 0 is not in"},
		{"nemotron_h", members{"time_step_limit": []float64{0.001, 0.1}}, "time_step_limit: "},
		{"nemotron_h", members{"mamba_hidden_act": "gelu"}, `mamba_hidden_act: "gelu" is not supported`},
		{"nemotron_h", members{"mlp_hidden_act": "mish"}, `mlp_hidden_act: "mish" is not supported`},
		{"nemotron_h", members{"attention_bias": true}, "attention_bias: true is not supported, only false"},
		{"nemotron_h", members{"num_key_value_heads": nil}, "kv_heads: 8 key-value heads do not divide 4 attention heads"},
		{"nemotron_h-experts", members{"moe_latent_size": 8}, "moe_latent_size: 8 is not supported, only null"},
		{"nemotron_h-experts", members{"n_shared_experts": 2}, "n_shared_experts: 2 is not supported, only 1"},
		{"nemotron_h-experts", members{"n_routed_experts": 7}, `mixer.gate.weight": shape [6 16], but the configuration has [7 16]`},
		{"nemotron_h-experts", members{"moe_intermediate_size": 9}, `experts.0.up_proj.weight": shape [8 16], but the configuration has [9 16]`},
		{"nemotron_h-biased", members{"moe_intermediate_size": 9}, `experts.up_proj": shape [6 10 16], but the configuration has [6 9 16]`},
		{"nemotron_h-biased", members{"n_group": 4}, "groups: 4 do not divide 6 experts"},
		{"nemotron_h-biased", members{"mlp_bias": false}, `.bias": unknown in this architecture`},
	} {
		c.check(t)
	}
}

// The first models call the width of heads otherwise.
func TestNemotronHHeads(t *testing.T) {
	fsys := bare(t, "nemotron_h")
	want := openIn(t, fsys, "m")
	set(t, fsys, "config.json", members{"head_dim": nil, "attention_head_dim": 8})
	if got := openIn(t, fsys, "m"); !reflect.DeepEqual(got.Spec, want.Spec) {
		t.Errorf("%+v, want %+v", got.Spec, want.Spec)
	}
}

// Keys of GGUF files of Nemotron-H that lie are rejected by name.
func TestHostileGGUFNemotronH(t *testing.T) {
	states := map[string]any{"ssm.conv_kernel": 4, "ssm.state_size": 4, "ssm.group_count": 1, "ssm.inner_size": 8, "ssm.time_step_rank": 2}
	for _, c := range []struct {
		changes map[string]any
		want    string
	}{
		{map[string]any{"ssm.state_size": nil}, "nemotron_h.ssm.state_size: missing"},
		{map[string]any{"ssm.group_count": 3, "feed_forward_length": []int{0}, "attention.head_count_kv": []int{0}}, "states.groups: 3 do not divide 2 heads"},
		{map[string]any{"feed_forward_length": []int{}}, "nemotron_h.feed_forward_length: 0 values of 1 layers"},
		{map[string]any{"feed_forward_length": []int{1 << 21}}, "nemotron_h.feed_forward_length: 2097152, of layer 0, is not in 0.."},
		{map[string]any{"feed_forward_length": "12"}, "nemotron_h.feed_forward_length: "},
		{nil, "kinds: no layer mixes tokens"},
		{map[string]any{"feed_forward_length": []int{0}, "attention.head_count_kv": []int{0}}, `tensor "blk.0.ssm_in.weight": missing`},
		{map[string]any{"feed_forward_length": []int{0}}, `unknown in this architecture`},
		{map[string]any{"nextn_predict_layers": 1}, "nemotron_h.nextn_predict_layers: 1 is not in 0..0"},
		{map[string]any{"moe_latent_size": 8}, "nemotron_h.moe_latent_size: 8 is not supported, only 0"},
		{map[string]any{"expert_count": 2}, "nemotron_h.expert_feed_forward_length: missing"},
		{map[string]any{"expert_count": 2, "expert_feed_forward_length": []int{1, 2}, "expert_shared_feed_forward_length": 1, "expert_used_count": 1}, "nemotron_h.expert_feed_forward_length: "},
	} {
		keys, all := ggufOf("nemotron_h")
		changes := maps.Clone(states)
		maps.Copy(changes, c.changes)
		for key, value := range changes {
			if keys["nemotron_h."+key] = value; value == nil {
				delete(keys, "nemotron_h."+key)
			}
		}
		checkRejected(t, c.want, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, c.want)
	}
}
