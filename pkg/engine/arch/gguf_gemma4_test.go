package arch_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// ggufGemma4 returns the keys and tensors of a Gemma 4 of four layers, the last two of which read the
// keys and values of the others: a window, full attention whose keys are values, and the same again.
func ggufGemma4() (map[string]any, map[string]block) {
	keys := map[string]any{
		"general.architecture": "gemma4", "gemma4.context_length": 16, "gemma4.embedding_length": 8, "gemma4.block_count": 4,
		"gemma4.feed_forward_length": []int{12, 12, 24, 24}, "gemma4.attention.head_count": 2, "gemma4.attention.head_count_kv": []int{2, 1, 2, 1},
		"gemma4.attention.layer_norm_rms_epsilon": 1e-5, "gemma4.rope.freq_base": 100.0, "gemma4.rope.freq_base_swa": 10.0,
		"gemma4.attention.key_length": 8, "gemma4.attention.value_length": 8, "gemma4.rope.dimension_count": 8,
		"gemma4.attention.key_length_swa": 4, "gemma4.attention.value_length_swa": 4, "gemma4.rope.dimension_count_swa": 4,
		"gemma4.attention.sliding_window": 5, "gemma4.attention.sliding_window_pattern": []bool{true, false, true, false},
		"gemma4.attention.shared_kv_layers": 2, "gemma4.embedding_length_per_layer_input": 3, "gemma4.final_logit_softcapping": 30.0,
		"tokenizer.ggml.model": "gemma4", "tokenizer.ggml.tokens": []string{"<pad>", "<eos>", "<bos>", "<turn|>", "▁", "a"},
		"tokenizer.ggml.token_type": []int{3, 3, 3, 3, 1, 1}, "tokenizer.ggml.merges": []string{}, "tokenizer.ggml.bos_token_id": 2, "tokenizer.ggml.eos_token_id": 1,
	}
	all := map[string]block{
		"token_embd.weight": blockOf(6, 8), "output_norm.weight": blockOf(8), "rope_freqs.weight": factors(2, 1, 1, 1e30),
		"per_layer_token_embd.weight": blockOf(6, 12), "per_layer_model_proj.weight": blockOf(12, 8), "per_layer_proj_norm.weight": blockOf(3),
	}
	for i := range 4 {
		dim, ffn := 4+i%2*4, 12+i/2*12
		for name, shape := range map[string][]int{
			"attn_norm": {8}, "attn_q": {2 * dim, 8}, "attn_output": {8, 2 * dim}, "attn_q_norm": {dim}, "post_attention_norm": {8}, "layer_output_scale": {1},
			"ffn_norm": {8}, "ffn_up": {ffn, 8}, "ffn_gate": {ffn, 8}, "ffn_down": {8, ffn}, "post_ffw_norm": {8}, "inp_gate": {3, 8}, "proj": {8, 3}, "post_norm": {8},
			"attn_k": {8, 8}, "attn_k_norm": {dim}, "attn_v": {8, 8},
		} {
			if (name != "attn_v" || i != 1) && (i != 3 || !strings.HasPrefix(name, "attn_k") && name != "attn_v") { // files may have keys that are not read
				all[fmt.Sprintf("blk.%d.%s.weight", i, name)] = blockOf(shape...)
			}
		}
	}
	return keys, all
}

// Lists of values of each layer, keys and values of other layers, and tensors that a file lacks say
// what layers are. The factors of frequencies are those of full attention.
func TestGGUFGemma4(t *testing.T) {
	keys, all := ggufGemma4()
	m := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
	checkModel(t, m)
	s := m.Spec
	if m.Type != "gemma4_text" || m.Name() != "Gemma 4" || !slices.Equal(m.Start, []int{2}) || !slices.Equal(m.End, []int{1, 3}) || s.LayerInputs != 3 || !s.LayerScale || s.LogitSoftCap != 30 {
		t.Errorf("%s, start %v, end %v, %+v", m.Type, m.Start, m.End, s)
	}
	keys["tokenizer.ggml.suppress_tokens"] = []int{4, 0}
	if got := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m").Suppress; !slices.Equal(got, []int{4, 0}) {
		t.Errorf("suppressed %v", got)
	}
	type layer struct {
		dim, heads, from, window, ffn int
		same                          bool
	}
	var got []layer
	for _, kind := range s.Decoder {
		k := s.Kinds[kind]
		a := &k.Attention
		got = append(got, layer{a.HeadDim, a.KVHeads, a.KVLayer, a.Window, k.FeedForward.Width, a.KeysAsValues})
	}
	if want := []layer{{4, 2, 0, 5, 12, false}, {8, 1, 0, 0, 12, true}, {4, 2, 1, 5, 24, false}, {8, 1, 2, 0, 24, false}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	want := transformer.Frequencies(100, 8)
	want[0], want[3] = want[0]/2, want[3]/1e30
	for i, kind := range s.Decoder {
		f := transformer.Frequencies(10, 4)
		if i%2 == 1 {
			f = want
		}
		if r := s.Rotaries[s.Kinds[kind].Attention.Rotary-1]; !slices.Equal(r.Frequencies, f) {
			t.Errorf("layer %d: %v, want %v", i, r.Frequencies, f)
		}
	}
	maps.Copy(keys, map[string]any{"gemma4.rope.freq_base_swa": 100.0, "gemma4.attention.key_length": 4, "gemma4.attention.value_length": 4, "gemma4.rope.dimension_count": 4})
	for _, i := range []int{1, 3} {
		for name, shape := range map[string][]int{"attn_q": {8, 8}, "attn_output": {8, 8}, "attn_q_norm": {4}} {
			all[fmt.Sprintf("blk.%d.%s.weight", i, name)] = blockOf(shape...)
		}
	}
	all["blk.1.attn_k.weight"], all["blk.1.attn_k_norm.weight"], all["rope_freqs.weight"] = blockOf(4, 8), blockOf(4), factors(2, 1e30)
	s = openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m").Spec
	if f := transformer.Frequencies(100, 4); !slices.Equal(s.Rotaries[1].Frequencies, f) || s.Rotaries[0].Frequencies[0] != f[0]/2 {
		t.Errorf("equal embeddings: %v", s.Rotaries)
	}
}

func TestHostileGGUFGemma4(t *testing.T) {
	type change = map[string]any
	for _, c := range []struct {
		keys    change
		tensors map[string]block
		want    string
	}{
		{change{"feed_forward_length": []int{12}}, nil, "gemma4.feed_forward_length: 1 values of 4 layers"},
		{change{"feed_forward_length": []int{12, 0, 24, 24}}, nil, "gemma4.feed_forward_length: 0, of layer 1, is not in 1.."},
		{change{"feed_forward_length": []int{12, 1 << 30, 24, 24}}, nil, "gemma4.feed_forward_length: 1073741824, of layer 1, is not in 1.."},
		{change{"feed_forward_length": "x"}, nil, "gemma4.feed_forward_length: \"x\" is not a valid integer"},
		{change{"feed_forward_length": nil}, nil, "gemma4.feed_forward_length: missing"},
		{change{"feed_forward_length": 12}, nil, `tensor "blk.2.ffn_up.weight": shape [24 8], but the configuration has [12 8]`},
		{change{"attention.head_count_kv": []int{2, 3, 2, 3}}, nil, "3 key-value heads do not divide 2 attention heads"},
		{change{"attention.head_count_kv": []bool{true, true, true, true}}, nil, "gemma4.attention.head_count_kv: [true,true,true,true] is not a valid list of integers"},
		{change{"attention.head_count_kv": []int{2, 1, 1, 1}}, nil, "or layer 1 is not an earlier one with keys and values like these"},
		{change{"attention.shared_kv_layers": 4}, nil, "gemma4.attention.shared_kv_layers: no layer of the type of layer 0 has"},
		{change{"attention.shared_kv_layers": 3}, nil, "gemma4.attention.shared_kv_layers: no layer of the type of layer 1 has"},
		{change{"attention.sliding_window_pattern": []bool{true}}, nil, "gemma4.attention.sliding_window_pattern: 1 values of 4 layers"},
		{change{"attention.sliding_window_pattern": nil}, nil, "gemma4.attention.sliding_window_pattern: missing"},
		{change{"attention.sliding_window": 0}, nil, "gemma4.attention.sliding_window: 0 is not in 1.."},
		{change{"attention.value_length_swa": 8}, nil, "gemma4.attention.value_length_swa: 8 is not attention.key_length_swa, 4"},
		{change{"attention.key_length": 1 << 30}, nil, "gemma4.attention.key_length: 1073741824 is not in"},
		{change{"rope.dimension_count_swa": 6}, nil, "6 rotary dimensions of heads of 4"},
		{change{"rope.dimension_count": 10}, nil, "gemma4.rope.dimension_count: 10 is not even and at most the width of a head, 8"},
		{change{"embedding_length_per_layer_input": 1 << 17}, nil, `shape [6 12], but the configuration has [6 524288]`},
		{change{"embedding_length_per_layer_input": 0}, nil, `unknown in this architecture`},
		{change{"attn_logit_softcapping": 50.0}, nil, "gemma4.attn_logit_softcapping: 50 is not supported"},
		{change{"expert_count": 8}, nil, "gemma4.expert_feed_forward_length: missing"},
		{change{"expert_count": 8, "expert_feed_forward_length": 4}, nil, "gemma4.expert_used_count: missing"},
		{change{"expert_count": 1 << 30}, nil, "gemma4.expert_count: 1073741824 is not in"},
		{change{"expert_count": 8, "expert_used_count": 9, "expert_feed_forward_length": 4}, nil, "gemma4.expert_used_count: 9 is not in 1..8"},
		{change{"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 0}, nil, "gemma4.expert_feed_forward_length: 0 is not in 1.."},
		{change{"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 4, "expert_gating_func": 2}, nil, "gemma4.expert_gating_func: 2 is not supported"},
		{change{"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 4}, nil, `tensor "blk.0.ffn_gate_inp.weight": missing`},
		{nil, map[string]block{"rope_freqs.weight": factors(1, 1)}, `tensor "rope_freqs.weight": shape [2], but the configuration has [4]`},
		{nil, map[string]block{"blk.0.attn_v.weight": {}}, `tensor "blk.0.attn_v.weight": missing`},
		{nil, map[string]block{"blk.1.attn_k.weight": {}}, `tensor "blk.1.attn_k.weight": missing`},
		{nil, map[string]block{"blk.3.layer_output_scale.weight": {}}, `tensor "blk.3.layer_output_scale.weight": missing`},
		{nil, map[string]block{"per_layer_proj_norm.weight": blockOf(4)}, `tensor "per_layer_proj_norm.weight": shape [4], but the configuration has [3]`},
		{nil, map[string]block{"blk.1.attn_qkv.weight": blockOf(24, 8)}, `tensor "blk.1.attn_qkv.weight": shape [24 8], but the configuration has [32 8]`},
		{nil, map[string]block{"blk.1.attn_qkv.weight": blockOf(32, 8)}, `tensor "blk.1.attn_q.weight": unknown in this architecture`},
	} {
		keys, all := ggufGemma4()
		for name, value := range c.keys {
			if keys["gemma4."+name] = value; value == nil {
				delete(keys, "gemma4."+name)
			}
		}
		for name, b := range c.tensors {
			if all[name] = b; b.shape == nil {
				delete(all, name)
			}
		}
		checkRejected(t, c.want, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, c.want)
	}
}

// Tokens that are suppressed are of the vocabulary, and not many.
func TestHostileGGUFSuppressed(t *testing.T) {
	for want, list := range map[string][]int{
		"tokenizer.ggml.suppress_tokens: token 6 is not below 6": {0, 6}, "tokenizer.ggml.suppress_tokens: 257 tokens, at most 256 are supported": make([]int, 257),
	} {
		keys, all := ggufGemma4()
		keys["tokenizer.ggml.suppress_tokens"] = list
		checkRejected(t, want, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, want)
	}
}

// Files may have the queries, keys and values of a layer in one tensor, as may those that read others' keys
// and values, and experts whose results have no factors.
func TestGGUFGemma4Variants(t *testing.T) {
	compare := func(name string, keys map[string]any, all, other map[string]block) {
		t.Helper()
		ids := []int{2, 5, 4, 5, 5}
		got, want := openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, other)}, "m"), openIn(t, fstest.MapFS{"m/x.gguf": gguf(keys, all)}, "m")
		checkModel(t, got)
		logits := func(m *arch.Model) []float32 {
			model := build(t, m, kernel.Best())
			return must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(len(ids)), Tokens: ids, Logits: len(ids)}}))
		}
		if x, y := logits(got), logits(want); !slices.Equal(x, y) || slices.Max(x) == 0 {
			t.Errorf("%s: %v, want %v", name, x, y)
		}
	}
	keys, all := ggufGemma4()
	other := maps.Clone(all)
	for i := range 4 {
		var parts []block
		for _, name := range []string{"attn_q", "attn_k", "attn_v"} {
			name = fmt.Sprintf("blk.%d.%s.weight", i, name)
			part, ok := other[name]
			if !ok {
				part = parts[len(parts)-1] // keys that are values, or what is not read
				part = block{0, []int{8, 8}, part.data[:8*8*4]}
			}
			parts = append(parts, part)
			delete(other, name)
		}
		both := block{shape: []int{0, 8}}
		for _, part := range parts {
			both.shape[0], both.data = both.shape[0]+part.shape[0], append(both.data, part.data...)
		}
		other[fmt.Sprintf("blk.%d.attn_qkv.weight", i)] = both
	}
	compare("fused", keys, all, other)

	maps.Copy(keys, map[string]any{"gemma4.expert_count": 3, "gemma4.expert_used_count": 2, "gemma4.expert_feed_forward_length": 4})
	for i := range 4 {
		for name, b := range map[string]block{
			"ffn_gate_inp.weight": blockOf(3, 8), "ffn_gate_inp.scale": blockOf(8), "pre_ffw_norm_2.weight": blockOf(8), "post_ffw_norm_1.weight": blockOf(8),
			"post_ffw_norm_2.weight": blockOf(8), "ffn_gate_up_exps.weight": blockOf(3, 8, 8), "ffn_down_exps.weight": blockOf(3, 8, 4), "ffn_down_exps.scale": factors(1, 1, 1),
		} {
			all[fmt.Sprintf("blk.%d.%s", i, name)] = b
		}
	}
	other = maps.Clone(all)
	maps.DeleteFunc(other, func(name string, _ block) bool { return strings.HasSuffix(name, "ffn_down_exps.scale") })
	compare("without factors", keys, all, other)
}
