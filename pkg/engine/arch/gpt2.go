package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// gpt2 is Radford et al. 2019. Its matrices are stored as (in, out).
var gpt2 = family{
	title:   "GPT-2",
	vocab:   field{"vocab_size", 50257},
	context: field{"n_positions n_ctx max_position_embeddings", 1024},
	width:   field{"n_embd hidden_size", 768},
	decoder: dimensions{
		depth: field{"n_layer num_hidden_layers", 12},
		heads: field{"n_head num_attention_heads", 12},
		ffn:   field{"n_inner", 0},
	},
	activation: text{"activation_function", "gelu_new"},
	eps:        real{"layer_norm_epsilon", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 50256},
	eos:        field{"eos_token_id", 50256},
	fixed:      []requiredValue{{"scale_attn_weights", "true"}},
	spec:       transformer.Spec{Position: transformer.Learned},
	tensors: layout{
		prefix: "transformer.", embed: "wte", positions: "wpe", copies: "lm_head", norm: "ln_f",
		head: linear{names: "lm_head"},
		decoder: layers{
			attentionNorm: "h.%d.ln_1", ffnNorm: "h.%d.ln_2",
			qkv:  linear{names: "h.%d.attn.c_attn", bias: always, transposed: true},
			out:  linear{names: "h.%d.attn.c_proj", bias: always, transposed: true},
			up:   linear{names: "h.%d.mlp.c_fc", bias: always, transposed: true},
			down: linear{names: "h.%d.mlp.c_proj", bias: always, transposed: true},
		},
	},
	buffers: []string{"h.*.attn.bias", "h.*.attn.masked_bias"},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		if c.flag("scale_attn_by_inverse_layer_idx", false) {
			inverseScale(s)
		}
	},
}

// inverseScale also divides the scores of layer i by i+1. Each layer becomes a kind.
func inverseScale(s *transformer.Spec) {
	k := s.Kinds[0]
	scale := float32(1 / math.Sqrt(float64(k.Attention.HeadDim)))
	s.Kinds = nil
	for i := range s.Decoder {
		k.Attention.Scale = scale / float32(i+1)
		s.Kinds, s.Decoder[i] = append(s.Kinds, k), i
	}
}
