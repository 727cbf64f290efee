package arch

import "glossa/pkg/engine/transformer"

// bloom is BigScience Workshop 2022.
var bloom = family{
	title:   "BLOOM",
	vocab:   field{"vocab_size", 250880},
	context: field{"seq_length n_positions max_position_embeddings", 2048},
	width:   field{"hidden_size n_embed", 64},
	decoder: dimensions{
		depth: field{"n_layer num_hidden_layers", 2},
		heads: field{"n_head num_attention_heads", 8},
	},
	activation: text{"", "gelu_pytorch_tanh"},
	eps:        real{"layer_norm_epsilon", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 1},
	eos:        field{"eos_token_id", 2},
	fixed:      []requiredValue{{"apply_residual_connection_post_layernorm", "false"}},
	spec:       transformer.Spec{EmbedNorm: true},
	tensors: layout{
		prefix: "transformer.", embed: "word_embeddings", embedNorm: "word_embeddings_layernorm", copies: "lm_head", norm: "ln_f",
		head: linear{names: "lm_head"},
		decoder: layers{
			attentionNorm: "h.%d.input_layernorm", ffnNorm: "h.%d.post_attention_layernorm",
			qkv:  linear{names: "h.%d.self_attention.query_key_value", bias: always, grouped: true},
			out:  linear{names: "h.%d.self_attention.dense", bias: always},
			up:   linear{names: "h.%d.mlp.dense_h_to_4h", bias: always},
			down: linear{names: "h.%d.mlp.dense_4h_to_h", bias: always},
		},
	},
	adjust: func(_ *config, s *transformer.Spec, _ *layout) {
		a := &s.Kinds[0].Attention
		a.Slopes = alibiSlopes(a.Heads)
	},
}
