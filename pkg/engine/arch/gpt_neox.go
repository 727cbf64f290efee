package arch

import "glossa/pkg/engine/transformer"

// gptNeoX is Black et al. 2022 (GPT-NeoX-20B) and Biderman et al. 2023 (Pythia).
// Queries, keys and values are stored head by head.
var gptNeoX = family{
	title:   "GPT-NeoX",
	vocab:   field{"vocab_size", 50432},
	context: field{"max_position_embeddings", 2048},
	width:   field{"hidden_size", 6144},
	decoder: dimensions{
		depth: field{"num_hidden_layers", 44},
		heads: field{"num_attention_heads", 64},
		ffn:   field{"intermediate_size", 24576},
	},
	activation: text{"hidden_act", "gelu"},
	eps:        real{"layer_norm_eps", 1e-5},
	bos:        field{"bos_token_id", 0},
	eos:        field{"eos_token_id", 0}, // the class's default is 2, which no published model uses
	tensors: layout{
		prefix: "gpt_neox.", embed: "embed_in", copies: "embed_out lm_head", norm: "final_layer_norm",
		head: linear{names: "embed_out lm_head"},
		decoder: layers{
			attentionNorm: "layers.%d.input_layernorm", ffnNorm: "layers.%d.post_attention_layernorm",
			qkv:  linear{names: "layers.%d.attention.query_key_value", bias: always, grouped: true},
			out:  linear{names: "layers.%d.attention.dense", bias: always},
			up:   linear{names: "layers.%d.mlp.dense_h_to_4h", bias: always},
			down: linear{names: "layers.%d.mlp.dense_4h_to_h", bias: always},
		},
	},
	buffers: []string{"layers.*.attention.bias", "layers.*.attention.masked_bias", "layers.*.attention.rotary_emb.inv_freq", "rotary_emb.inv_freq"},
	adjust: func(c *config, s *transformer.Spec, l *layout) {
		k := &s.Kinds[0]
		k.Parallel = c.flag("use_parallel_residual", true)
		setRotary(s, rope{dim: k.Attention.HeadDim, base: real{"rotary_emb_base rope_theta", 10000}, part: real{"rotary_pct partial_rotary_factor", 0.25}}.read(c))
		if !c.flag("attention_bias", true) {
			l.decoder.qkv.bias, l.decoder.out.bias = never, never
		}
	},
}
