package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// gemma is Gemma Team 2024 (Gemma 1).
var gemma = gemmaLike("Gemma", func(f *family) {
	f.width, f.decoder.ffn = field{"hidden_size", 3072}, field{"intermediate_size", 24576}
	f.activation = text{"hidden_activation hidden_act", "gelu_pytorch_tanh"}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].FeedForward.Activation = transformer.GELU // files that say gelu mean the tanh form
		gemmaHeads(s)
		adjustLlama(c, s, l)
	}
})

// gemma2 is Gemma Team 2024 (Gemma 2): norms before and after each branch, caps of scores
// and logits, and a window in every second layer.
var gemma2 = gemmaLike("Gemma 2", func(f *family) {
	sandwich(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		gemmaHeads(s)
		gemmaScores(c, s, 50, 30)
		adjustLlama(c, s, l)
		windowed := c.windowed(len(s.Decoder), func(layer int) bool { return layer%2 == 0 })
		setWindows(c, s, windowed, field{"sliding_window", 4096})
	}
})

// vaultGemma is Sinha et al. 2025 (VaultGemma): Gemma 2 without norms behind branches.
var vaultGemma = gemmaLike("VaultGemma", func(f *family) {
	f.tensors.decoder.ffnNorm = "layers.%d.pre_feedforward_layernorm"
	f.adjust = gemma2.adjust
})

// gemma3 is Gemma Team 2025 (Gemma 3), the text model: norms of queries and keys in place of
// caps, a window in five of six layers, and a rotary embedding of their own there.
var gemma3 = gemmaLike("Gemma 3", func(f *family) {
	sandwich(f)
	f.context = field{"max_position_embeddings", 131072}
	f.vocab = field{"vocab_size", 262208}
	f.kind.Attention.QKNorm = transformer.QKNormHead
	f.tensors.decoder.qNorm, f.tensors.decoder.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		gemmaHeads(s)
		gemmaScores(c, s, 0, 0)
		llamaBiases(c, l)
		pattern := c.integer("sliding_window_pattern _sliding_window_pattern", 6, 1, maxDepth)
		windowed := c.windowed(len(s.Decoder), func(layer int) bool { return (layer+1)%pattern != 0 })
		setTwoRotaries(c, s, windowed, gemma3Rotary(c, s, fullAttention), gemma3Rotary(c, s, slidingAttention))
		if c.flag("use_bidirectional_attention", false) {
			bidirectional(s, l, windowed, c.integer("sliding_window", 4096, 1, maxContext))
			l.prefix = "model."
			return
		}
		setWindows(c, s, windowed, field{"sliding_window", 4096})
	}
})

// bidirectional makes an encoder of a decoder (EmbeddingGemma). The window of the
// configuration is that of both sides together (transformers, Gemma3TextConfig).
func bidirectional(s *transformer.Spec, l *layout, windowed []bool, window int) {
	side := window/2 + 1
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if windowed[layer] && side < s.Context {
			k.Attention.Window = side
		}
	})
	s.Encoder, s.Decoder = s.Decoder, nil
	l.encoder, l.encoderNorm = l.decoder, l.norm
}

// gemma3Rotary reads the rotary embedding of a type of layers. Before rope_parameters,
// rope_scaling was for full attention alone.
func gemma3Rotary(c *config, s *transformer.Spec, layers string) transformer.Rotary {
	r := rope{layers: layers, base: real{"rope_theta", 1e6}}
	if layers == slidingAttention {
		r.base = real{"rope_local_base_freq", 10000}
		if p := c.object("rope_parameters"); p == nil || !p.nested() {
			a := &s.Kinds[0].Attention
			return rope{dim: a.HeadDim, base: r.base, part: real{"partial_rotary_factor", 1}}.readFrom(c, nil)
		}
	}
	return llamaHeads(c, s, r)
}

// gemmaLike returns a family with Gemma's common parts, changed by change.
func gemmaLike(title string, change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		f.vocab, f.context = field{"vocab_size", 256000}, field{"max_position_embeddings", 8192}
		f.width, f.decoder.ffn = field{"hidden_size", 2304}, field{"intermediate_size", 9216}
		f.activation = text{"hidden_activation", "gelu_pytorch_tanh"}
		f.tied = true
		f.bos, f.eos = field{"bos_token_id", 2}, field{"eos_token_id", 1}
		f.tensors.lessOne = true
		change(f)
	})
}

// sandwich gives a family norms before and after each branch.
func sandwich(f *family) {
	f.kind.Attention.Norms, f.kind.FeedForward.Norms = transformer.SandwichNorm, transformer.SandwichNorm
	l := &f.tensors.decoder
	l.attentionPostNorm, l.ffnNorm = "layers.%d.post_attention_layernorm", "layers.%d.pre_feedforward_layernorm"
	l.ffnPostNorm = "layers.%d.post_feedforward_layernorm"
}

// gemmaHeads scales the embedding and sets the
// default width of heads.
func gemmaHeads(s *transformer.Spec) {
	s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	s.Kinds[0].Attention.HeadDim = 256
}

// gemmaScores reads the scale and the caps of scores, and the cap of logits.
func gemmaScores(c *config, s *transformer.Spec, scores, logits float64) {
	a := &s.Kinds[0].Attention
	a.Scale = float32(1 / math.Sqrt(c.number("query_pre_attn_scalar", 256, 1e-3, 1e9)))
	a.SoftCap = float32(c.cap("attn_logit_softcapping", scores))
	s.LogitSoftCap = float32(c.cap("final_logit_softcapping", logits))
}

// cap returns a bound; null is none.
func (c *config) cap(name string, absent float64) float64 {
	if _, stated := c.fields[name]; stated && !c.has(name) {
		return 0
	}
	return c.number(name, absent, 0, 1e9)
}

// setTwoRotaries gives layers of full attention one rotary table and the others another.
func setTwoRotaries(c *config, s *transformer.Spec, windowed []bool, full, window transformer.Rotary) {
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		table := &full
		if windowed[layer] {
			table = &window
		}
		k.Attention.Rotary = addRotary(s, table)
	})
}
