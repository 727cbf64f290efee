package arch

import "glossa/pkg/engine/transformer"

// electra is Clark et al. 2020: BERT, whose embeddings may be narrower than the layers.
var electra = bertLike("ELECTRA", "electra.", func(f *family) {
	f.width = field{"hidden_size", 256}
	f.encoder.heads.absent, f.encoder.ffn.absent = 4, 1024
	f.fixed = without(f.fixed, "embedding_size")
	f.tensors.projectIn = linear{names: "embeddings_project", bias: always}
	f.buffers = append(f.buffers, "discriminator_predictions.dense.weight", "discriminator_predictions.dense.bias",
		"discriminator_predictions.dense_prediction.weight", "discriminator_predictions.dense_prediction.bias",
		"generator_predictions.dense.weight", "generator_predictions.dense.bias", "generator_predictions.LayerNorm.weight",
		"generator_predictions.LayerNorm.bias", "generator_lm_head.weight", "generator_lm_head.bias")
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.TokenTypes = c.integer("type_vocab_size", 2, 1, maxHeads)
		if w := c.integer("embedding_size", 128, 1, maxWidth); w != s.Width {
			s.EmbedWidth = w
		}
	}
})

// without returns a list without the value of a name.
func without(list []requiredValue, name string) (out []requiredValue) {
	for _, v := range list {
		if v.name != name {
			out = append(out, v)
		}
	}
	return out
}
