package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// ggufCohere: logits are multiplied by logit_scale, while Granite's are divided. The pairs of
// the rotary embedding are neighbours in the original too.
var ggufCohere = ggufCohereLike(func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.LogitScale = float32(c.number("logit_scale", 0, 0, 1e6))
		setRotary(s, interleaved(ggufHeads(c, s)))
	}
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		if src.has(at(l.decoder.qNorm, 0) + ".weight") {
			s.Kinds[0].Attention.QKNorm = transformer.QKNormEachHead
		}
	}
})

// ggufCohere2: every fourth layer has neither a window nor a rotary embedding.
var ggufCohere2 = ggufCohereLike(func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.LogitScale = float32(c.number("logit_scale", 0, 0, 1e6))
		r := interleaved(ggufHeads(c, s))
		c.needs("attention.sliding_window")
		windowed := ggufWindows(c, s, func(layer int) bool { return (layer+1)%4 != 0 }, 0)
		setWindowedRotary(c, s, windowed, r)
	}
})

func ggufCohereLike(change func(f *family)) family {
	return ggufLike(func(f *family) {
		f.eps = ggufEps
		f.spec.Norm = transformer.LayerNorm
		f.kind.Parallel, f.kind.SharedNorm = true, true
		f.tensors.noNormBias = true
		f.fixed = slices.DeleteFunc(slices.Clone(f.fixed), func(v requiredValue) bool { return v.name == "logit_scale" })
		l := &f.tensors.decoder
		l.ffnNorm, l.qNorm, l.kNorm = "", "blk.%d.attn_q_norm", "blk.%d.attn_k_norm"
		change(f)
	})
}

// ggufPhi2: the head has a bias. Older files have queries, keys and values in one tensor.
var ggufPhi2 = ggufLike(func(f *family) {
	ggufUngated(f, "gelu_pytorch_tanh")
	f.eps = ggufEps
	f.spec.Norm = transformer.LayerNorm
	f.kind.Parallel, f.kind.SharedNorm = true, true
	f.tensors.head.bias = always
	f.tensors.decoder.ffnNorm = ""
	allBiases(&f.tensors.decoder, always)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
	f.detect = func(src *source, _ *transformer.Spec, l *layout) {
		if src.has("blk.0.attn_qkv.weight") {
			l.decoder.qkv.names = "blk.%d.attn_qkv"
		}
	}
})

var ggufStarCoder = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps, fixed: slices.Concat(ggufFixed, ggufFactors),
	activation: text{"", "gelu_pytorch_tanh"},
	spec:       transformer.Spec{Position: transformer.Learned},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", always)),
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		s.Kinds[0].Attention.KVHeads = c.integer("attention.head_count_kv", 1, 1, maxHeads)
	},
}

var ggufStarCoder2 = ggufLike(func(f *family) {
	ggufUngated(f, "gelu_pytorch_tanh")
	f.eps = ggufEps
	f.spec.Norm = transformer.LayerNorm
	allBiases(&f.tensors.decoder, stored)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, ggufHeads(c, s))
		ggufWindows(c, s, everyLayer, 0)
	}
})

// ggufGLM4: the pairs of the rotary embedding are neighbours in the original too.
var ggufGLM4 = ggufLike(func(f *family) {
	ggufSandwich(f)
	f.tensors.decoder.gateUp = linear{names: "blk.%d.ffn_up"}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, interleaved(ggufHeads(c, s))) }
})

// ggufEXAONE4: files of models with windows have sliding_window.
var ggufEXAONE4 = ggufLike(func(f *family) {
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.PostNorm, transformer.PostNorm
	ggufQKNorm(f, transformer.QKNormHead)
	l := &f.tensors.decoder
	l.attentionNorm, l.ffnNorm = "", ""
	l.attentionPostNorm, l.ffnPostNorm = "blk.%d.post_attention_norm", "blk.%d.post_ffw_norm"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		r := ggufHeads(c, s)
		windowed := ggufWindows(c, s, func(layer int) bool { return (layer+1)%4 != 0 }, 0)
		if c.integer("attention.sliding_window", 0, 0, maxContext) == 0 {
			setRotary(s, r)
			return
		}
		setWindowedRotary(c, s, windowed, r)
	}
})

// ggufArcee: the converter permutes the rows of queries and keys, as Llama's.
var ggufArcee = ggufLike(func(f *family) {
	ggufUngated(f, "relu2")
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, interleaved(ggufHeads(c, s))) }
})

// ggufNemotron: the converter has added 1 to the weights of norms.
var ggufNemotron = ggufLike(func(f *family) {
	ggufUngated(f, "relu2")
	f.eps = ggufEps
	f.spec.Norm = transformer.LayerNorm
	allBiases(&f.tensors.decoder, stored)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
})

// ggufERNIE: the pairs of the rotary embedding are neighbours in the original too.
var ggufERNIE = ggufLike(func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, interleaved(ggufHeads(c, s))) }
})

// ggufSeedOSS: the norm before the feed-forward block is called post_attention_norm.
var ggufSeedOSS = ggufLike(func(f *family) {
	f.tensors.decoder.ffnNorm = "blk.%d.post_attention_norm"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
})

// ggufUngated gives a family a feed-forward block without a gate.
func ggufUngated(f *family, activation string) {
	f.activation = text{"", activation}
	f.kind.FeedForward.Gated = false
	f.tensors.decoder.gate = linear{}
}
