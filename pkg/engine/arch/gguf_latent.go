package arch

import (
	"glossa/pkg/engine/transformer"
)

// ggufLatents names the tensors of latent attention. Older files have the matrices of keys and values in
// one, as the original has them.
var ggufLatents = latentNames{
	query: "blk.%d.attn_q", queryFirst: "blk.%d.attn_q_a", queryNorm: "blk.%d.attn_q_a_norm", queryLast: "blk.%d.attn_q_b",
	first: "blk.%d.attn_kv_a_mqa", norm: "blk.%d.attn_kv_a_norm", both: "blk.%d.attn_kv_b", key: "blk.%d.attn_k_b", value: "blk.%d.attn_v_b",
}

// ggufReadLatent reads the dimensions of latent attention, and its rotary embedding. The keys of newer files
// give those of heads a suffix, since the others are those of what the heads share.
func ggufReadLatent(c *config, s *transformer.Spec) transformer.Rotary {
	c.needs("attention.kv_lora_rank", "rope.dimension_count")
	a, t := &s.Kinds[0].Attention, &transformer.Latent{}
	t.QueryRank, t.Shared = c.integer("attention.q_lora_rank", 0, 0, maxWidth), c.integer("rope.dimension_count", 2, 2, maxWidth)
	const key = "attention.key_length_mla attention.key_length"
	dim := c.integer(key, a.HeadDim, 1, maxWidth)
	if t.KeyDim = dim - t.Shared; t.KeyDim < 1 {
		name, _ := c.find(key)
		c.reject(name, "%d, of which %d are rotated", dim, t.Shared)
	}
	t.ValueDim = c.integer("attention.value_length_mla attention.value_length", a.HeadDim, 1, maxWidth)
	setLatent(s, t, c.integer("attention.kv_lora_rank", 1, 1, maxWidth))
	return ggufRotary(c, t.Shared, 10000)
}

// ggufMiniCPM3: files do not have the factors of the embedding, of branches and of logits, which are those
// of MiniCPM3 4B, nor the width of values.
var ggufMiniCPM3 = ggufLike(func(f *family) {
	f.tensors.decoder.latent = ggufLatents
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		miniCPMFactors(c, s, 12, 1.4, 256)
		setRotary(s, ggufReadLatent(c, s))
	}
})

// ggufDeepSeek2 is DeepSeek-V2 and V3, Kimi K2, GLM-4.7-Flash and Youtu-LLM. A file says by its tensors whether
// queries have two products and whether experts have corrections. Layers that draft tokens are counted too.
var ggufDeepSeek2 = ggufLike(func(f *family) {
	l := &f.tensors.decoder
	l.latent, l.experts = ggufLatents, ggufExperts()
	l.experts.correction = "blk.%d.exp_probs_b.bias"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.Decoder = s.Decoder[:len(s.Decoder)-c.integer("nextn_predict_layers", 0, 0, len(s.Decoder)-1)]
		table := interleaved(ggufReadLatent(c, s))
		// The key has a tenth of mscale_all_dim. The other factor is the same in all models, so that sines and
		// cosines are not scaled.
		if by := c.number("rope.scaling.yarn_log_multiplier", 0, 0, 1e6); by > 0 {
			a := &s.Kinds[0].Attention
			a.Scale = yarnScale(a.Latent, c.number("rope.scaling.factor", 1, 0, 1e6), 10*by)
			if table.Magnitude = float32(c.number("rope.scaling.attn_factor rope.scaling.yarn_attn_factor", 1, 0, 1e6)); table.Magnitude == 1 {
				table.Magnitude = 0
			}
		}
		setRotary(s, table)
		if first := c.integer("leading_dense_block_count", 0, 0, maxDepth); first < len(s.Decoder) && *c.err == nil {
			ggufDeepSeekExperts(c, s, first)
		}
	}
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		findCorrections(src, s, l)
		ignoreDrafts(src, "blk.", ggufDraft, s)
		if src.has("blk.0.attn_q.weight") {
			for i := range s.Kinds {
				s.Kinds[i].Attention.Latent.QueryRank = 0
			}
		}
	}
})

// ggufDeepSeekExperts reads the experts of the layers from first on. Of the first files of GLM-4.7-Flash
// the vocabulary says that sigmoids choose.
func ggufDeepSeekExperts(c *config, s *transformer.Spec, first int) {
	gating := ggufSoftmax
	if s.Vocab == 154880 {
		gating = ggufSigmoid
	}
	switch n := c.integer("expert_gating_func", 0, 0, 2); {
	case n == 1:
		gating = ggufSoftmax
	case n == 2:
		gating = ggufSigmoid
	}
	groups := c.integer("expert_group_count", 1, 0, maxExperts)
	delete(c.fields, "expert_group_count") // which other architectures do not support
	e := ggufReadExperts(c, false, gating)
	if groups > 1 {
		e.Groups, e.GroupsUsed = groups, c.integer("expert_group_used_count", 1, 1, groups)
	}
	if e.Sigmoid, e.Corrected = gating == ggufSigmoid, true; e.Renormalised {
		e.Floor = 1e-20
	}
	width := c.integer("expert_feed_forward_length", s.Kinds[0].FeedForward.Width, 1, maxFFN)
	e.Shared = width * c.integer("expert_shared_count", 0, 0, maxFFN/width)
	expertsFrom(s, first, width, e)
}
