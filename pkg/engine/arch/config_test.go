package arch_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

type members = map[string]any

// A hostileConfig changes a model's config.json, which is rejected for a reason then.
type hostileConfig struct {
	model   string
	changes members
	want    string
}

func (c *hostileConfig) check(t *testing.T) {
	t.Helper()
	fsys := bare(t, c.model)
	set(t, fsys, "config.json", c.changes)
	checkRejected(t, fmt.Sprint(c.model, c.changes), fsys, c.want)
}

// A config.json with unsupported or excessive values.
func TestHostileConfigs(t *testing.T) {
	huge := strings.Repeat("9", 400)
	for _, c := range []hostileConfig{
		{"gpt2", members{"n_embd": -1}, "config.json: n_embd: -1 is not in 1..131072"},
		{"gpt2", members{"n_embd": 0}, "n_embd: 0 is not in"},
		{"gpt2", members{"n_embd": 1 << 40}, "n_embd: 1099511627776 is not in"},
		{"gpt2", members{"n_embd": 24.5}, "n_embd: 24.5 is not a valid integer"},
		{"gpt2", members{"n_embd": "24"}, `n_embd: "24" is not a valid integer`},
		{"gpt2", members{"n_embd": []int{24}}, "n_embd: [24] is not a valid integer"},
		{"gpt2", members{"n_embd": fmt.Sprint(huge)}, "n_embd: "},
		{"gpt2", members{"n_layer": 1001}, "n_layer: 1001 is not in 1..1000"},
		{"gpt2", members{"n_layer": 1000}, `tensor "h.2.ln_1.weight": missing`},
		{"gpt2", members{"n_layer": 1}, "unknown in this architecture"},
		{"gpt2", members{"n_head": 5}, "n_head: 5 does not divide the width, "},
		{"gpt2", members{"n_head": 1 << 20}, "n_head: 1048576 is not in"},
		{"gpt2", members{"vocab_size": 1 << 22}, "vocab_size: 4194304 is not in"},
		{"gpt2", members{"vocab_size": 1 << 21}, `but the configuration has [2097152 `},
		{"gpt2", members{"vocab_size": 97}, `but the configuration has [97 `},
		{"gpt2", members{"n_positions": 1 << 25}, "n_positions: 33554432 is not in"},
		{"gpt2", members{"n_positions": 255}, `tensor "wpe.weight": shape `},
		{"gpt2", members{"n_inner": 95}, `tensor "h.0.mlp.c_fc.weight": shape `},
		{"gpt2", members{"n_inner": 1 << 21}, "n_inner: 2097152 is not in"},
		{"gpt2", members{"layer_norm_epsilon": -1e-5}, "layer_norm_epsilon: -1e-05 is not in"},
		{"gpt2", members{"layer_norm_epsilon": true}, "layer_norm_epsilon: true is not a valid number"},
		{"gpt2", members{"activation_function": "mish"}, `activation_function: "mish" is not supported`},
		{"gpt2", members{"scale_attn_weights": false}, "scale_attn_weights: false is not supported, only true"},
		{"gpt2", members{"scale_attn_by_inverse_layer_idx": 1}, "scale_attn_by_inverse_layer_idx: 1 is not a valid boolean"},
		{"gpt2", members{"add_cross_attention": true}, "add_cross_attention: true is not supported"},
		{"gpt2", members{"quantization_config": 4}, "quantization_config: 4 is not a valid object"},
		{"gpt2", members{"model_type": "plamo2"}, `model_type: "plamo2" is not supported: it needs state-space layers`},
		{"gpt2", members{"model_type": "elephant"}, `model_type: "elephant" is not supported, only afmoe, albert, apertus, arcee, bamba, bart`},
		{"gpt2", members{"model_type": nil}, "no model_type"},
		{"gpt2", members{"model_type": nil, "modelConfig": members{}}, "no model_type: the configuration of a training run of Alpha"},
		{"gpt2", members{"model_type": 2}, "model_type: 2 is not a valid string"},
		{"gptj", members{"rotary_dim": 7}, "rotary_dim: 7 is not even"},
		{"gptj", members{"rotary_dim": 4096}, "rotary_dim: 4096 is not even and at most the width of a head, "},
		{"gptj", members{"rotary": false}, "rotary: false is not supported"},
		{"gpt_neox", members{"rope_parameters": members{"partial_rotary_factor": 0.1}}, "rotary dimensions: 0.1 of heads of 16 are 1"},
		{"gpt_neox", members{"rope_parameters": members{"partial_rotary_factor": 1.5}}, "rope_parameters.partial_rotary_factor: 1.5 is not in 0..1"},
		{"gpt_neox", members{"attention_bias": false}, "unknown in this architecture"},
		{"gpt_neox", members{"num_attention_heads": 3}, "num_attention_heads: 3 does not divide the width, "},
		{"xglm", members{"pad_token_id": 5}, "pad_token_id: 5: the position of that row"},
		{"xglm", members{"scale_embedding": "yes"}, `scale_embedding: "yes" is not a valid boolean`},
		{"llama", members{"num_key_value_heads": 3}, "3 key-value heads do not divide 4 attention heads"},
		{"llama", members{"num_key_value_heads": 8}, "8 key-value heads do not divide 4"},
		{"llama", members{"head_dim": 7}, "rotary dimensions: 1 of heads of 7 are 7"},
		{"llama", members{"head_dim": 1 << 30}, "head_dim: 1073741824 is not in"},
		{"llama", members{"head_dim": 16}, `tensor "model.layers.0.self_attn.q_proj.weight": shape`},
		{"llama", members{"hidden_act": nil, "attention_bias": true}, `tensor "layers.0.self_attn.q_proj.bias": missing`},
		{"llama", members{"mlp_bias": true}, `tensor "layers.0.mlp.up_proj.bias": missing`},
		{"llama", members{"rope_parameters": members{"rope_type": "yarn"}}, "rope_parameters.factor: missing"},
		{"llama", members{"rope_parameters": nil, "rope_scaling": members{"type": "ntk", "factor": 2}}, `rope_scaling.type: "ntk" is not supported, only default`},
		{"llama", members{"rope_parameters": nil, "rope_scaling": members{"rope_type": "longrope"}}, "rope_scaling.short_factor: missing"},
		{"llama", members{"rope_parameters": members{"rope_type": "linear"}}, "rope_parameters.factor: missing"},
		{"llama", members{"rope_parameters": members{"rope_type": "linear", "factor": 0}}, "rope_parameters.factor: 0 is not in"},
		{"llama", members{"rope_parameters": members{"rope_type": "llama3", "factor": 8}}, "rope_parameters.low_freq_factor: missing"},
		{"llama", members{"rope_parameters": members{"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}}, "is not below high_freq_factor"},
		{"llama", members{"rope_parameters": members{"partial_rotary_factor": 0.5}}, "partial_rotary_factor: partial rotary embeddings"},
		{"llama", members{"rope_parameters": members{"rope_theta": 0}}, "rope_parameters.rope_theta: 0 is not in"},
		{"llama", members{"rope_parameters": members{"full_attention": members{"rope_theta": 5}}}, "rope_parameters.full_attention: one rotary embedding for some layers"},
		{"llama", members{"rope_parameters": 4}, "rope_parameters: 4 is not a valid object"},
		{"m2m_100", members{"encoder_layers": 0}, "encoder_layers: 0 is not in"},
		{"m2m_100", members{"encoder_attention_heads": 7}, "encoder_attention_heads: 7 does not divide the width, "},
		{"opt-350m", members{"word_embed_proj_dim": 21}, `tensor "model.decoder.embed_tokens.weight": shape [48 20]`},
		{"opt-350m", members{"word_embed_proj_dim": -1}, "word_embed_proj_dim: -1 is not in 1.."},
		{"cohere", members{"logit_scale": 0}, "logit_scale: 0 is not in "},
		{"cohere", members{"use_qk_norm": true}, `tensor "layers.0.self_attn.q_norm.weight": missing`},
		{"cohere2", members{"sliding_window": 0}, "sliding_window: missing: layer 0 is of type sliding_attention"},
		{"cohere2", members{"layer_types": []string{"linear_attention"}}, "layer_types: 1 types of 5 layers"},
		{"exaone4", members{"layer_types": nil, "sliding_window_pattern": "LLLG"}, `sliding_window_pattern: "LLLG" is not supported without layer_types`},
		{"minicpm", members{"num_experts": 8}, "num_experts: 8 experts are not supported in this architecture"},
		{"phi", members{"qk_layernorm": true}, "qk_layernorm: true is not supported, only false"},
		{"starcoder2", members{"hidden_act": "xielu"}, `hidden_act: "xielu" is not supported`},
		{"m2m_100", members{"pad_token_id": 2}, "pad_token_id: 2 is not supported, only 1"},
		{"m2m_100", members{"tie_word_embeddings": false}, "tie_word_embeddings: false is not supported"},
		{"m2m_100", members{"decoder_layers": 4}, `tensor "decoder.layers.3.self_attn_layer_norm.weight": missing`},
	} {
		c.check(t)
	}
}

// The same of layers with convolutions and states, and of translators.
func TestHostileMixers(t *testing.T) {
	for _, c := range []hostileConfig{
		{"lfm2", members{"conv_L_cache": 65}, "conv_L_cache: 65 is not in 1..64"},
		{"lfm2", members{"conv_L_cache": 4}, `tensor "model.layers.0.conv.conv.weight": shape [32 1 3], but the configuration has [32 1 4]`},
		{"lfm2", members{"layer_types": []string{"conv", "conv"}}, "layer_types: 2 types of 4 layers"},
		{"lfm2", members{"layer_types": []string{"conv", "mamba", "conv", "conv"}}, `layer_types: layer 1 is of type "mamba"; only conv and full_attention`},
		{"lfm2", members{"layer_types": []string{"conv", "full_attention", "conv", "conv"}}, `tensor "layers.1.self_attn.q_proj.weight": missing`},
		{"lfm2", members{"block_multiple_of": 0}, "block_multiple_of: 0 is not in"},
		{"lfm2_moe", members{"num_experts": 7}, `feed_forward.gate.weight": shape [6 32], but the configuration has [7 32]`},
		{"lfm2_moe", members{"num_dense_layers": 0}, `missing`},
		{"lfm2_moe", members{"routed_scaling_factor": 0}, "routed_scaling_factor: 0 is not in"},
		{"glm4_moe", members{"n_group": 2}, "n_group: 2 is not supported, only 1"},
		{"glm4_moe", members{"n_shared_experts": 1 << 20}, "n_shared_experts: 1048576 is not in 0.."},
		{"glm4_moe", members{"num_experts_per_tok": 7}, "num_experts_per_tok: 7 is not in 1..6"},
		{"glm4_moe", members{"first_k_dense_replace": 0}, `tensor "layers.0.mlp.gate.weight": missing`},
		{"glm4_moe", members{"use_qk_norm": true}, `tensor "layers.0.self_attn.q_norm.weight": missing`},
		{"glm4_moe", members{"num_hidden_layers": 2}, `tensor "model.layers.2.`},
		{"dots1", members{"topk_group": 2}, "topk_group: 2 is not supported, only 1"},
		{"dots1", members{"n_routed_experts": 7}, `mlp.gate.weight": shape [6 32], but the configuration has [7 32]`},
		{"dots1", members{"layer_types": slices.Repeat([]string{"sliding_attention"}, 3), "sliding_window": json.RawMessage("null")}, "sliding_window: missing"},
		{"exaone_moe", members{"mlp_layer_types": []string{"dense"}}, "mlp_layer_types: 1 types of 4 layers"},
		{"exaone_moe", members{"mlp_layer_types": slices.Repeat([]string{"moe"}, 4)}, `mlp_layer_types: layer 0 is of type "moe"; only sparse and dense`},
		{"exaone_moe", members{"routed_scaling_factor": nil}, "routed_scaling_factor: missing"},
		{"solar_open", members{"n_group": 2}, "n_group: 2 is not supported, only 1"},
		{"solar_open", members{"attention_bias": true}, `tensor "layers.0.self_attn.q_proj.bias": missing`},
		{"minimax_m2", members{"rope_parameters": nil, "rotary_dim": 17}, "rotary_dim: 17 is not in 1..16"},
		{"minimax_m2", members{"shared_intermediate_size": 8}, "shared_intermediate_size: 8 is not supported, only 0"},
		{"hunyuan_v1_moe", members{"moe_topk": []int{2}}, "moe_topk: 1 values of 2 layers"},
		{"hunyuan_v1_moe", members{"moe_topk": []int{2, 7}}, "moe_topk: 7 of layer 1 is not in 1..6"},
		{"hunyuan_v1_moe", members{"moe_topk": "2"}, `moe_topk: "2" is not a valid integer`},
		{"hunyuan_v1_moe", members{"moe_topk": []string{"2"}}, `moe_topk: ["2"] is not a valid list of integers`},
		{"hunyuan_v1_moe", members{"num_shared_expert": 1 << 20}, "num_shared_expert: 1048576 is not in 1.."},
		{"hunyuan_v1_moe", members{"moe_intermediate_size": []int{48, 40}}, `mlp.experts.0.up_proj.weight": shape [48 32], but the configuration has [40 32]`},
		{"hunyuan_v1_moe", members{"moe_layer_num_skipped": 1}, "moe_layer_num_skipped: 1 is not supported, only 0"},
		{"ernie4_5_moe", members{"moe_num_experts": []int{6, 6}}, "moe_num_experts: [6,6] is not a valid integer"},
		{"ernie4_5_moe", members{"moe_k": 0}, "moe_k: 0 is not in 1..6"},
		{"ernie4_5_moe", members{"moe_layer_interval": 0}, "moe_layer_interval: 0 is not in"},
		{"ernie4_5_moe", members{"moe_norm_min": 0.1}, "moe_norm_min: 0.1 is not in"},
		{"ernie4_5_moe", members{"use_bias": true}, `.bias": missing`},
		{"granite4-states", members{"mamba_n_heads": 5}, "mamba_d_head: 5 heads of 16 are not 64 inputs"},
		{"granite4-states", members{"mamba_n_groups": 3}, "states.groups: 3 do not divide 4 heads"},
		{"granite4-states", members{"mamba_d_state": 1 << 20}, "mamba_d_state: 1048576 is not in"},
		{"granite4-states", members{"mamba_d_state": 9}, `tensor "model.layers.0.mamba.in_proj.weight": shape`},
		{"granite4-states", members{"mamba_expand": 1 << 40}, "mamba_expand: 1099511627776 is not in"},
		{"granite4-states", members{"time_step_limit": []float64{0, 0.1}}, "time_step_limit: "},
		{"granite4-states", members{"layer_types": []string{"rwkv", "mamba", "mamba", "mamba"}}, `layer_types: layer 0 is of type "rwkv"; only mamba and attention`},
		{"falcon_h1", members{"mamba_d_ssm": nil}, "mamba_d_head: 4 heads of 12 are not 1024 inputs"},
		{"falcon_h1", members{"ssm_multipliers": []float64{1, 2}}, "ssm_multipliers: 2 numbers, 5 are needed"},
		{"falcon_h1", members{"mlp_multipliers": []float64{1, 0}}, "mlp_multipliers: 0 is not in"},
		{"falcon_h1", members{"key_multiplier": -1}, "key_multiplier: -1 is not in"},
		{"falcon_h1", members{"hidden_act": "gelu"}, `hidden_act: "gelu" is not supported`},
		{"falcon_h1", members{"mamba_rms_norm": true}, `tensor "layers.0.mamba.norm.weight": missing`},
		{"falcon_h1-gated", members{"mamba_rms_norm": nil}, `mamba.norm.weight": unknown in this architecture`},
		{"falcon_h1", members{"projectors_bias": true}, `tensor "layers.0.mamba.out_proj.bias": missing`},
		{"bamba", members{"attn_layer_indices": []int{3}}, "attn_layer_indices: there is no layer 3"},
		{"bamba", members{"attn_layer_indices": nil}, `tensor "layers.1.mamba.in_proj.weight": missing`},
		{"bamba-biased", members{"num_key_value_heads": nil}, "kv_heads: 8 key-value heads do not divide 3 attention heads"},
		{"mamba2", members{"expand": 3}, "head_dim: 4 heads of 16 are not 96 inputs"},
		{"mamba2", members{"n_groups": nil}, "states.groups: 8 do not divide 4 heads"},
		{"qwen3_5", members{"linear_num_key_heads": 4}, "linear_num_key_heads: 4 do not divide linear_num_value_heads, 6"},
		{"qwen3_5", members{"linear_num_key_heads": 1 << 20}, "linear_num_key_heads: 1048576 is not in 1..4096"},
		{"qwen3_5", members{"linear_key_head_dim": 1 << 17, "linear_value_head_dim": 1 << 17}, "deltas: 6 heads of 131072 with keys of 131072 in 2 heads are too many"},
		{"qwen3_5", members{"linear_value_head_dim": 11}, `in_proj_z.weight": shape [72 32], but the configuration has [66 32]`},
		{"qwen3_5", members{"linear_conv_kernel_dim": 5}, `conv1d.weight": shape [104 1 4], but the configuration has [104 1 5]`},
		{"qwen3_5", members{"layer_types": []string{"linear_attention"}}, "layer_types: 1 types of 4 layers"},
		{"qwen3_5", members{"layer_types": []string{"mamba", "", "", ""}}, `layer_types: layer 0 is of type "mamba"; only linear_attention and full_attention`},
		{"qwen3_5", members{"layer_types": nil, "full_attention_interval": 0}, "full_attention_interval: 0 is not in"},
		{"qwen3_5", members{"layer_types": nil, "full_attention_interval": 2}, `tensor "layers.1.self_attn.q_proj.weight": missing`},
		{"qwen3_5", members{"hidden_act": "gelu"}, `hidden_act: "gelu" is not supported`},
		{"qwen3_5", members{"head_dim": 24}, `q_proj.weight": shape [128 32], but the configuration has [192 32]`},
		{"qwen3_5", members{"head_dim": 12}, "rotary dimensions: 0.25 of heads of 12 are 3"},
		{"qwen3_5-pictures", members{"text_config": nil}, "text_config: missing"},
		{"qwen3_5-pictures", members{"quantization_config": members{"quant_method": "exl2"}}, "quantization_config.quant_method: "},
		{"qwen3_next", members{"linear_num_value_heads": 4}, `in_proj_qkvz.weight": shape [176 32], but the configuration has [128 32]`},
		{"marian", members{"share_encoder_decoder_embeddings": false}, "share_encoder_decoder_embeddings: false is not supported"},
		{"marian", members{"decoder_vocab_size": 30}, "decoder_vocab_size: 30 is not vocab_size, 37"},
		{"marian", members{"normalize_before": true}, "normalize_before: true is not supported"},
		{"t5", members{"feed_forward_proj": "gated-tanh"}, `feed_forward_proj: "gated-tanh" is not supported, only relu, gated-gelu and gated-silu`},
		{"t5", members{"feed_forward_proj": "gated-gelu"}, `tensor "encoder.block.0.layer.1.DenseReluDense.wi_1.weight": missing`},
		{"t5", members{"is_encoder_decoder": false}, "is_encoder_decoder: false is not supported"},
		{"t5", members{"relative_attention_num_buckets": 6}, "relative_buckets: 6 is not a positive multiple of 4"},
		{"t5", members{"relative_attention_num_buckets": 12}, `relative_attention_bias.weight": shape [32 2], but the configuration has [12 2]`},
		{"t5", members{"relative_attention_max_distance": 16}, "relative_distance: 16 is not greater than 16, half of the buckets"},
		{"t5", members{"d_kv": 1 << 40}, "d_kv: 1099511627776 is not in"},
		{"t5", members{"num_heads": 3}, `relative_attention_bias.weight": shape [32 2], but the configuration has [32 3]`},
		{"t5", members{"num_decoder_layers": 4}, `tensor "decoder.block.2.layer.0.`},
		{"t5", members{"decoder_start_token_id": 60}, "decoder_start_token_id: token 60 is not below vocab_size, 60"},
	} {
		c.check(t)
	}
}

// Values missing in a configuration of Qwen3.5: every fourth layer has attention, which rotates a quarter
// of each head.
func TestQwen35Defaults(t *testing.T) {
	fsys := bare(t, "qwen3_5")
	set(t, fsys, "config.json", members{"layer_types": nil, "rope_parameters": members{"rope_theta": 1000}})
	s := openIn(t, fsys, "m").Spec
	var recurrent []bool
	for _, kind := range s.Decoder {
		recurrent = append(recurrent, s.Kinds[kind].Deltas != nil)
	}
	if want := []bool{true, true, true, false}; !slices.Equal(recurrent, want) || s.Rotaries[0].Dims != 4 {
		t.Errorf("layers with deltas: %v; %d of 16 dimensions are rotated", recurrent, s.Rotaries[0].Dims)
	}
}

// The tokens of generation_config.json take precedence over those of config.json, and
// those over the defaults of an architecture.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		config, generation members
		end                string
		empty              int
		err                string
	}{
		{members{"eos_token_id": 3, "bos_token_id": 4}, members{"eos_token_id": []int{5, 6}, "bos_token_id": 7}, "[5 6]", 7, ""},
		{members{"eos_token_id": 3, "bos_token_id": 4}, members{"eos_token_id": nil, "bos_token_id": nil}, "[3]", 4, ""},
		{members{"eos_token_id": 3, "bos_token_id": nil}, members{"eos_token_id": nil, "bos_token_id": nil}, "[3]", 3, ""},
		{members{"eos_token_id": nil, "bos_token_id": nil}, members{"eos_token_id": nil, "bos_token_id": nil}, "[]", 0, ""}, // 50256 is not one of 96
		{nil, members{"eos_token_id": 96}, "", 0, "m/generation_config.json: eos_token_id: token 96 is not below vocab_size, 96"},
		{nil, members{"eos_token_id": []int{1, -1}}, "", 0, "eos_token_id: token -1 is not below"},
		{nil, members{"eos_token_id": "x"}, "", 0, `eos_token_id: "x" is not a token`},
		{nil, members{"eos_token_id": make([]int, 1000)}, "", 0, "is not a list of at most 256 tokens"},
		{members{"eos_token_id": 3, "bos_token_id": 96}, members{"eos_token_id": nil, "bos_token_id": nil}, "", 0, "m/config.json: bos_token_id: token 96"},
	} {
		fsys := tiny(t, "gpt2", 96)
		set(t, fsys, "config.json", c.config)
		set(t, fsys, "generation_config.json", c.generation)
		if c.err != "" {
			checkRejected(t, fmt.Sprint(c), fsys, c.err)
			continue
		}
		if m := openIn(t, fsys, "m"); fmt.Sprint(m.End) != c.end || m.Empty != c.empty {
			t.Errorf("%v: end %v, empty %d", c, m.End, m.Empty)
		}
	}
}

// Values missing in a configuration are those of the published models, not the class's
// defaults, which are 2.
func TestNeoXEnd(t *testing.T) {
	fsys, absent := bare(t, "gpt_neox"), map[string]any{"eos_token_id": nil, "bos_token_id": nil}
	set(t, fsys, "config.json", absent)
	set(t, fsys, "generation_config.json", absent)
	if m := openIn(t, fsys, "m"); !slices.Equal(m.End, []int{0}) || m.Empty != 0 {
		t.Errorf("end %v, empty %d", m.End, m.Empty)
	}
}

func TestTranslation(t *testing.T) {
	fsys := bare(t, "m2m_100")
	want := arch.Translation{Search: arch.Search{Beams: 5, MaxLength: 200, LengthPenalty: 1, EarlyStopping: arch.StopTrue}, DecoderStart: 2, End: 2}
	if m := openIn(t, fsys, "m"); !reflect.DeepEqual(*m.Translation, want) {
		t.Errorf("%+v, want %+v", *m.Translation, want)
	}
	set(t, fsys, "generation_config.json", members{
		"num_beams": 3, "max_length": 1000, "length_penalty": 1.5, "early_stopping": "never", "bos_token_id": 0, "decoder_start_token_id": 4, "eos_token_id": 5,
		"forced_eos_token_id": 5, "bad_words_ids": [][]int{{4}, {5}, {7}, {4, 7}}, "min_length": 6, "no_repeat_ngram_size": 3, "encoder_no_repeat_ngram_size": 4,
		"repetition_penalty": 1.2,
	})
	want = arch.Translation{DecoderStart: 4, End: 5, Search: arch.Search{
		Beams: 3, MaxLength: 256, LengthPenalty: 1.5, EarlyStopping: arch.StopNever, ForcedEnd: true, Suppressed: []int{4, 7}, Unwanted: [][]int{{4, 7}},
		MinLength: 6, NoRepeat: 3, NoCopy: 4, RepetitionPenalty: 1.2,
	}}
	if m := openIn(t, fsys, "m"); !reflect.DeepEqual(*m.Translation, want) {
		t.Errorf("%+v, want %+v", *m.Translation, want)
	}
	for key, value := range (members{
		"num_beams": 0, "max_length": 1, "length_penalty": "x", "early_stopping": "later", "decoder_start_token_id": 160,
		"no_repeat_ngram_size": -1, "do_sample": true, "forced_eos_token_id": 3, "num_beam_groups": 2, "bad_words_ids": [][]int{{}}, "repetition_penalty": 0,
		"encoder_repetition_penalty": 1.2, "min_new_tokens": -1, "sequence_bias": [][]any{{[]int{3}, 1.5}},
	}) {
		fsys := bare(t, "m2m_100")
		set(t, fsys, "generation_config.json", members{key: value})
		checkRejected(t, key, fsys, "m/generation_config.json: "+key+": ")
	}
	fsys = bare(t, "m2m_100")
	delete(fsys, "m/generation_config.json")
	set(t, fsys, "config.json", members{"num_beams": 2, "early_stopping": false, "no_repeat_ngram_size": 0})
	if m := openIn(t, fsys, "m"); m.Translation.Beams != 2 || m.Translation.EarlyStopping != arch.StopFalse {
		t.Errorf("%+v", *m.Translation)
	}
}

// Tensors that are missing, of another shape or type, or unused.
func TestHostileTensors(t *testing.T) {
	for _, c := range []struct {
		model, what string
		change      func(map[string]stored)
		want        string
	}{
		{"llama", "missing", func(all map[string]stored) { delete(all, "model.norm.weight") }, `checkpoint m/model.safetensors: tensor "norm.weight": missing`},
		{"llama", "extra", func(all map[string]stored) { all["score.weight"] = numbers(0, 2, 32) }, `checkpoint m/model.safetensors: tensor "score.weight": unknown`},
		{"llama", "no buffer", func(all map[string]stored) { all["model.layers.x.self_attn.rotary_emb.inv_freq"] = numbers(0, 4) }, "unknown in this architecture"},
		{"llama", "shape", func(all map[string]stored) { all["model.norm.weight"] = numbers(0, 31) }, `tensor "model.norm.weight": shape [31], but the configuration has [32]`},
		{"llama", "rank", func(all map[string]stored) { all["model.norm.weight"] = numbers(0, 1, 32) }, `shape [1 32], but the configuration has [32]`},
		{"llama", "transposed", func(all map[string]stored) { all["model.layers.0.mlp.up_proj.weight"] = numbers(0, 32, 96) }, `shape [32 96], but the configuration has [96 32]`},
		{"llama", "type", func(all map[string]stored) { all["model.norm.weight"] = stored{"I32", []int{32}, make([]byte, 128)} }, `tensor "model.norm.weight": weights of type I32 are not supported`},
		{"granitemoe", "experts", func(all map[string]stored) { delete(all, "model.layers.1.block_sparse_moe.input_linear.weight") }, `tensor "layers.1.block_sparse_moe.input_linear.weight": missing`},
		{"gptj", "bias", func(all map[string]stored) { delete(all, "lm_head.bias") }, `tensor "lm_head.bias": missing`},
		{"m2m_100", "copy", func(all map[string]stored) { all["lm_head.weight"] = numbers(0, 2, 24) }, `tensor "lm_head.weight": shape [2 24]`},
	} {
		fsys := bare(t, c.model)
		tensors(t, fsys, c.change)
		checkRejected(t, c.what, fsys, c.want)
	}
}

// Directories without a model, or with an incomplete one.
func TestHostileDirectories(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(fstest.MapFS)
		want   string
	}{
		{"no config", func(f fstest.MapFS) { delete(f, "m/config.json") }, "m/config.json"},
		{"no weights", func(f fstest.MapFS) { delete(f, "m/model.safetensors") }, "m: it has no model.safetensors, model.safetensors.index.json or .gguf file"},
		{"pickle", func(f fstest.MapFS) {
			delete(f, "m/model.safetensors")
			f["m/pytorch_model.bin"] = &fstest.MapFile{}
		}, "pytorch_model.bin is not supported"},
		{"two models", func(f fstest.MapFS) {
			delete(f, "m/model.safetensors")
			f["m/a.gguf"], f["m/b.gguf"] = &fstest.MapFile{}, &fstest.MapFile{}
		}, "it has 2 models, including a.gguf and b.gguf: name the file"},
		{"a directory", func(f fstest.MapFS) {
			delete(f, "m/config.json")
			f["m/config.json/x"] = &fstest.MapFile{}
		}, "m/config.json: not a regular file"},
		{"adapter", func(f fstest.MapFS) { f["m/adapter_config.json"] = &fstest.MapFile{} }, "m: it has adapter_config.json, but no adapter_model.safetensors"},
		{"no JSON", func(f fstest.MapFS) { f["m/config.json"] = &fstest.MapFile{Data: []byte("{")} }, "m/config.json: unexpected end of JSON input"},
		{"null", func(f fstest.MapFS) { f["m/config.json"] = &fstest.MapFile{Data: []byte("null")} }, "m/config.json: null"},
		{"a list", func(f fstest.MapFS) { f["m/config.json"] = &fstest.MapFile{Data: []byte("[]")} }, "m/config.json: "},
		{"deep", func(f fstest.MapFS) {
			f["m/config.json"] = &fstest.MapFile{Data: []byte(`{"x":` + strings.Repeat("[", 1<<19))}
		}, "m/config.json: "},
		{"large", func(f fstest.MapFS) { f["m/config.json"] = &fstest.MapFile{Data: make([]byte, 1<<20+1)} }, "m/config.json: 1048577 bytes, at most 1048576"},
		{"generation", func(f fstest.MapFS) { f["m/generation_config.json"] = &fstest.MapFile{Data: []byte("x")} }, "m/generation_config.json: "},
		{"empty weights", func(f fstest.MapFS) { f["m/model.safetensors"] = &fstest.MapFile{} }, "checkpoint m/model.safetensors: "},
		{"tokenizer", func(f fstest.MapFS) { f["m/tokenizer.json"] = &fstest.MapFile{Data: []byte("{}")} }, "m/tokenizer.json: "},
		{"tokenizer config", func(f fstest.MapFS) { f["m/tokenizer_config.json"] = &fstest.MapFile{Data: []byte("[")} }, "m/tokenizer_config.json: "},
	} {
		fsys := bare(t, "gpt2")
		c.change(fsys)
		checkRejected(t, c.what, fsys, c.want)
	}
	if _, err := arch.Open(fstest.MapFS{"a.bin": {}}, "a.bin"); err == nil || !strings.Contains(err.Error(), "a.bin: not a directory, a packed model or a .gguf file") {
		t.Errorf("a file: %v", err)
	}
	if _, err := arch.Open(fstest.MapFS{}, "../x"); err == nil {
		t.Error("a path out of the file system")
	}
}
