package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// falcon is Almazrouei et al. 2023 (Falcon 7B, 40B and RW, Falcon 2 11B). Falcon 3 is Llama.
var falcon = family{
	title:   "Falcon",
	vocab:   field{"vocab_size", 65024},
	context: field{"max_position_embeddings", 2048},
	width:   field{"hidden_size n_embed", 4544},
	decoder: dimensions{
		depth: field{"num_hidden_layers n_layer", 32},
		heads: field{"num_attention_heads n_head", 71},
		ffn:   field{"ffn_hidden_size", 0},
	},
	activation: text{"activation", "gelu"},
	eps:        real{"layer_norm_epsilon", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 11},
	eos:        field{"eos_token_id", 11},
	tensors: layout{
		prefix: "transformer.", embed: "word_embeddings", copies: "lm_head", norm: "ln_f",
		head: linear{names: "lm_head"},
		decoder: layers{
			attentionNorm: "h.%d.input_layernorm", ffnNorm: "h.%d.post_attention_layernorm",
			qkv:  linear{names: "h.%d.self_attention.query_key_value", grouped: true},
			out:  linear{names: "h.%d.self_attention.dense"},
			up:   linear{names: "h.%d.mlp.dense_h_to_4h"},
			down: linear{names: "h.%d.mlp.dense_4h_to_h"},
		},
	},
	buffers: []string{"h.*.self_attention.maskbias", "h.*.self_attention.rotary.inv_freq", "h.*.self_attention.rotary_emb.inv_freq"},
	adjust:  adjustFalcon,
}

// adjustFalcon reads the variants: of the heads of keys, of the branches and of positions.
func adjustFalcon(c *config, s *transformer.Spec, l *layout) {
	k := &s.Kinds[0]
	a := &k.Attention
	newer, parallel := c.flag("new_decoder_architecture", false), c.flag("parallel_attn", true)
	k.Parallel = newer || parallel
	switch {
	case newer:
		a.KVHeads = c.integer("num_kv_heads n_head_kv", a.Heads, 1, maxHeads)
		if c.integer("num_ln_in_parallel_attn", 2, 1, 2) == 2 {
			l.decoder.attentionNorm, l.decoder.ffnNorm = "h.%d.ln_attn", "h.%d.ln_mlp"
		} else {
			k.SharedNorm = true
		}
	case c.flag("multi_query", true):
		a.KVHeads = 1
	}
	if !newer && parallel {
		k.SharedNorm = true
	}
	if c.flag("bias", false) {
		for _, m := range []*linear{&l.decoder.qkv, &l.decoder.out, &l.decoder.up, &l.decoder.down} {
			m.bias = always
		}
	}
	if c.flag("alibi", false) {
		// The slopes are bfloat16, and are scaled as scores are.
		a.Slopes = alibiSlopes(a.Heads)
		for i, v := range a.Slopes {
			a.Slopes[i] = roundBF16(v) / float32(math.Sqrt(float64(a.HeadDim)))
		}
		return
	}
	setRotary(s, rope{dim: a.HeadDim, base: real{"rope_theta", 10000}, part: real{"", 1}}.read(c))
}
