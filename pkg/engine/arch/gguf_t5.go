package arch

import "glossa/pkg/engine/transformer"

// ggufT5 is T5, mT5 and umT5. Its keys say neither whether there are gates, which its tensors do, nor
// whether the head is scaled: it is in the first T5, whose head is the embedding.
var ggufT5 = family{
	vocab: ggufVocab, context: ggufContext, width: ggufWidth, encoder: ggufDecoder,
	decoder: dimensions{
		depth: field{"decoder_block_count block_count", 0}, heads: ggufDecoder.heads, ffn: ggufDecoder.ffn,
	},
	activation: text{"", "relu"},
	eps:        real{"attention.layer_norm_rms_epsilon attention.layer_norm_epsilon", 1e-6},
	fixed:      ggufFactors,
	spec:       transformer.Spec{Norm: transformer.RMSNorm},
	kind:       transformer.Kind{Attention: transformer.Attention{Scale: 1}},
	tensors: layout{
		embed: "token_embd", head: linear{names: "output"}, norm: "dec.output_norm", encoderNorm: "enc.output_norm",
		relative: "enc.blk.0.attn_rel_b", causalRelative: "dec.blk.0.attn_rel_b",
		encoder: ggufT5Layers("enc."), decoder: ggufT5Cross(ggufT5Layers("dec.")),
	},
	buffers: []string{"dec.blk.0.cross_attn_rel_b.weight"}, // of the first files; nothing reads it
	adjust:  func(c *config, s *transformer.Spec, _ *layout) { setT5(c, s) },
	detect: func(src *source, s *transformer.Spec, l *layout) {
		if l.tied {
			s.LogitScale = t5Scale(s.Width)
		}
		s.RelativeLayers = src.has("enc.blk.1.attn_rel_b.weight")
		if !src.has("enc.blk.0.ffn_gate.weight") {
			l.encoder.gate, l.decoder.gate = linear{}, linear{}
			return
		}
		for i := range s.Kinds {
			f := &s.Kinds[i].FeedForward
			f.Gated, f.Activation = true, transformer.GELU
		}
	},
}

func ggufT5Layers(stack string) layers {
	prefix := stack + "blk.%d."
	return layers{
		relative:      prefix + "attn_rel_b",
		attentionNorm: prefix + "attn_norm", ffnNorm: prefix + "ffn_norm",
		qkv:  linear{names: prefix + "attn_q " + prefix + "attn_k " + prefix + "attn_v"},
		out:  linear{names: prefix + "attn_o"},
		gate: linear{names: prefix + "ffn_gate"}, up: linear{names: prefix + "ffn_up"}, down: linear{names: prefix + "ffn_down"},
	}
}

// ggufT5Cross adds the names of the cross-attention.
func ggufT5Cross(l layers) layers {
	const prefix = "dec.blk.%d.cross_attn_"
	l.crossNorm, l.crossQ, l.crossOut = prefix+"norm", linear{names: prefix + "q"}, linear{names: prefix + "o"}
	l.crossKV = linear{names: prefix + "k " + prefix + "v"}
	return l
}

// ggufSeq2Seq returns the token that answers begin with, of an encoder-decoder; nil of others.
func ggufSeq2Seq(c *config, s *transformer.Spec) (*Seq2Seq, error) {
	if len(s.Encoder) == 0 || len(s.Decoder) == 0 {
		return nil, nil
	}
	q := &Seq2Seq{DecoderStart: c.id("decoder_start_token_id", 0, s.Vocab)}
	return q, *c.err
}
