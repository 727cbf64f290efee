package arch

import (
	"glossa/pkg/engine/transformer"
)

// cohere is Cohere's Command R: both branches read one norm, which has no bias, and perhaps
// each head of queries and keys has a norm of its own.
var cohere = cohereLike("Command R", func(f *family) {
	f.context.names = "model_max_length max_position_embeddings" // the latter is too low in published files
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		cohereLogits(c, s)
		setRotary(s, interleaved(llamaHeads(c, s, rope{base: real{"rope_theta", 500000}})))
		llamaBiases(c, l)
		if c.flag("use_qk_norm", false) {
			s.Kinds[0].Attention.QKNorm = transformer.QKNormEachHead
		}
	}
})

// cohere2 is Command R7B, and Command A: layers have a window and a rotary embedding, or
// neither.
var cohere2 = cohereLike("Command R7B", func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		cohereLogits(c, s)
		r := interleaved(llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		llamaBiases(c, l)
		every := c.integer("sliding_window_pattern", 4, 1, maxDepth)
		windowed := c.windowed(len(s.Decoder), func(layer int) bool { return (layer+1)%every != 0 })
		setWindowedRotary(c, s, windowed, r)
		setWindows(c, s, windowed, field{"sliding_window", 4096})
	}
})

// cohereLike returns a family with Command R's common parts, changed by change.
func cohereLike(title string, change func(f *family)) family {
	return llamaLike(title, func(f *family) {
		f.vocab, f.context = field{"vocab_size", 256000}, field{"max_position_embeddings", 8192}
		f.width, f.decoder.ffn = field{"hidden_size", 8192}, field{"intermediate_size", 22528}
		f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 40}, field{"num_attention_heads", 64}
		f.eps = real{"layer_norm_eps", 1e-5}
		f.tied = true
		f.bos, f.eos = field{"bos_token_id", 5}, field{"eos_token_id", 255001}
		f.spec.Norm = transformer.LayerNorm
		f.kind.Parallel, f.kind.SharedNorm = true, true
		f.tensors.noNormBias = true
		l := &f.tensors.decoder
		l.ffnNorm = ""
		l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
		change(f)
	})
}

// cohereLogits reads the factor of logits.
func cohereLogits(c *config, s *transformer.Spec) {
	s.LogitScale = float32(c.number("logit_scale", 0.0625, 1e-6, 1e6))
}

// setWindowedRotary gives layers with a window a rotary embedding, the others none.
func setWindowedRotary(c *config, s *transformer.Spec, windowed []bool, r transformer.Rotary) {
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if windowed[layer] {
			k.Attention.Rotary = addRotary(s, &r)
		}
	})
}
