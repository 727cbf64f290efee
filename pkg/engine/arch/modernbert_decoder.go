package arch

import "glossa/pkg/engine/transformer"

// modernBERTDecoder is Weller et al. 2025 (Ettin): ModernBERT as a decoder, with queries, keys and values
// apart, and a block before its head.
var modernBERTDecoder = family{
	title:   "ModernBERT decoder",
	vocab:   modernBERT.vocab,
	context: modernBERT.context,
	width:   modernBERT.width,
	decoder: modernBERT.encoder,

	activation: modernBERT.activation,
	eps:        modernBERT.eps,
	tied:       true,
	bos:        field{"bos_token_id", 50281},
	eos:        field{"eos_token_id", 50282},
	fixed:      []requiredValue{{"mlp_bias", "false"}},
	spec:       modernBERT.spec,
	kind:       modernBERT.kind,
	tensors: layout{
		prefix: "model.", embed: "embeddings.tok_embeddings", embedNorm: "embeddings.norm", norm: "final_norm", copies: "decoder",
		headDense: linear{names: "lm_head.dense"}, headNorm: "lm_head.norm", head: linear{names: "decoder"},
		decoder: layers{
			attentionNorm: "layers.%d.attn_norm", ffnNorm: "layers.%d.mlp_norm",
			qkv: linear{names: "layers.%d.attn.q_proj layers.%d.attn.k_proj layers.%d.attn.v_proj"}, out: linear{names: "layers.%d.attn.Wo"},
			gateUp: linear{names: "layers.%d.mlp.Wi"}, down: linear{names: "layers.%d.mlp.Wo"},
		},
	},
	adjust: func(c *config, s *transformer.Spec, l *layout) {
		l.noNormBias = !c.flag("norm_bias", false)
		attentionBiases(c, l)
		if c.flag("decoder_bias", true) {
			l.head.bias = always
		}
		if c.flag("classifier_bias", false) {
			l.headDense.bias = always
		}
		const act = "classifier_activation"
		name, ok := c.text(act, "gelu"), false
		if s.HeadActivation, ok = activations[name]; !ok {
			c.reject(act, "%.40q is not supported", name)
		}
		every := c.integer("global_attn_every_n_layers", 3, 1, maxDepth)
		windowed := c.windowed(len(s.Decoder), func(layer int) bool { return layer%every != 0 })
		dim := s.Kinds[0].Attention.HeadDim
		full := modernRotary(c, dim, fullAttention, real{"global_rope_theta", 160000})
		setTwoRotaries(c, s, windowed, full, modernRotary(c, dim, slidingAttention, real{"local_rope_theta", 10000}))
		window := c.integer("local_attention", 128, 2, maxContext) / 2
		if *c.err != nil {
			return
		}
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if layer == 0 {
				k.Attention.Norms = transformer.NoNorm
			}
			if windowed[layer] && window < s.Context {
				k.Attention.Window = window
			}
		})
	},
}
