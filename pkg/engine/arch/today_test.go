package arch_test

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

// Configurations of Ministral 3, HunYuan and Apertus with values that would change results.
func TestHostileToday(t *testing.T) {
	rope := func(more members) members {
		all := members{"rope_type": "default", "rope_theta": 1000}
		maps.Copy(all, more)
		return members{"rope_parameters": all}
	}
	for _, c := range []hostileConfig{
		{"ministral3", members{"rope_parameters": nil}, "config.json: rope_parameters: missing"},
		{"ministral3", rope(members{"llama_4_scaling_beta": 0.1}), "rope_parameters.original_max_position_embeddings: missing"},
		{"ministral3", rope(members{"llama_4_scaling_beta": -1}), "rope_parameters.llama_4_scaling_beta: -1 is not in 0..1e+06"},
		{"ministral3", rope(members{"llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 0}), "rope_parameters.original_max_position_embeddings: 0 is not in 1.."},
		{"hunyuan_v1_dense", rope(members{"rope_type": "dynamic", "alpha": -1}), "rope_parameters.alpha: -1 is not in"},
		{"hunyuan_v1_dense", members{"use_cla": true}, "use_cla: true is not supported, only false"},
		{"hunyuan_v1_dense", members{"use_qk_norm": false}, "use_qk_norm: false is not supported, only true"},
		{"apertus", members{"hidden_act": "silu"}, `hidden_act: "silu" is not supported, only "xielu"`},
		{"llama", members{"hidden_act": "xielu"}, `hidden_act: "xielu" is not supported`},
	} {
		c.check(t)
	}
	fsys := bare(t, "apertus")
	tensors(t, fsys, func(all map[string]stored) { delete(all, "model.layers.1.mlp.act_fn.beta") })
	checkRejected(t, "no beta", fsys, `tensor "layers.1.mlp.act_fn.beta": missing`)
}

// Mistral 3 is its model of text: the encoder of pictures, which is not read, is left out.
func TestMistral3(t *testing.T) {
	fsys := bare(t, "ministral3")
	want := openIn(t, fsys, "m").Weights.Elements()
	inner := map[string]any{}
	if err := json.Unmarshal(fsys["m/config.json"].Data, &inner); err != nil {
		t.Fatal(err)
	}
	delete(fsys, "m/config.json")
	set(t, fsys, "config.json", members{
		"model_type": "mistral3", "text_config": inner, "vision_config": members{"model_type": "pixtral"}, "eos_token_id": 7,
	})
	for _, names := range [][3]string{
		{"language_model.", "vision_tower.", "multi_modal_projector."},
		{"", "model.vision_tower.", "model.multi_modal_projector."}, // as transformers 5 has them; model. is followed by language_model.
	} {
		named := bare(t, "ministral3")
		named["m/config.json"] = fsys["m/config.json"]
		tensors(t, named, func(all map[string]stored) {
			for name, x := range maps.Clone(all) {
				delete(all, name)
				if names[0] == "" && name != "lm_head.weight" {
					name = "model.language_model." + name[len("model."):]
				}
				all[names[0]+name] = x
			}
			all[names[1]+"patch_conv.weight"] = numbers(0, 4, 3, 2, 2)
			all[names[2]+"linear_1.weight"] = numbers(0, 4, 4)
		})
		m := openIn(t, named, "m")
		if m.Vision != nil || m.Weights.Elements() != want || m.Name() != "Mistral 3" {
			t.Errorf("%v: %s with %d weights, want %d, and pictures: %v", names, m.Name(), m.Weights.Elements(), want, m.Vision != nil)
		}
		checkTextAdapters(t, named, "model.vision_tower.transformer.layers.0.attention.q_proj", "model.", "model.language_model.", "language_model.model.")
		tensors(t, named, func(all map[string]stored) { all["pooler.weight"] = numbers(0, 4) })
		checkRejected(t, "another tensor", named, `tensor "pooler.weight": unknown`)
	}
}

// The magnitude of YaRN follows from the factor, and in Ministral 3 from a multiplier of its logarithm
// too, which makes it 1 or less. The file's own factor multiplies either.
func TestGGUFYaRNMagnitude(t *testing.T) {
	const huge = 22026.4657948 // 0.1·log + 1 is 2
	for _, c := range []struct{ factor, multiplier, by, want float64 }{
		{16, 0, 1, 1.2772589}, {16, 1, 1, 0}, {16, 2, 1, 0.8216432}, {16, 0.5, 1, 1.1217512},
		{16, 2, 0.5, 0.4108216}, {huge, 0, 1, 2}, {huge, 0, 0.5, 1}, {1, 0, 1, 0}, {1, 0, 0.5, 0.5},
	} {
		keys, all := ggufOf("mistral3")
		maps.Copy(keys, map[string]any{
			"mistral3.rope.scaling.type": "yarn", "mistral3.rope.scaling.original_context_length": 8,
			"mistral3.rope.scaling.factor": c.factor, "mistral3.rope.scaling.attn_factor": c.by,
		})
		if c.multiplier > 0 {
			keys["mistral3.rope.scaling.yarn_log_multiplier"] = c.multiplier
		}
		r := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m").Spec.Rotaries[0]
		if math.Abs(float64(r.Magnitude)-c.want) > 1e-6 {
			t.Errorf("%+v: %v", c, r.Magnitude)
		}
	}
}

// ggufOf returns ggufLlama with another architecture.
func ggufOf(kind string) (map[string]any, map[string]block) {
	llama, all := ggufLlama()
	keys := map[string]any{}
	for key, value := range llama {
		if rest, ok := strings.CutPrefix(key, "llama."); ok {
			key = kind + "." + rest
		}
		keys[key] = value
	}
	keys["general.architecture"] = kind
	return keys, all
}

// Keys of families of 2025 that lie are rejected by name.
func TestHostileGGUFToday(t *testing.T) {
	for _, c := range []struct {
		kind, key string
		value     any
		want      string
	}{
		{"mistral3", "mistral3.attention.temperature_scale", 0.1, "mistral3.rope.scaling.original_context_length: missing"},
		{"mistral3", "mistral3.attention.temperature_scale", -1.0, "mistral3.attention.temperature_scale: -1 is not in"},
		{"hunyuan-dense", "hunyuan-dense.rope.scaling.alpha", 2.0, "hunyuan-dense.rope.scaling.alpha: 2 is not supported, only 0"},
		{"glm4moe", "glm4moe.nextn_predict_layers", 1, "glm4moe.nextn_predict_layers: 1 is not in 0..0"},
		{"glm4moe", "glm4moe.attention.value_length", 8, "glm4moe.attention.value_length: 8 is not attention.key_length, 4"},
		{"dots1", "dots1.expert_count", 4, "dots1.expert_used_count: missing"},
		{"minimax-m2", "minimax-m2.nextn_predict_layers", 1, "minimax-m2.nextn_predict_layers: 1 is not in 0..0"},
		{"exaone-moe", "exaone-moe.expert_count", 2, "exaone-moe.attention.sliding_window: missing"},
		{"hunyuan-moe", "hunyuan-moe.leading_dense_block_count", 1, "hunyuan-moe.leading_dense_block_count: 1 is not supported, only 0"},
		{"ernie4_5-moe", "ernie4_5-moe.interleave_moe_layer_step", 2, "ernie4_5-moe.interleave_moe_layer_step: 2 is not supported, only 1"},
		{"apertus", "xielu.beta", 0.5, `key "xielu.alpha_p": no such key`},
		{"apertus", "xielu.alpha_p", 7, `key "xielu.alpha_p": uint32 where []float32 was expected`},
	} {
		keys, all := ggufOf(c.kind)
		keys[c.key] = c.value
		all["blk.0.attn_q_norm.weight"], all["blk.0.attn_k_norm.weight"] = blockOf(4), blockOf(4)
		checkRejected(t, c.want, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, c.want)
	}
}

// Files of GGUF need not have the numbers that experts are chosen by.
func TestGGUFWithoutCorrections(t *testing.T) {
	for _, kind := range []string{"ernie4_5-moe", "dots1"} {
		for _, corrected := range []bool{true, false} {
			llama, all := ggufLlama()
			keys := map[string]any{"general.architecture": kind, kind + ".expert_count": 2, kind + ".expert_used_count": 1}
			for key, value := range llama {
				if rest, ok := strings.CutPrefix(key, "llama."); ok {
					key = kind + "." + rest
				}
				if key != "general.architecture" {
					keys[key] = value
				}
			}
			for _, name := range []string{"up", "gate", "down"} {
				all["blk.0.ffn_"+name+"_exps.weight"] = blockOf(append([]int{2}, all["blk.0.ffn_"+name+".weight"].shape...)...)
				delete(all, "blk.0.ffn_"+name+".weight")
			}
			all["blk.0.ffn_gate_inp.weight"] = blockOf(2, 8)
			if kind == "dots1" {
				all["blk.0.attn_q_norm.weight"], all["blk.0.attn_k_norm.weight"] = blockOf(4), blockOf(4)
			}
			if corrected {
				all["blk.0.exp_probs_b.bias"] = blockOf(2)
			}
			m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
			e := m.Spec.Kinds[0].FeedForward.Experts
			if err := m.Spec.Check(); err != nil || e.Corrected != corrected {
				t.Errorf("%s: %+v, %v", kind, e, err)
			}
		}
	}
}
