package arch

import "glossa/pkg/engine/transformer"

// gptj is Wang and Komatsuzaki 2021: one norm feeds both halves of a layer, and the
// head has a bias.
var gptj = family{
	title:   "GPT-J",
	vocab:   field{"vocab_size", 50400},
	context: field{"n_positions n_ctx max_position_embeddings", 2048},
	width:   field{"n_embd hidden_size", 4096},
	decoder: dimensions{
		depth: field{"n_layer num_hidden_layers", 28},
		heads: field{"n_head num_attention_heads", 16},
		ffn:   field{"n_inner", 0},
	},
	activation: text{"activation_function", "gelu_new"},
	eps:        real{"layer_norm_epsilon", 1e-5},
	bos:        field{"bos_token_id", 50256},
	eos:        field{"eos_token_id", 50256},
	fixed:      []requiredValue{{"rotary", "true"}, {"scale_attn_weights", "true"}},
	kind:       transformer.Kind{Parallel: true, SharedNorm: true},
	tensors: layout{
		prefix: "transformer.", embed: "wte", copies: "lm_head", norm: "ln_f",
		head: linear{names: "lm_head", bias: always},
		decoder: layers{
			attentionNorm: "h.%d.ln_1",
			qkv:           linear{names: "h.%d.attn.q_proj h.%d.attn.k_proj h.%d.attn.v_proj"},
			out:           linear{names: "h.%d.attn.out_proj"},
			up:            linear{names: "h.%d.mlp.fc_in", bias: always},
			down:          linear{names: "h.%d.mlp.fc_out", bias: always},
		},
	},
	buffers: []string{"h.*.attn.bias", "h.*.attn.masked_bias", "h.*.attn.embed_positions"},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		dims := c.integer("rotary_dim", 64, 2, maxWidth)
		if dim := s.Kinds[0].Attention.HeadDim; dims%2 != 0 || dims > dim {
			c.reject("rotary_dim", "%d is not even and at most the width of a head, %d", dims, dim)
			return
		}
		setRotary(s, transformer.Rotary{Dims: dims, Interleaved: true, Frequencies: transformer.Frequencies(10000, dims)})
	},
}
