package arch

import "glossa/pkg/engine/transformer"

// m2m100 is Fan et al. 2020, an encoder-decoder.
var m2m100 = family{
	title:   "M2M100",
	vocab:   field{"vocab_size", 128112},
	context: field{"max_position_embeddings", 1024},
	width:   field{"d_model hidden_size", 1024},
	decoder: dimensions{
		depth: field{"decoder_layers", 12},
		heads: field{"decoder_attention_heads", 16},
		ffn:   field{"decoder_ffn_dim", 4096},
	},
	encoder: dimensions{
		depth: field{"encoder_layers num_hidden_layers", 12},
		heads: field{"encoder_attention_heads num_attention_heads", 16},
		ffn:   field{"encoder_ffn_dim", 4096},
	},
	activation: text{"activation_function", "relu"},
	eps:        real{"", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 0},
	eos:        field{"eos_token_id", 2},
	fixed: []requiredValue{
		{"tie_word_embeddings", "true"}, {"is_encoder_decoder", "true"},
		{"pad_token_id", "1"}, // positions count from the one after it
	},
	spec: transformer.Spec{Position: transformer.Sinusoidal},
	tensors: layout{
		prefix: "model.", embed: "shared", copies: "encoder.embed_tokens decoder.embed_tokens lm_head",
		norm: "decoder.layer_norm", encoderNorm: "encoder.layer_norm",
		head:    linear{names: "lm_head"},
		encoder: fairseqLayers("encoder.layers.%d."),
		decoder: crossLayers(),
	},
	buffers: []string{
		"encoder.embed_positions.weights", "decoder.embed_positions.weights", "encoder.version", "decoder.version",
		"encoder.embed_positions._float_tensor", "decoder.embed_positions._float_tensor", "final_logits_bias",
	},
	adjust: func(c *config, s *transformer.Spec, _ *layout) { scaleEmbedding(c, s) },
}

// crossLayers names the tensors of a decoder with cross attention.
func crossLayers() layers {
	const prefix = "decoder.layers.%d."
	l := fairseqLayers(prefix)
	l.crossNorm = prefix + "encoder_attn_layer_norm"
	l.crossQ = linear{names: prefix + "encoder_attn.q_proj", bias: always}
	l.crossKV = linear{names: prefix + "encoder_attn.k_proj " + prefix + "encoder_attn.v_proj", bias: always}
	l.crossOut = linear{names: prefix + "encoder_attn.out_proj", bias: always}
	return l
}
