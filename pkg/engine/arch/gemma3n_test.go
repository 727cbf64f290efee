package arch_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/transformer"
)

// Configurations of Gemma 3n with unsupported, inconsistent or excessive values.
func TestHostileGemma3n(t *testing.T) {
	type list = []string
	type numbers = []float32
	for _, c := range []hostileConfig{
		{"gemma3n", members{"altup_num_inputs": 1}, "altup_num_inputs: 1 is not in 2..64"},
		{"gemma3n", members{"altup_num_inputs": 1 << 40}, "altup_num_inputs: 1099511627776 is not in"},
		{"gemma3n", members{"altup_num_inputs": 3}, `altup.modality_router.weight": shape [4 32], but the configuration has [3 32]`},
		{"gemma3n", members{"altup_num_inputs": 5}, `tensor "altup_projections.3.weight": missing`},
		{"gemma3n", members{"altup_active_idx": 1}, "altup_active_idx: 1 is not supported"},
		{"gemma3n", members{"altup_correct_scale": false}, "altup_correct_scale: false is not supported"},
		{"gemma3n", members{"laurel_rank": 0}, "laurel_rank: 0 is not in 1.."},
		{"gemma3n", members{"laurel_rank": 7}, `laurel.linear_left.weight": shape [6 32], but the configuration has [7 32]`},
		{"gemma3n", members{"hidden_size_per_layer_input": 0}, "hidden_size_per_layer_input: 0 is not in 1.."},
		{"gemma3n", members{"vocab_size_per_layer_input": 65}, "vocab_size_per_layer_input: 65 is not in 1..64"},
		{"gemma3n", members{"vocab_size_per_layer_input": 60}, `embed_tokens_per_layer.weight": shape [61 72], but the configuration has [60 72]`},
		{"gemma3n", members{"vocab_size_per_layer_input": nil}, `embed_tokens_per_layer.weight": shape [61 72], but the configuration has [262144 72]`},
		{"gemma3n", members{"activation_sparsity_pattern": numbers{0.5}}, "activation_sparsity_pattern: 1 values of 6 layers"},
		{"gemma3n", members{"activation_sparsity_pattern": 0.5}, "activation_sparsity_pattern: 0.5 is not a valid list of numbers"},
		{"gemma3n", members{"activation_sparsity_pattern": numbers{0, 0, 0, 0, 0, 1}}, "feed_forward.sparsity: 1 is not in 0..1"},
		{"gemma3n", members{"intermediate_size": []int{20}}, "intermediate_size: 1 values of 6 layers"},
		{"gemma3n", members{"intermediate_size": 20}, `layers.3.mlp.up_proj.weight": shape [24 32], but the configuration has [20 32]`},
		{"gemma3n", members{"intermediate_size": nil}, `but the configuration has [16384 32]`},
		{"gemma3n", members{"num_kv_shared_layers": 4}, "num_kv_shared_layers: no layer of the type of layer 2 has keys and values"},
		{"gemma3n", members{"num_kv_shared_layers": nil}, "num_kv_shared_layers: no layer of the type of layer 0 has"},
		{"gemma3n", members{"layer_types": list{"full_attention"}}, "layer_types: 1 types of 6 layers"},
		{"gemma3n", members{"sliding_window": 0}, "sliding_window: 0 is not in"},
		{"gemma3n", members{"model_type": "gemma3n"}, "text_config: missing"},
	} {
		c.check(t)
	}
}

// What configurations leave out is what transformers adds.
func TestGemma3nDefaults(t *testing.T) {
	fsys := bare(t, "gemma3n-two")
	set(t, fsys, "config.json", members{"layer_types": nil, "rope_parameters": nil, "final_logit_softcapping": nil, "activation_sparsity_pattern": nil, "sliding_window": nil})
	s := openIn(t, fsys, "m").Spec
	if s.LogitSoftCap != 30 || len(s.Kinds) != 1 || s.Kinds[0].Attention.Window != 0 || s.Kinds[0].FeedForward.Sparsity != 0 {
		t.Errorf("%+v", s)
	}
	if f := s.Rotaries[0].Frequencies; len(s.Rotaries) != 1 || !slices.Equal(f, transformer.Frequencies(10000, 8)) {
		t.Errorf("two layers with windows have %v", s.Rotaries)
	}
}

// Of more than ten layers the first ten have gates of which most are cut off, and every fifth has full
// attention, if nothing else is said.
func TestGemma3nLayers(t *testing.T) {
	fsys := bare(t, "gemma3n")
	set(t, fsys, "config.json", members{"num_hidden_layers": 12, "layer_types": nil, "activation_sparsity_pattern": nil, "intermediate_size": slices.Repeat([]int{20, 20, 20, 24, 24, 24}, 2)})
	tensors(t, fsys, func(all map[string]stored) {
		for name, tensor := range maps.Clone(all) {
			for layer := range 6 {
				if rest, ok := strings.CutPrefix(name, fmt.Sprintf("model.layers.%d.", layer)); ok {
					all[fmt.Sprintf("model.layers.%d.%s", layer+6, rest)] = tensor
				}
			}
		}
		for _, name := range []string{"k_proj", "v_proj", "k_norm"} {
			for layer := 4; layer < 6; layer++ {
				all[fmt.Sprintf("model.layers.%d.self_attn.%s.weight", layer, name)] = all["model.layers.0.self_attn."+name+".weight"]
			}
		}
		all["model.embed_tokens_per_layer.weight"], all["model.per_layer_model_projection.weight"] = numbers(0, 61, 144), numbers(0, 144, 32)
	})
	s := openIn(t, fsys, "m").Spec
	for i, kind := range s.Decoder {
		k, sparsity := &s.Kinds[kind], float32(0.95)
		if i >= 10 {
			sparsity = 0
		}
		if k.FeedForward.Sparsity != sparsity || (k.Attention.Window == 0) != (i%5 == 4) || (k.Attention.KVLayer > 0) != (i >= 10) {
			t.Errorf("layer %d: %+v", i, k)
		}
	}
}

// A model of type gemma3n is that of its text.
func TestGemma3nWithin(t *testing.T) {
	checkWithin(t, "gemma3n", "Gemma 3n", "model.vision_tower.timm_model.x")
}
