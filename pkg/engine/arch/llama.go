package arch

import "glossa/pkg/engine/transformer"

// llama is Touvron et al. 2023 and Llama 3.
var llama = llamaLike("Llama", func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}})
		if r.Dims != s.Kinds[0].Attention.HeadDim {
			c.reject("partial_rotary_factor", "partial rotary embeddings are not supported for this architecture")
		}
		setRotary(s, r)
		llamaBiases(c, l)
	}
})

// llamaLike returns a family with Llama's configuration, layers and tensor names, changed by
// change.
func llamaLike(title string, change func(f *family)) family {
	f := family{
		title:   title,
		vocab:   field{"vocab_size", 32000},
		context: field{"max_position_embeddings", 2048},
		width:   field{"hidden_size", 4096},
		decoder: dimensions{
			depth: field{"num_hidden_layers", 32},
			heads: field{"num_attention_heads", 32},
			ffn:   field{"intermediate_size", 11008},
		},
		activation: text{"hidden_act", "silu"},
		eps:        real{"rms_norm_eps", 1e-6},
		bos:        field{"bos_token_id", 1},
		eos:        field{"eos_token_id", 2},
		spec:       transformer.Spec{Norm: transformer.RMSNorm},
		kind:       transformer.Kind{FeedForward: transformer.FeedForward{Gated: true}},
		tensors: layout{
			prefix: "model.", embed: "embed_tokens", copies: "lm_head", norm: "norm",
			head:    linear{names: "lm_head"},
			decoder: llamaLayers(),
		},
		buffers: []string{"layers.*.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq"},
	}
	change(&f)
	return f
}

// llamaLayers names the tensors of Llama's layers.
func llamaLayers() layers {
	return layers{
		attentionNorm: "layers.%d.input_layernorm", ffnNorm: "layers.%d.post_attention_layernorm",
		qkv:  linear{names: "layers.%d.self_attn.q_proj layers.%d.self_attn.k_proj layers.%d.self_attn.v_proj"},
		out:  linear{names: "layers.%d.self_attn.o_proj"},
		up:   linear{names: "layers.%d.mlp.up_proj"},
		gate: linear{names: "layers.%d.mlp.gate_proj"},
		down: linear{names: "layers.%d.mlp.down_proj"},
	}
}

// adjustLlama reads the heads, their rotary embedding and the biases.
func adjustLlama(c *config, s *transformer.Spec, l *layout) {
	setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
	llamaBiases(c, l)
}

// llamaHeads reads the dimensions of heads, and their rotary embedding.
func llamaHeads(c *config, s *transformer.Spec, r rope) transformer.Rotary {
	a := &s.Kinds[0].Attention
	a.HeadDim = c.integer("head_dim", a.HeadDim, 1, maxWidth)
	a.KVHeads = c.integer("num_key_value_heads", a.Heads, 1, maxHeads)
	r.dim = a.HeadDim
	if r.part.names == "" {
		r.part = real{"partial_rotary_factor", 1}
	}
	return r.read(c)
}

// llamaBiases reads which matrices have a bias.
func llamaBiases(c *config, l *layout) {
	attentionBiases(c, l)
	if c.flag("mlp_bias", false) {
		l.decoder.up.bias, l.decoder.gate.bias, l.decoder.down.bias = always, always, always
	}
}

// attentionBiases reads whether the matrices of attention have a bias.
func attentionBiases(c *config, l *layout) {
	if inputBiases(c, l, false) {
		l.decoder.out.bias = always
	}
}

// inputBiases reads whether the matrices of queries, keys and values have a bias, and returns it; absent
// is for files that do not say it.
func inputBiases(c *config, l *layout, absent bool) bool {
	biased := c.flag("attention_bias", absent)
	if biased {
		l.decoder.qkv.bias = always
	}
	return biased
}
