package arch

import (
	"slices"
	"strings"

	"glossa/pkg/engine/transformer"
)

// deBERTa is He et al. 2021, in the forms v2 and v3: BERT, whose attention compares tokens with their
// distances.
var deBERTa = bertLike("DeBERTa", "deberta.", func(f *family) {
	f.vocab, f.width = field{"vocab_size", 128100}, field{"hidden_size", 1536}
	f.encoder = dimensions{
		depth: field{"num_hidden_layers", 24}, heads: field{"num_attention_heads", 24}, ffn: field{"intermediate_size", 6144},
	}
	f.eps = real{"layer_norm_eps", 1e-7}
	f.fixed = []requiredValue{{"conv_kernel_size", "0"}}
	const self = "encoder.layer.%d.attention.self."
	e := &f.tensors.encoder
	e.qkv.names = self + "query_proj " + self + "key_proj " + self + "value_proj"
	e.distances = distanceNames{table: "encoder.rel_embeddings", norm: "encoder.LayerNorm", keys: self + "pos_key_proj", queries: self + "pos_query_proj"}
	f.buffers = append(f.buffers, "embeddings.position_embeddings.weight",
		"lm_predictions.lm_head.bias", "lm_predictions.lm_head.dense.weight", "lm_predictions.lm_head.dense.bias",
		"lm_predictions.lm_head.LayerNorm.weight", "lm_predictions.lm_head.LayerNorm.bias",
		"mask_predictions.classifier.weight", "mask_predictions.classifier.bias", "mask_predictions.dense.weight", "mask_predictions.dense.bias",
		"mask_predictions.LayerNorm.weight", "mask_predictions.LayerNorm.bias")
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.TokenTypes = c.integer("type_vocab_size", 0, 0, maxHeads)
		if !c.flag("position_biased_input", true) {
			s.Position = transformer.NoPosition
		}
		for _, same := range []field{{"embedding_size", s.Width}, {"attention_head_size", s.Kinds[0].Attention.HeadDim}} {
			if n := c.integer(same.names, same.absent, 1, maxWidth); n != same.absent {
				c.reject(same.names, "%d is not supported, only %d", n, same.absent)
			}
		}
		disentangle(c, s, l)
	}
})

// disentangle reads how DeBERTa's attention compares tokens with their distances.
func disentangle(c *config, s *transformer.Spec, l *layout) {
	kinds := c.distanceKinds()
	a := &s.Kinds[0].Attention
	a.Scale = distanceScale(a.HeadDim, len(kinds))
	if !c.flag("relative_attention", false) || len(kinds) == 0 {
		return
	}
	d := &transformer.Disentangled{Keys: slices.Contains(kinds, "c2p"), Queries: slices.Contains(kinds, "p2c")}
	most := c.integer("max_relative_positions", -1, -1, maxDistance)
	if most < 1 {
		most = min(c.integer("max_position_embeddings", 512, 1, maxContext), maxDistance)
	}
	if d.Buckets = c.integer("position_buckets", -1, -1, maxDistance); d.Buckets > 0 {
		d.Distance = most
	} else {
		d.Buckets = most
	}
	a.Disentangled = d
	n := &l.encoder.distances
	norms := strings.Split(strings.ReplaceAll(strings.ToLower(c.text("norm_rel_ebd", "none")), " ", ""), "|")
	if !slices.Contains(norms, "layer_norm") {
		n.norm = ""
	}
	if c.flag("share_att_key", false) {
		names := strings.Fields(l.encoder.qkv.names)
		n.queries, n.keys = names[0], names[1]
	}
}

// distanceKinds returns what attention compares in addition to tokens: c2p, p2c, both or neither.
func (c *config) distanceKinds() (kinds []string) {
	if _, raw := c.find("pos_att_type"); raw != nil && raw[0] == '[' {
		_, kinds, _ = read[[]string](c, "pos_att_type", "list of strings")
	} else if text := c.text("pos_att_type", ""); text != "" {
		for kind := range strings.SplitSeq(strings.ToLower(text), "|") {
			kinds = append(kinds, strings.TrimSpace(kind))
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	for _, kind := range kinds {
		if kind != "c2p" && kind != "p2c" {
			c.reject("pos_att_type", "%.40q is not supported, only c2p and p2c", kind)
		}
	}
	return kinds
}
