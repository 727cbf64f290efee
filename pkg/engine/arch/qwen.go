package arch

import "glossa/pkg/engine/transformer"

// qwen2 is Yang et al. 2024 (Qwen2, Qwen2.5): Llama with biases of queries, keys and values.
var qwen2 = llamaLike("Qwen2", func(f *family) {
	qwenDefaults(f)
	f.tensors.decoder.qkv.bias = always
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		qwenWindows(c, s)
	}
})

// qwen3 is Yang et al. 2025: Llama with a norm of each head of queries and keys.
var qwen3 = llamaLike("Qwen3", func(f *family) {
	qwenDefaults(f)
	f.kind.Attention.QKNorm = transformer.QKNormHead
	f.tensors.decoder.qNorm, f.tensors.decoder.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		llamaBiases(c, l)
		qwenWindows(c, s)
	}
})

func qwenDefaults(f *family) {
	f.vocab, f.context = field{"vocab_size", 151936}, field{"max_position_embeddings", 32768}
	f.decoder.ffn = field{"intermediate_size", 22016}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", -1}
}

// qwenWindows reads the windows: by default those of the layers from max_window_layers on,
// if use_sliding_window is true.
func qwenWindows(c *config, s *transformer.Spec) {
	if !c.flag("use_sliding_window", false) {
		return
	}
	first := c.integer("max_window_layers", 28, 0, maxDepth)
	windowed := c.windowed(len(s.Decoder), func(layer int) bool { return layer >= first })
	setWindows(c, s, windowed, field{"sliding_window", 4096})
}
