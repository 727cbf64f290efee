package arch

import "glossa/pkg/engine/transformer"

// opt is Zhang et al. 2022. Row 2 of its table is the first position.
var opt = family{
	title:   "OPT",
	vocab:   field{"vocab_size", 50272},
	context: field{"max_position_embeddings", 2048},
	width:   field{"hidden_size", 768},
	decoder: dimensions{
		depth: field{"num_hidden_layers", 12},
		heads: field{"num_attention_heads", 12},
		ffn:   field{"ffn_dim", 3072},
	},
	activation: text{"activation_function", "relu"},
	eps:        real{"", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 2},
	eos:        field{"eos_token_id", 2},
	fixed:      []requiredValue{{"layer_norm_elementwise_affine", "true"}},
	spec:       transformer.Spec{Position: transformer.Learned},
	tensors: layout{
		prefix: "model.", embed: "decoder.embed_tokens", copies: "lm_head", norm: "decoder.final_layer_norm",
		positions: "decoder.embed_positions", skip: 2,
		head:      linear{names: "lm_head"},
		projectIn: linear{names: "decoder.project_in"}, projectOut: linear{names: "decoder.project_out"},
		decoder: fairseqLayers("decoder.layers.%d."),
	},
	adjust: func(c *config, s *transformer.Spec, l *layout) {
		if w := c.integer("word_embed_proj_dim", s.Width, 1, maxWidth); w != s.Width {
			s.EmbedWidth = w // of OPT-350m
		}
		if !c.flag("do_layer_norm_before", true) {
			s.NoLastNorm = true
			k := &s.Kinds[0]
			k.Attention.Norms, k.FeedForward.Norms = transformer.PostResidualNorm, transformer.PostResidualNorm
			d := &l.decoder
			d.attentionPostNorm, d.ffnPostNorm = d.attentionNorm, d.ffnNorm
		}
		if c.flag("_remove_final_layer_norm", false) {
			s.NoLastNorm = true
		}
		if !c.flag("enable_bias", true) {
			for _, m := range []*linear{&l.decoder.qkv, &l.decoder.out, &l.decoder.up, &l.decoder.down} {
				m.bias = never
			}
		}
	},
	adjustTokens: func(c *config, m *Model) {
		start := c.id("bos_token_id", 2, m.Spec.Vocab)
		m.Start, m.Empty = []int{start}, start
	},
}
