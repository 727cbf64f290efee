package arch

import "glossa/pkg/engine/transformer"

// euroBERT is Boizard et al. 2025: Llama, whose tokens see the whole text.
var euroBERT = llamaLike("EuroBERT", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 128256}, field{"max_position_embeddings", 8192}, field{"hidden_size", 768}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 12}, heads: field{"num_attention_heads", 12}, ffn: field{"intermediate_size", 3072}}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 128000}, field{"eos_token_id", 128001}
	f.fixed = append(f.fixed, requiredValue{"is_decoder", "false"})
	f.buffers = append(f.buffers, "lm_head.weight", "lm_head.bias") // of the training
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		adjustLlama(c, s, l)
		bidirectional(s, l, make([]bool, len(s.Decoder)), 0)
	}
})
