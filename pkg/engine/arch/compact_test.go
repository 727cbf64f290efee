package arch_test

import (
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/transformer"
)

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
		{"granite_swa", members{"layer_rope_theta": []float64{1000}}, "layer_rope_theta: 1 numbers of 3 layers"},
		{"granite_swa", members{"layer_rope_theta": []float64{1000, -1, 0}}, "layer_rope_theta: -1 is neither 0 nor in"},
		{"granite_swa", members{"layer_rope_theta": []float64{1000, 1e13, 0}}, "layer_rope_theta: 1e+13 is neither 0 nor in"},
		{"granite_swa", members{"layer_rope_theta": "x"}, "layer_rope_theta: "},
		{"granitemoe_swa", members{"shared_intermediate_size": 0}, `unknown in this architecture`},
		{"afmoe", members{"score_func": "softmax"}, `score_func: "softmax" is not supported, only "sigmoid"`},
		{"afmoe", members{"route_norm": false}, "route_norm: false is not supported, only true"},
		{"afmoe", members{"n_group": 2}, "n_group: 2 is not supported, only 1"},
		{"afmoe", members{"global_attn_every_n_layers": 0, "layer_types": nil}, "global_attn_every_n_layers: 0 is not in"},
		{"afmoe", members{"num_shared_experts": 1 << 40}, "num_shared_experts: 1099511627776 is not in"},
		{"codegen", members{"n_head": 2}, "n_head: 2 is not a multiple of 4"},
		{"modernbert_decoder", members{"mlp_bias": true}, "mlp_bias: true is not supported, only false"},
		{"modernbert_decoder", members{"classifier_activation": "mish"}, `classifier_activation: "mish" is not supported`},
		{"modernbert_decoder", members{"classifier_bias": true}, `tensor "lm_head.dense.bias": missing`},
	} {
		c.check(t)
	}
	fsys := bare(t, "codegen")
	tensors(t, fsys, func(all map[string]stored) { all["transformer.h.0.attn.qkv_proj.weight"] = numbers(0, 20, 8) })
	checkRejected(t, "another matrix", fsys, `qkv_proj.weight": shape [20 8], but the configuration has [24 8]`)
}

// A GGUF file of Granite Swash says which layers have windows and which rotate, and may have experts.
func TestGGUFGraniteSWA(t *testing.T) {
	const kind = "granite_swa"
	keys, all := ggufOf(kind)
	all["blk.0.attn_sinks.weight"] = blockOf(2)
	checkRejected(t, "no window", fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "granite_swa.attention.sliding_window: missing")
	keys[kind+".attention.sliding_window"], keys[kind+".logit_scale"] = 3, 4.0
	keys[kind+".attention.sliding_window_pattern"] = []bool{true}
	k := kindOf(t, keys, all)
	if k.Attention.Window != 3 || k.Attention.Rotary != 1 || !k.Attention.Sinks || k.FeedForward.Experts != nil {
		t.Errorf("%+v", k)
	}
	keys[kind+".attention.rope_pattern"] = []bool{}
	checkRejected(t, "no pattern", fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "granite_swa.attention.rope_pattern: 0 values of 1 layers")
	keys[kind+".attention.rope_pattern"] = []bool{false}
	delete(all, "rope_freqs.weight")
	if k := kindOf(t, keys, all); k.Attention.Rotary != 0 {
		t.Errorf("%+v", k)
	}
	keys[kind+".expert_count"], keys[kind+".expert_used_count"], keys[kind+".expert_shared_feed_forward_length"] = 3, 2, 5
	all["blk.0.ffn_gate_inp.weight"] = blockOf(3, 8)
	all["blk.0.ffn_gate_up_exps.weight"], all["blk.0.ffn_down_exps.weight"] = blockOf(3, 24, 8), blockOf(3, 8, 12)
	all["blk.0.ffn_up_shexp.weight"], all["blk.0.ffn_down_shexp.weight"] = blockOf(10, 8), blockOf(8, 5)
	for _, name := range []string{"up", "gate", "down"} {
		delete(all, "blk.0.ffn_"+name+".weight")
	}
	if e := kindOf(t, keys, all).FeedForward.Experts; e == nil || e.Count != 3 || e.Used != 2 || e.Shared != 5 || !e.Renormalised {
		t.Errorf("%+v", e)
	}
}

// kindOf returns the only kind of layers of a GGUF file, whose description is complete.
func kindOf(t *testing.T, keys map[string]any, all map[string]block) *transformer.Kind {
	t.Helper()
	m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
	if err := m.Spec.Check(); err != nil || len(m.Spec.Kinds) != 1 {
		t.Fatal(m.Spec.Kinds, err)
	}
	return &m.Spec.Kinds[0]
}
