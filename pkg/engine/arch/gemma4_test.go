package arch_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Configurations of Gemma 4 with unsupported, inconsistent or excessive values.
func TestHostileGemma4(t *testing.T) {
	type list = []string
	const full, sliding = "full_attention", "sliding_attention"
	for _, c := range []hostileConfig{
		{"gemma4", members{"hidden_size_per_layer_input": -1}, "hidden_size_per_layer_input: -1 is not in 0..131072"},
		{"gemma4", members{"hidden_size_per_layer_input": 1 << 40}, "hidden_size_per_layer_input: 1099511627776 is not in"},
		{"gemma4", members{"hidden_size_per_layer_input": 1 << 17, "num_hidden_layers": 1000, "layer_types": nil}, "layer_inputs: 131072 is not in 0..1048"},
		{"gemma4", members{"hidden_size_per_layer_input": 1 << 17}, "shape [64 72], but the configuration has [64 786432]"},
		{"gemma4", members{"hidden_size_per_layer_input": 13}, `tensor "model.embed_tokens_per_layer.weight": shape [64 72], but the configuration has [64 78]`},
		{"gemma4", members{"hidden_size_per_layer_input": 0}, "unknown in this architecture"},
		{"gemma4", members{"vocab_size_per_layer_input": 63}, "vocab_size_per_layer_input: 63 is not vocab_size, 64"},
		{"gemma4", members{"vocab_size_per_layer_input": nil}, "vocab_size_per_layer_input: 262144 is not vocab_size, 64"},
		{"gemma4", members{"num_kv_shared_layers": 4}, "num_kv_shared_layers: no layer of the type of layer 2 has keys and values"},
		{"gemma4", members{"num_kv_shared_layers": 6}, "num_kv_shared_layers: no layer of the type of layer 0 has"},
		{"gemma4", members{"num_kv_shared_layers": 1000}, "num_kv_shared_layers: no layer of the type of layer 0 has"},
		{"gemma4", members{"num_kv_shared_layers": -1}, "num_kv_shared_layers: -1 is not in"},
		{"gemma4", members{"num_kv_shared_layers": 2}, `tensor "layers.3.self_attn.k_proj.weight": missing`},
		{"gemma4", members{"use_double_wide_mlp": false}, `layers.3.mlp.up_proj.weight": shape [40 32], but the configuration has [20 32]`},
		{"gemma4", members{"layer_types": list{full, full}}, "layer_types: 2 types of 6 layers"},
		{"gemma4", members{"layer_types": list{sliding, sliding, "chunked_attention", sliding, sliding, full}}, `layer_types: layer 2 is of type "chunked_attention"`},
		{"gemma4", members{"sliding_window": 0}, "sliding_window: 0 is not in"},
		{"gemma4", members{"enable_moe_block": true}, "num_experts: missing"},
		{"gemma4", members{"enable_moe_block": true, "num_experts": 1 << 30, "top_k_experts": 2, "moe_intermediate_size": 8}, "num_experts: 1073741824 is not in 1..65536"},
		{"gemma4", members{"enable_moe_block": true, "num_experts": 4, "top_k_experts": 5, "moe_intermediate_size": 8}, "top_k_experts: 5 is not in 1..4"},
		{"gemma4", members{"enable_moe_block": true, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 0}, "moe_intermediate_size: 0 is not in 1.."},
		{"gemma4", members{"enable_moe_block": true, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 8}, `tensor "layers.0.router.proj.weight": missing`},
		{"gemma4-experts", members{"enable_moe_block": false}, "unknown in this architecture"},
		{"gemma4-experts", members{"num_experts": 5}, `router.proj.weight": shape [6 32], but the configuration has [5 32]`},
		{"gemma4-experts", members{"moe_intermediate_size": 19}, `experts.gate_up_proj": shape [6 40 32], but the configuration has [6 38 32]`},
		{"gemma4", members{"use_bidirectional_attention": "all"}, `use_bidirectional_attention: "all" is not supported`},
		{"gemma4", members{"per_layer_config": members{"6": members{}}}, "per_layer_config.6: there is no such layer"},
		{"gemma4", members{"per_layer_config": members{"x": members{}}}, "per_layer_config.x: there is no such layer"},
		{"gemma4", members{"per_layer_config": members{"2": members{"head_dim": 16}}}, "decoder[5]: kinds[3].attention.kv_layer: there is an encoder, or layer 3 is not an earlier one with keys and values like these"},
		{"gemma4", members{"per_layer_config": members{"2": members{"head_dim": 1 << 30}}}, "per_layer_config.2.head_dim: 1073741824 is not in"},
		{"gemma4", members{"per_layer_config": members{"2": members{"intermediate_size": 3}}}, "per_layer_config.2.intermediate_size: it is the same in all layers that are supported"},
		{"gemma4", members{"per_layer_config": nil}, `q_proj.weight": shape [64 32], but the configuration has [2048 32]`},
		{"gemma4", members{"rope_parameters": members{full: members{"rope_type": "proportional", "rope_theta": 5}}}, "rope_parameters.sliding_attention: missing"},
		{"gemma4", members{"rope_parameters": members{full: members{"rope_type": "proportional"}, sliding: members{"rope_theta": 5}}}, "rope_parameters.full_attention.rope_theta: missing"},
		{"gemma4", members{"rope_parameters": members{full: members{"rope_type": "default", "partial_rotary_factor": 0.5}, sliding: members{"rope_theta": 5}}}, "rope_parameters.full_attention.partial_rotary_factor: only a proportional"},
		{"gemma4", members{"rope_parameters": members{full: members{"rope_type": "mystical"}, sliding: members{"rope_theta": 5}}}, `rope_parameters.full_attention.rope_type: "mystical" is not supported`},
		{"gemma4", members{"model_type": "gemma4"}, "m/config.json: text_config: missing"},
		{"gemma4", members{"model_type": "gemma4", "text_config": 3}, "text_config: 3 is not a valid object"},
		{"gemma4-keys", members{"attention_k_eq_v": false}, `tensor "layers.1.self_attn.v_proj.weight": missing`},
		{"gemma4-keys", members{"num_key_value_heads": 3}, "kv_heads: 3 key-value heads do not divide 4 attention heads"},
		{"gemma4-keys", members{"head_dim": 13}, "rotary dimensions: 1 of heads of 13 are 13"},
	} {
		c.check(t)
	}
}

// What configurations leave out is what transformers adds: an embedding that rotates a quarter of the
// pairs of full attention, a window in five of six layers but never in the last, and wider heads.
func TestGemma4Defaults(t *testing.T) {
	fsys := bare(t, "gemma4")
	want := openIn(t, fsys, "m").Spec
	types := slices.Repeat([]string{"sliding_attention"}, 6)
	types[2] = "full_attention"
	set(t, fsys, "config.json", members{"layer_types": types}) // the last is not of this type
	if got := openIn(t, fsys, "m").Spec; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	dense := bare(t, "gemma4-keys")
	set(t, dense, "config.json", members{"hidden_size_per_layer_input": json.RawMessage("null")})
	if s := openIn(t, dense, "m").Spec; s.LayerInputs != 0 {
		t.Errorf("%d inputs of each layer, where null is none", s.LayerInputs)
	}
	set(t, fsys, "config.json", members{"rope_parameters": nil})
	s := openIn(t, fsys, "m").Spec
	sliding, full := &s.Rotaries[0], &s.Rotaries[1]
	if !slices.Equal(sliding.Frequencies, transformer.Frequencies(10000, 8)) {
		t.Errorf("windows: %v", sliding.Frequencies)
	}
	f := transformer.Frequencies(1e6, 16)
	if !slices.Equal(full.Frequencies[:2], f[:2]) || slices.Max(full.Frequencies[2:]) != 0 || len(full.Frequencies) != 8 {
		t.Errorf("full attention: %v", full.Frequencies)
	}
}

// A model of type gemma4 is that of its text: what else it has is not read, as are keys and values of
// layers that read those of others.
func TestGemma4Within(t *testing.T) {
	fsys := checkWithin(t, "gemma4", "Gemma 4", "model.vision_tower.encoder.x")
	checkTextAdapters(t, fsys, "model.audio_tower.layers.0.ffw.linear", "model.", "model.language_model.")
	tensors(t, fsys, func(all map[string]stored) { all["model.projector.weight"] = numbers(0, 3) })
	checkRejected(t, "another part", fsys, `tensor "model.projector.weight": unknown in this architecture`)
}

// checkWithin opens a golden as a part of a model that also sees and hears, which is the same as its text
// alone. Tensors of what sees, and keys of a layer that reads those of another, are passed over.
func checkWithin(t *testing.T, kind, name, seeing string) fstest.MapFS {
	t.Helper()
	g, fsys := openGolden(t, kind, "golden.safetensors"), bare(t, kind)
	plain := openIn(t, fsys, "m")
	var text members
	if err := json.Unmarshal(fsys["m/config.json"].Data, &text); err != nil {
		t.Fatal(err)
	}
	outer := members{"model_type": kind, "text_config": text, "vision_config": members{"model_type": kind + "_vision"}, "eos_token_id": []int{2, 5}}
	for name := range text {
		if outer[name] == nil {
			outer[name] = nil
		}
	}
	delete(text, "eos_token_id")
	set(t, fsys, "config.json", outer)
	delete(fsys, "m/generation_config.json")
	tensors(t, fsys, func(all map[string]stored) {
		for name, tensor := range maps.Clone(all) {
			if rest, ok := strings.CutPrefix(name, "model."); ok {
				all["model.language_model."+rest] = tensor
				delete(all, name)
			}
		}
		all[seeing], all["model.audio_tower.y.weight"] = numbers(0, 3), numbers(1, 2)
		all["model.embed_vision.z"], all["model.embed_audio.z"] = numbers(0, 3), numbers(1, 2)
		all["model.language_model.layers.5.self_attn.k_proj.weight"] = numbers(0, 3)
		all["model.language_model.layers.5.self_attn.k_norm.weight"] = numbers(0, 3)
	})
	m := openIn(t, fsys, "m")
	if m.Name() != name || m.Type != kind || !reflect.DeepEqual(m.Spec, plain.Spec) || !slices.Equal(m.End, []int{2, 5}) {
		t.Errorf("%s, %s, ends %v: %+v", m.Name(), m.Type, m.End, m.Spec)
	}
	if d := g.check("logits", logits(g, build(t, m, kernel.Best()))); d > tolerance {
		t.Errorf("logits are %v away", d)
	}
	return fsys
}

// Layers that read the keys and values of others keep none: two of six have all tokens, one has a ring.
func TestGemma4Cache(t *testing.T) {
	m := build(t, open(t, "gemma4"), kernel.Best())
	bytes := func(tokens, dim int) int64 { // of both heads
		keys, values := kernel.KVLen(kernel.KVF32, tokens, dim)
		return 2 * 4 * int64(keys+values)
	}
	if got, want := m.CacheBytes(512), bytes(512, 8)+bytes(512, 16)+bytes(128, 8); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if !m.HasRings() || m.RingTokens() != 128 {
		t.Errorf("rings of %d tokens", m.RingTokens())
	}
}

// Tokens that no text has are those of generation_config.json, and stay so in a packed model.
func TestSuppressed(t *testing.T) {
	for raw, want := range map[string][]int{`{}`: nil, `{"suppress_tokens":null}`: nil, `{"suppress_tokens":[3,5]}`: {3, 5}} {
		fsys := bare(t, "gemma4")
		fsys["m/generation_config.json"] = &fstest.MapFile{Data: []byte(raw)}
		m := openIn(t, fsys, "m")
		var b checkpointtest.File
		if err := arch.Pack(&b, m, kernel.Best(), transformer.Stored, func(int64, int64) error { return nil }); err != nil {
			t.Fatal(err)
		}
		packed := must(arch.Open(fstest.MapFS{"m.safetensors": {Data: b.Data}}, "m.safetensors"))
		if !slices.Equal(m.Suppress, want) || !slices.Equal(packed.Suppress, want) {
			t.Errorf("%s: %v, packed %v", raw, m.Suppress, packed.Suppress)
		}
	}
	fsys := bare(t, "gemma4")
	fsys["m/generation_config.json"] = &fstest.MapFile{Data: []byte(`{"suppress_tokens":[64]}`)}
	checkRejected(t, "beyond", fsys, "suppress_tokens: token 64 is not below vocab_size, 64")
}
