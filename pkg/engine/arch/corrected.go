package arch

import (
	"fmt"

	"glossa/pkg/engine/transformer"
)

// correctedFloor is what the published code of DeepSeek-V3, and of the models with its experts, adds to
// the sum of the chosen probabilities before it divides by it. MiniMax-M2's adds nothing, which comes
// to the same.
//
// Source: transformers 5.23, DeepseekV3TopkRouter.
const correctedFloor = 1e-20

// glm4MoE is GLM Team 2025 (GLM-4.5, GLM-4.6): GLM with experts behind the first layers, and with
// pairs of the rotary embedding that are halves. Layers that draft tokens are not read.
var glm4MoE = llamaLike("GLM-4-MoE", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 151552}, field{"max_position_embeddings", 131072}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 46}, field{"num_attention_heads", 96}
	f.decoder.ffn, f.eps = field{"intermediate_size", 10944}, real{"rms_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", -1}
	correctedExperts(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		a := &s.Kinds[0].Attention
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor", 0.5}})
		a.KVHeads = c.integer("num_key_value_heads", min(8, a.Heads), 1, maxHeads)
		setRotary(s, r)
		inputBiases(c, l, false)
		if c.flag("use_qk_norm", false) {
			a.QKNorm = transformer.QKNormHead
		}
		setCorrectedExperts(c, s, field{"moe_intermediate_size", 1408}, 1, 1, true)
	}
	f.detect = func(src *source, s *transformer.Spec, _ *layout) { ignoreDrafts(src, "layers.", "eh_proj", s) }
})

// dots1 is rednote-hilab's dots.llm1: Qwen 3 with DeepSeek-V3's experts.
var dots1 = llamaLike("dots.llm1", func(f *family) {
	f.vocab, f.width = field{"vocab_size", 152064}, field{"hidden_size", 4608}
	f.decoder.depth, f.decoder.ffn = field{"num_hidden_layers", 62}, field{"intermediate_size", 10944}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", -1}
	f.kind.Attention.QKNorm = transformer.QKNormHead
	correctedExperts(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		attentionBiases(c, l)
		first, window := c.integer("max_window_layers", 62, 0, maxDepth), 4096
		if _, null := c.fields["sliding_window"]; null && !c.has("sliding_window") {
			first, window = maxDepth, 0
		}
		setWindows(c, s, c.windowed(len(s.Decoder), func(layer int) bool { return layer >= first }), field{"sliding_window", window})
		setCorrectedExperts(c, s, field{"moe_intermediate_size", 1408}, 0, 0, false)
	}
})

// solarOpen is Upstage's Solar Open: Llama with GLM-4-MoE's experts in all layers.
var solarOpen = llamaLike("Solar Open", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 196608}, field{"max_position_embeddings", 131072}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 48}, field{"num_attention_heads", 64}
	f.eps, f.bos, f.eos = real{"rms_norm_eps", 1e-5}, field{"bos_token_id", -1}, field{"eos_token_id", -1}
	correctedExperts(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 1e6}}))
		s.Kinds[0].Attention.KVHeads = c.integer("num_key_value_heads", 8, 1, maxHeads)
		inputBiases(c, l, false)
		setCorrectedExperts(c, s, field{"moe_intermediate_size", 1280}, 0, 1, true)
	}
})

// miniMaxM2 is MiniMax-M2: Mixtral whose experts corrected sigmoids choose, with norms of all queries and
// all keys as vectors and a rotary embedding of a part of each head.
var miniMaxM2 = llamaLike("MiniMax-M2", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 200064}, field{"max_position_embeddings", 196608}, field{"hidden_size", 3072}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 62}, heads: field{"num_attention_heads", 48}, ffn: field{"intermediate_size", 1536}}
	f.bos, f.eos = field{"bos_token_id", 200034}, field{"eos_token_id", 200020}
	f.fixed = append(f.fixed, requiredValue{"shared_intermediate_size", "0"})
	f.kind.Attention.QKNorm = transformer.QKNormAll
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	l.experts = mixtral.tensors.decoder.experts
	l.experts.correction = "layers.%d.block_sparse_moe.e_score_correction_bias layers.%d.mlp.e_score_correction_bias"
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		a := &s.Kinds[0].Attention
		a.HeadDim = c.integer("head_dim", 128, 1, maxWidth)
		part := float64(c.integer("rotary_dim", a.HeadDim, 1, a.HeadDim)) / float64(a.HeadDim)
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 5e6}, part: real{"partial_rotary_factor", part}}))
		a.KVHeads = c.integer("num_key_value_heads", 8, 1, maxHeads)
		e := readExperts(c, field{"num_local_experts num_experts", 256}, 8, true)
		e.Sigmoid, e.Corrected, e.Floor = true, true, correctedFloor
		s.Kinds[0].FeedForward.Experts = e
	}
})

// correctedExperts gives a family the tensors of DeepSeek-V3's experts (DeepSeek-AI 2024), which
// choose among all of them, and norms of queries and keys.
func correctedExperts(f *family) {
	f.fixed = append(f.fixed, requiredValue{"n_group", "1"}, requiredValue{"topk_group", "1"})
	l := &f.tensors.decoder
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	qwenExperts(f)
	l.experts.correction = "layers.%d.mlp.gate.e_score_correction_bias"
	l.experts.shared = sharedExperts()
}

// sharedExperts names the block that all tokens use as DeepSeek's models do.
func sharedExperts() block {
	return block{
		up: linear{names: "layers.%d.mlp.shared_experts.up_proj"}, gate: linear{names: "layers.%d.mlp.shared_experts.gate_proj"},
		down: linear{names: "layers.%d.mlp.shared_experts.down_proj"},
	}
}

// setCorrectedExperts gives all layers but the first ones experts that sigmoids choose, and a
// block of the width of some for all tokens.
func setCorrectedExperts(c *config, s *transformer.Spec, ffn field, dense, shared int, renormalised bool) {
	placeExperts(c, s, readCorrectedExperts(c, 128, 8, renormalised), ffn, dense, shared)
}

// readCorrectedExperts reads the number of experts that corrected sigmoids choose.
func readCorrectedExperts(c *config, count, used int, renormalised bool) *transformer.Experts {
	e := readExperts(c, field{"n_routed_experts num_local_experts num_experts", count}, used, c.flag("norm_topk_prob", renormalised))
	if e.Sigmoid, e.Corrected = true, true; e.Renormalised {
		e.Floor = correctedFloor
	}
	return e
}

// placeExperts gives all layers but the first ones experts, whose results have a factor, and a block of the
// width of some for all tokens.
func placeExperts(c *config, s *transformer.Spec, e *transformer.Experts, ffn field, dense, shared int) {
	e.Scale = float32(c.number("routed_scaling_factor", 1, 1e-6, 1e6))
	width := c.integer(ffn.names, ffn.absent, 1, maxFFN)
	e.Shared = width * c.integer("n_shared_experts num_shared_experts", shared, 0, maxFFN/width)
	first := c.integer("first_k_dense_replace", dense, 0, maxDepth)
	sparse := c.replaced("mlp_layer_types", len(s.Decoder), []string{"sparse"}, []string{"dense"}, func(depth int) []bool {
		sparse := make([]bool, depth)
		for i := range sparse {
			sparse[i] = i >= first
		}
		return sparse
	})
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if sparse[layer] {
			k.FeedForward.Width, k.FeedForward.Experts = width, e
		}
	})
}

// ignoreDrafts leaves out the layers behind the last one that draft tokens: those with a matrix of a name.
func ignoreDrafts(src *source, stem, matrix string, s *transformer.Spec) {
	for i := len(s.Decoder); src.has(fmt.Sprintf("%s%d.%s.weight", stem, i, matrix)); i++ {
		src.ignore(fmt.Sprintf("%s%d.", stem, i))
	}
}

// ggufGLM4MoE: the layers that draft tokens are counted too. A file says by its tensors whether heads
// are normalised.
var ggufGLM4MoE = ggufCorrected(func(f *family) {
	l := &f.tensors.decoder
	l.ffnNorm, l.qNorm, l.kNorm = "blk.%d.post_attention_norm", "blk.%d.attn_q_norm", "blk.%d.attn_k_norm"
	detect := f.detect
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		detect(src, s, l)
		ignoreDrafts(src, "blk.", ggufDraft, s)
		if src.has(at(l.decoder.qNorm, 0) + ".weight") {
			for i := range s.Kinds {
				s.Kinds[i].Attention.QKNorm = transformer.QKNormHead
			}
		}
	}
})

var ggufMiniMaxM2 = ggufCorrected(func(f *family) { ggufQKNorm(f, transformer.QKNormAll) })

var ggufDots1 = ggufCorrected(func(f *family) { ggufQKNorm(f, transformer.QKNormHead) })

// ggufDraft is the matrix of a layer that drafts tokens.
const ggufDraft = "nextn.eh_proj"

// ggufCorrected returns a family with experts that sigmoids choose, changed by change.
func ggufCorrected(change func(f *family)) family {
	return ggufLike(func(f *family) {
		l := &f.tensors.decoder
		l.experts = ggufExperts()
		l.experts.correction = "blk.%d.exp_probs_b.bias"
		f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
			s.Decoder = s.Decoder[:len(s.Decoder)-c.integer("nextn_predict_layers", 0, 0, len(s.Decoder)-1)]
			setRotary(s, ggufHeads(c, s))
			e := ggufReadExperts(c, true, ggufSigmoid)
			if e.Sigmoid, e.Corrected = true, true; e.Renormalised {
				e.Floor = correctedFloor
			}
			width := c.integer("expert_feed_forward_length", s.Kinds[0].FeedForward.Width, 1, maxFFN)
			e.Shared = width * c.integer("expert_shared_count", 0, 0, maxFFN/width)
			expertsFrom(s, c.integer("leading_dense_block_count", 0, 0, maxDepth), width, e)
		}
		f.detect = findCorrections
		change(f)
	})
}

// findCorrections says whether experts have corrections by the tensors of the first layer with experts.
func findCorrections(src *source, s *transformer.Spec, l *layout) {
	for i, kind := range s.Decoder {
		if e := s.Kinds[kind].FeedForward.Experts; e != nil {
			if e.Corrected = src.has(at(l.decoder.experts.correction, i)); !e.Corrected && !e.Sigmoid {
				e.Floor = 0
			}
			return
		}
	}
}
