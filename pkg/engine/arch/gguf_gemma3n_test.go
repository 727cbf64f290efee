package arch_test

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"testing/fstest"
)

// ggufGemma3n returns the keys and tensors of a Gemma 3n of 22 layers, without keys that files may lack.
func ggufGemma3n() (map[string]any, map[string]block) {
	keys := map[string]any{
		"general.architecture": "gemma3n", "gemma3n.context_length": 1024, "gemma3n.embedding_length": 8, "gemma3n.block_count": 22,
		"gemma3n.feed_forward_length": 12, "gemma3n.attention.head_count": 2, "gemma3n.attention.head_count_kv": 1,
		"gemma3n.attention.layer_norm_rms_epsilon": 1e-5, "gemma3n.attention.key_length": 4, "gemma3n.attention.value_length": 4,
		"gemma3n.embedding_length_per_layer_input": 3,
	}
	all := map[string]block{
		"token_embd.weight": blockOf(6, 8), "output_norm.weight": blockOf(8), "altup_proj.weight": blockOf(3, 8, 8), "altup_unembd_proj.weight": blockOf(3, 8, 8),
		"per_layer_token_embd.weight": blockOf(6, 66), "per_layer_model_proj.weight": blockOf(66, 8), "per_layer_proj_norm.weight": blockOf(3),
	}
	for i := range 22 {
		for name, shape := range map[string][]int{
			"attn_norm": {8}, "attn_q": {8, 8}, "attn_output": {8, 8}, "attn_q_norm": {4}, "post_attention_norm": {8}, "attn_k": {4, 8}, "attn_k_norm": {4}, "attn_v": {4, 8},
			"ffn_norm": {8}, "ffn_up": {12, 8}, "ffn_gate": {12, 8}, "ffn_down": {8, 12}, "post_ffw_norm": {8}, "inp_gate": {3, 8}, "proj": {8, 3}, "post_norm": {8},
			"altup_router": {4, 8}, "altup_router_norm": {8}, "altup_predict_coef": {16, 4}, "altup_correct_coef": {4, 4}, "altup_correct_scale": {8},
			"laurel_l": {5, 8}, "laurel_r": {8, 5}, "laurel_post_norm": {8},
		} {
			all[fmt.Sprintf("blk.%d.%s.weight", i, name)] = blockOf(shape...)
		}
	}
	return keys, all
}

// What files lack is what llama.cpp takes for granted: four streams, gates that are cut off in ten
// layers, windows in four of five, and keys and values in twenty.
func TestGGUFGemma3n(t *testing.T) {
	keys, all := ggufGemma3n()
	m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
	checkModel(t, m)
	s := m.Spec
	if m.Type != "gemma3n_text" || m.Name() != "Gemma 3n" || s.Streams != 4 || s.Laurel != 5 || s.LayerInputs != 3 || s.LogitSoftCap != 30 {
		t.Errorf("%s: %+v", m.Type, s)
	}
	for i, kind := range s.Decoder {
		k, sparsity := &s.Kinds[kind], float32(0)
		if i < 10 {
			sparsity = 0.95
		}
		if a := &k.Attention; k.FeedForward.Sparsity != sparsity || (a.Window == 0) != (i%5 == 4) || (a.KVLayer > 0) != (i >= 20) || s.Rotaries[a.Rotary-1].Frequencies[1] != 0.01 {
			t.Errorf("layer %d: %+v", i, k)
		}
	}
	scales := make([]float32, 22)
	for i := range scales {
		scales[i] = float32(math.Inf(-1))
	}
	scales[3] = 0
	keys["gemma3n.activation_sparsity_scale"] = scales
	s = openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m").Spec
	for i, kind := range s.Decoder {
		if got := s.Kinds[kind].FeedForward.Sparsity; got != 0 != (i == 3) || got != 0 && got != 0.5 {
			t.Errorf("layer %d: %v", i, got)
		}
	}
}

func TestHostileGGUFGemma3n(t *testing.T) {
	for _, c := range []struct {
		keys    map[string]any
		tensors map[string]block
		want    string
	}{
		{map[string]any{"altup.num_inputs": 1}, nil, "gemma3n.altup.num_inputs: 1 is not in 2..64"},
		{map[string]any{"altup.active_idx": 1}, nil, "gemma3n.altup.active_idx: 1 is not supported"},
		{map[string]any{"altup.num_inputs": 5}, nil, `tensor "altup_proj.weight": shape [3 8 8], but the configuration has [4 8 8]`},
		{map[string]any{"activation_sparsity_scale": []float32{0}}, nil, "gemma3n.activation_sparsity_scale: 1 values of 22 layers"},
		{map[string]any{"attention.shared_kv_layers": 22}, nil, "gemma3n.attention.shared_kv_layers: no layer of the type of layer 0 has"},
		{map[string]any{"feed_forward_length": []int{12}}, nil, "gemma3n.feed_forward_length: 1 values of 22 layers"},
		{nil, map[string]block{"blk.0.laurel_l.weight": blockOf(8)}, `blk.0.laurel_l.weight": shape [8], but the configuration has [64 8]`},
		{nil, map[string]block{"blk.1.laurel_l.weight": blockOf(4, 8)}, `blk.1.laurel_l.weight": shape [4 8], but the configuration has [5 8]`},
	} {
		keys, all := ggufGemma3n()
		for name, value := range c.keys {
			keys["gemma3n."+name] = value
		}
		maps.Copy(all, c.tensors)
		checkRejected(t, fmt.Sprint(c.keys), fstest.MapFS{"m/x.gguf": gguf(keys, all)}, c.want)
	}
}
