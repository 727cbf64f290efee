package arch

import (
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
)

// ggufLlama is also Mistral, some of whose files have a window, and Mixtral, which has experts.
// The converter permutes the rows of queries and keys, which makes the pairs of the rotary
// embedding neighbours.
var ggufLlama = ggufLike(func(f *family) {
	f.tensors.decoder.experts = ggufExperts()
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		if c.integer("expert_count", 0, 0, maxExperts) > 0 {
			ggufSetExperts(c, s, true)
		}
		setRotary(s, interleaved(ggufHeads(c, s)))
		ggufWindows(c, s, everyLayer, 0)
	}
})

var ggufQwen2 = ggufLike(func(f *family) {
	f.tensors.decoder.qkv.bias = always
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
})

// ggufQwen3: the converter copies the rows of two tokens for a reranker.
var ggufQwen3 = ggufLike(func(f *family) {
	f.buffers = append(f.buffers, "cls.output.weight")
	ggufQKNorm(f, transformer.QKNormHead)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) }
})

// ggufPhi3: the converter keeps the tensors of queries, keys and values, and of gate and up.
var ggufPhi3 = ggufLike(func(f *family) {
	f.tensors.decoder.qkv = linear{names: "blk.%d.attn_qkv"}
	f.tensors.decoder.gateUp = linear{names: "blk.%d.ffn_up"}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, ggufHeads(c, s))
		ggufWindows(c, s, everyLayer, 0)
	}
})

// ggufGemma: the converter has added 1 to the weights of norms.
var ggufGemma = ggufLike(func(f *family) {
	f.activation = text{"", "gelu_pytorch_tanh"}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		gemmaHeads(s)
		setRotary(s, ggufHeads(c, s))
	}
})

// ggufGemma2: the scale of scores is not in the file; among the published models only that
// of 27B is not by the width of a head.
var ggufGemma2 = ggufLike(func(f *family) {
	f.activation = text{"", "gelu_pytorch_tanh"}
	ggufSandwich(f)
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		gemmaHeads(s)
		setRotary(s, ggufHeads(c, s))
		a := &s.Kinds[0].Attention
		if len(s.Decoder) == 46 {
			a.Scale = float32(1 / math.Sqrt(float64(s.Width)/float64(a.Heads)))
		}
		a.SoftCap = float32(c.number("attn_logit_softcapping", 50, 0, 1e9))
		s.LogitSoftCap = float32(c.number("final_logit_softcapping", 30, 0, 1e9))
		ggufWindows(c, s, func(layer int) bool { return layer%2 == 0 }, 4096)
	}
})

// ggufGemma3 has the scale of scores of 27B in the same way.
var ggufGemma3 = ggufGemma3Like(func(c *config, s *transformer.Spec, _ *layout) {
	full, local := ggufGemma3Heads(c, s)
	setTwoRotaries(c, s, ggufWindows(c, s, fiveOfSix, 1024), full, local)
})

// ggufGemma3Like returns a family with the tensors of Gemma 3.
func ggufGemma3Like(adjust func(c *config, s *transformer.Spec, l *layout)) family {
	return ggufLike(func(f *family) {
		f.activation = text{"", "gelu_pytorch_tanh"}
		ggufSandwich(f)
		ggufQKNorm(f, transformer.QKNormHead)
		f.adjust = adjust
	})
}

// ggufGemma3Heads reads the heads, and the rotary embeddings of layers without and with a
// window.
func ggufGemma3Heads(c *config, s *transformer.Spec) (full, local transformer.Rotary) {
	gemmaHeads(s)
	full = ggufHeads(c, s)
	a := &s.Kinds[0].Attention
	if len(s.Decoder) == 62 {
		a.Scale = float32(1 / math.Sqrt(float64(s.Width)/float64(a.Heads)))
	}
	s.LogitSoftCap = float32(c.number("final_logit_softcapping", 0, 0, 1e9))
	return full, plainRotary(c, full.Dims, "rope.freq_base_swa rope.local.freq_base", 10000)
}

// fiveOfSix is the rule for the layers of Gemma 3 that have a window.
func fiveOfSix(layer int) bool { return (layer+1)%6 != 0 }

// ggufSmolLM3: every fourth layer has no rotary embedding; the file does not say it.
var ggufSmolLM3 = ggufLike(func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		r := interleaved(ggufHeads(c, s))
		if *c.err != nil {
			return
		}
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if (layer+1)%4 != 0 {
				k.Attention.Rotary = addRotary(s, &r)
			}
		})
	}
})

var ggufOLMo = ggufLike(func(f *family) {
	f.eps = ggufEps
	f.spec.Norm = transformer.PlainLayerNorm
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, interleaved(ggufHeads(c, s))) }
})

// ggufOLMo2 is also OLMo 3, if the file has windows.
var ggufOLMo2 = ggufLike(func(f *family) {
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.PostNorm, transformer.PostNorm
	ggufQKNorm(f, transformer.QKNormAll)
	l := &f.tensors.decoder
	l.attentionNorm, l.ffnNorm = "", ""
	l.attentionPostNorm, l.ffnPostNorm = "blk.%d.post_attention_norm", "blk.%d.post_ffw_norm"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		full := ggufHeads(c, s)
		windowed := ggufWindows(c, s, func(layer int) bool { return (layer+1)%4 != 0 }, 0)
		if c.integer("attention.sliding_window", 0, 0, maxContext) == 0 {
			setRotary(s, full)
			return
		}
		setTwoRotaries(c, s, windowed, full, plainRotary(c, full.Dims, "rope.freq_base_swa rope.freq_base", 10000))
	}
})

// ggufGranite is also the dense Granite 4.
var ggufGranite = ggufLike(func(f *family) {
	f.fixed = ggufFixed
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.EmbedScale = float32(c.number("embedding_scale", 0, 0, 1e6))
		s.ResidualScale = float32(c.number("residual_scale", 0, 0, 1e6))
		if by := c.number("logit_scale", 0, 0, 1e6); by > 0 {
			s.LogitScale = float32(1 / by)
		}
		r := interleaved(ggufHeads(c, s))
		s.Kinds[0].Attention.Scale = float32(c.number("attention.scale", 0, 0, 1e6))
		if c.integer("rope.dimension_count", r.Dims, 0, maxWidth) > 0 && c.flag("rope.scaling.finetuned", true) {
			setRotary(s, r)
		}
	}
})

// ggufMiniCPM has Granite's keys. Its first files lack those of the factors, which are those of
// MiniCPM 2B.
var ggufMiniCPM = ggufLike(func(f *family) {
	f.fixed = ggufFixed
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.EmbedScale = float32(c.number("embedding_scale", 12, 1e-6, 1e6))
		s.ResidualScale = float32(c.number("residual_scale", 1.4/math.Sqrt(float64(len(s.Decoder))), 1e-6, 1e6))
		s.LogitScale = float32(1 / c.number("logit_scale", float64(s.Width)/256, 1e-6, 1e6))
		setRotary(s, interleaved(ggufHeads(c, s)))
	}
})

var ggufStableLM = ggufLike(func(f *family) {
	f.eps = ggufEps
	f.spec.Norm = transformer.LayerNorm
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "blk.%d.attn_q_norm", "blk.%d.attn_k_norm"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, ggufHeads(c, s))
		s.Kinds[0].Parallel = c.flag("use_parallel_residual", false)
	}
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		k := &s.Kinds[0]
		k.SharedNorm = k.Parallel && !src.has("blk.0.ffn_norm.weight")
		if src.has(at(l.decoder.qNorm, 0) + ".weight") {
			k.Attention.QKNorm = transformer.QKNormEachHead
		}
	}
})

var ggufFalcon = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps, fixed: slices.Concat(ggufFixed, ggufFactors),
	activation: text{"", "gelu"},
	kind:       transformer.Kind{Parallel: true},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", never)),
	adjust:     func(c *config, s *transformer.Spec, _ *layout) { setRotary(s, ggufHeads(c, s)) },
	// With two norms, attn_norm is that of the feed-forward block.
	detect: func(src *source, s *transformer.Spec, l *layout) {
		if s.Kinds[0].SharedNorm = !src.has("blk.0.attn_norm_2.weight"); !s.Kinds[0].SharedNorm {
			l.decoder.attentionNorm, l.decoder.ffnNorm = "blk.%d.attn_norm_2", "blk.%d.attn_norm"
		}
	},
}

var ggufBLOOM = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, eps: ggufEps,
	fixed:      slices.Concat(ggufFixed, ggufFactors[1:]),
	activation: text{"", "gelu_pytorch_tanh"},
	spec:       transformer.Spec{EmbedNorm: true},
	tensors:    ggufLayout(ggufLayers("blk.%d.attn_qkv", always)),
	adjust: func(c *config, s *transformer.Spec, l *layout) {
		l.embedNorm = "token_embd_norm"
		a := &s.Kinds[0].Attention
		a.Slopes = alibiSlopes(a.Heads)
	},
}

// ggufLike returns a family with Llama's layers, changed by change.
func ggufLike(change func(f *family)) family {
	f := family{
		vocab: ggufVocab, context: ggufContext, width: ggufWidth, decoder: ggufDecoder, fixed: slices.Concat(ggufFixed, ggufFactors),
		activation: text{"", "silu"},
		eps:        real{"attention.layer_norm_rms_epsilon", 1e-5},
		spec:       transformer.Spec{Norm: transformer.RMSNorm},
		kind:       transformer.Kind{FeedForward: transformer.FeedForward{Gated: true}},
		tensors:    ggufLayout(ggufLayers("blk.%d.attn_q blk.%d.attn_k blk.%d.attn_v", stored)),
		buffers:    []string{"blk.*.attn_rot_embd", "blk.*.attn_rot_embd.weight"},
	}
	change(&f)
	return f
}

// ggufQKNorm gives a family norms of queries and keys.
func ggufQKNorm(f *family, kind transformer.QKNorm) {
	f.kind.Attention.QKNorm = kind
	f.tensors.decoder.qNorm, f.tensors.decoder.kNorm = "blk.%d.attn_q_norm", "blk.%d.attn_k_norm"
}

// ggufSandwich gives a family norms after each branch too, and the caps that read them.
func ggufSandwich(f *family) {
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.SandwichNorm, transformer.SandwichNorm
	l := &f.tensors.decoder
	l.attentionPostNorm, l.ffnPostNorm = "blk.%d.post_attention_norm", "blk.%d.post_ffw_norm"
	f.fixed = slices.DeleteFunc(slices.Clone(f.fixed), func(v requiredValue) bool {
		return v.name == "attn_logit_softcapping" || v.name == "final_logit_softcapping"
	})
}

// ggufHeads reads the dimensions of heads, and their rotary embedding.
func ggufHeads(c *config, s *transformer.Spec) transformer.Rotary {
	a := &s.Kinds[0].Attention
	a.KVHeads = c.integer("attention.head_count_kv", a.Heads, 1, maxHeads)
	a.HeadDim = ggufDim(c, "", a.HeadDim)
	return ggufRotary(c, a.HeadDim, 10000)
}

// ggufDim reads the width of heads of layers whose keys have a suffix.
func ggufDim(c *config, suffix string, absent int) int {
	key, value := "attention.key_length"+suffix, "attention.value_length"+suffix
	dim := c.integer(key, absent, 1, maxWidth)
	if v := c.integer(value, dim, 1, maxWidth); v != dim {
		c.reject(value, "%d is not %s, %d", v, key, dim)
	}
	return dim
}

// interleaved makes the pairs of a rotary embedding neighbours, as in GPT-J.
func interleaved(r transformer.Rotary) transformer.Rotary {
	r.Interleaved = true
	return r
}

// ggufWindows reads the window and its layers, and reports which have one.
func ggufWindows(c *config, s *transformer.Spec, rule func(layer int) bool, absent int) []bool {
	windowed := ggufWindowed(c, s, rule)
	if size := c.integer(ggufWindow, absent, 0, maxContext); size > 0 {
		setWindows(c, s, windowed, field{ggufWindow, size})
	}
	return windowed
}

const ggufWindow = "attention.sliding_window"

// ggufWindowed reports which layers have a window: a list of booleans, the number of layers in
// a period of which the last has none, or the family's own rule.
func ggufWindowed(c *config, s *transformer.Spec, rule func(layer int) bool) []bool {
	windowed := make([]bool, len(s.Decoder))
	for i := range windowed {
		windowed[i] = rule(i)
	}
	const pattern = "attention.sliding_window_pattern"
	if _, raw := c.find(pattern); raw != nil && raw[0] == '[' {
		_, list, _ := read[[]bool](c, pattern, "list of booleans")
		if len(list) < len(windowed) {
			c.reject(pattern, "%d values of %d layers", len(list), len(windowed))
			return windowed
		}
		copy(windowed, list)
	} else if raw != nil {
		every := c.integer(pattern, 1, 1, maxDepth)
		for i := range windowed {
			windowed[i] = (i+1)%every != 0
		}
	}
	return windowed
}
