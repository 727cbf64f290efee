package arch

import "glossa/pkg/engine/transformer"

// modernBERT is Warner et al. 2024: norms before the branches, without biases; the first
// attention has none, because the embedding's is there. Two of three layers have a window.
var modernBERT = family{
	title:   "ModernBERT",
	vocab:   field{"vocab_size", 50368},
	context: field{"max_position_embeddings", 8192},
	width:   field{"hidden_size", 768},
	encoder: dimensions{
		depth: field{"num_hidden_layers", 22}, heads: field{"num_attention_heads", 12}, ffn: field{"intermediate_size", 1152},
	},
	activation: text{"hidden_activation", "gelu"},
	eps:        real{"norm_eps", 1e-5},
	bos:        field{"bos_token_id", -1},
	eos:        field{"eos_token_id", -1},
	fixed:      []requiredValue{{"position_embedding_type", `"absolute"`}},
	spec:       transformer.Spec{EmbedNorm: true},
	kind:       transformer.Kind{FeedForward: transformer.FeedForward{Gated: true}},
	tensors: layout{
		prefix: "model.", embed: "embeddings.tok_embeddings", embedNorm: "embeddings.norm", encoderNorm: "final_norm",
		encoder: layers{
			attentionNorm: "layers.%d.attn_norm", ffnNorm: "layers.%d.mlp_norm",
			qkv: linear{names: "layers.%d.attn.Wqkv"}, out: linear{names: "layers.%d.attn.Wo"},
			gateUp: linear{names: "layers.%d.mlp.Wi"}, down: linear{names: "layers.%d.mlp.Wo"},
		},
	},
	buffers: []string{"head.dense.weight", "head.norm.weight", "decoder.weight", "decoder.bias"},
	adjust: func(c *config, s *transformer.Spec, l *layout) {
		c.require([]requiredValue{{"mlp_bias", "false"}})
		l.noNormBias = !c.flag("norm_bias", false)
		if c.flag("attention_bias", false) {
			l.encoder.qkv.bias, l.encoder.out.bias = always, always
		}
		every := c.integer("global_attn_every_n_layers", 3, 1, maxDepth)
		windowed := c.windowed(len(s.Encoder), func(layer int) bool { return layer%every != 0 })
		side := c.integer("local_attention", 128, 2, maxContext) / 2
		dim := s.Kinds[0].Attention.HeadDim
		full := modernRotary(c, dim, fullAttention, real{"global_rope_theta", 160000})
		window := modernRotary(c, dim, slidingAttention, real{"local_rope_theta", 10000})
		modernLayers(c, s, func(layer int) bool { return windowed[layer] }, side, full, window)
	},
}

// modernLayers sets the rotary embeddings and the windows of ModernBERT's layers. A windowed token
// sees those at a distance up to side.
func modernLayers(c *config, s *transformer.Spec, windowed func(layer int) bool, side int, full, window transformer.Rotary) {
	list := make([]bool, len(s.Encoder))
	for layer := range list {
		list[layer] = windowed(layer)
	}
	setTwoRotaries(c, s, list, full, window)
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if layer == 0 {
			k.Attention.Norms = transformer.NoNorm
		}
		if list[layer] && side+1 < s.Context {
			k.Attention.Window = side + 1
		}
	})
}

// modernRotary reads the rotary embedding of a type of layers. Before rope_parameters, each
// type had a base of its own.
func modernRotary(c *config, dim int, layers string, base real) transformer.Rotary {
	r := rope{dim: dim, layers: layers, base: base, part: real{"partial_rotary_factor", 1}}
	return r.read(c)
}
