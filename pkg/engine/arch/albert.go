package arch

import "glossa/pkg/engine/transformer"

// albert is Lan et al. 2020: BERT, whose layers share weights, with narrow embeddings.
var albert = bertLike("ALBERT", "albert.", func(f *family) {
	f.vocab, f.width = field{"vocab_size", 30000}, field{"hidden_size", 4096}
	f.encoder = dimensions{depth: field{"num_hidden_layers", 12}, heads: field{"num_attention_heads", 64}, ffn: field{"intermediate_size", 16384}}
	f.activation.absent = "gelu_new"
	f.bos, f.eos = field{"bos_token_id", 2}, field{"eos_token_id", 3}
	f.fixed = without(f.fixed, "embedding_size")
	f.tensors.projectIn = linear{names: "encoder.embedding_hidden_mapping_in", bias: always}
	f.buffers = append(f.buffers, "pooler.weight", "pooler.bias", "predictions.bias", "predictions.LayerNorm.weight", "predictions.LayerNorm.bias",
		"predictions.dense.weight", "predictions.dense.bias", "predictions.decoder.weight", "predictions.decoder.bias",
		"sop_classifier.classifier.weight", "sop_classifier.classifier.bias")
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.TokenTypes = c.integer("type_vocab_size", 2, 1, maxHeads)
		s.EmbedWidth = c.integer("embedding_size", 128, 1, maxWidth) // there is a matrix behind it even if it is the width
		shareLayers(c, s, l)
	}
})

// shareLayers reads which layers share weights: those of a group, or those at the same place of all groups
// of inner layers, if there is one of these groups.
func shareLayers(c *config, s *transformer.Spec, l *layout) {
	depth := len(s.Encoder)
	groups, inner := c.integer("num_hidden_groups", 1, 1, depth), c.integer("inner_group_num", 1, 1, maxDepth/depth)
	at := "encoder.albert_layer_groups.%d.albert_layers.0."
	if inner > 1 {
		at = "encoder.albert_layer_groups.0.albert_layers.%d."
	}
	if groups > 1 && inner > 1 {
		c.reject("inner_group_num", "%d layers in each of %d groups are not supported", inner, groups)
		return
	}
	for i := range depth {
		group := int(float64(i) / (float64(depth) / float64(groups))) // as transformers computes it
		for j := range inner {
			s.Order = append(s.Order, group*inner+j)
		}
	}
	s.Encoder = make([]int, groups*inner)
	l.encoder = layers{
		qkv:               linear{names: at + "attention.query " + at + "attention.key " + at + "attention.value", bias: always},
		out:               linear{names: at + "attention.dense", bias: always},
		attentionPostNorm: at + "attention.LayerNorm",
		up:                linear{names: at + "ffn", bias: always},
		down:              linear{names: at + "ffn_output", bias: always},
		ffnPostNorm:       at + "full_layer_layer_norm",
	}
}
