package arch

import "glossa/pkg/engine/transformer"

// arcee is Arcee's AFM: Llama without a gate, with the square of relu.
var arcee = llamaLike("Arcee", func(f *family) {
	f.context = field{"max_position_embeddings", 4096}
	f.width, f.decoder.ffn = field{"hidden_size", 2560}, field{"intermediate_size", 18432}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 128000}, field{"eos_token_id", 128001}
	ungated(f)
	f.adjust = adjustLlama
})

// nemotron is NVIDIA's Nemotron-4 and Minitron: Arcee with layer norms, which are stored
// minus 1, and a rotary embedding of half of each head.
var nemotron = llamaLike("Nemotron", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 256000}, field{"max_position_embeddings", 4096}
	f.width, f.decoder.ffn = field{"hidden_size", 6144}, field{"intermediate_size", 24576}
	f.decoder.heads = field{"num_attention_heads", 48}
	f.eps = real{"norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 2}, field{"eos_token_id", 3}
	f.spec.Norm = transformer.LayerNorm
	f.tensors.lessOne = true
	ungated(f)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}, part: real{"partial_rotary_factor partial_rotary_percent", 0.5}}))
		llamaBiases(c, l)
	}
})

// ungated gives a family a feed-forward block without a gate, with the square of relu.
func ungated(f *family) {
	f.activation = text{"hidden_act", "relu2"}
	f.kind.FeedForward.Gated = false
	f.tensors.decoder.gate = linear{}
}

// ernie is Baidu's dense ERNIE 4.5: Llama whose rotary embedding's pairs are neighbours.
var ernie = llamaLike("ERNIE 4.5", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 103424}, field{"max_position_embeddings", 131072}
	f.width, f.decoder.ffn = field{"hidden_size", 1024}, field{"intermediate_size", 3072}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 18}, field{"num_attention_heads", 16}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.tied = true
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, interleaved(llamaHeads(c, s, rope{base: real{"rope_theta", 500000}})))
		if c.flag("use_bias", false) {
			allBiases(&l.decoder, always)
			l.decoder.gate.bias = always
		}
	}
})

// helium is Kyutai's Helium 1: Llama whose rotary embedding's pairs are neighbours.
var helium = llamaLike("Helium", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 48000}, field{"max_position_embeddings", 4096}
	f.width, f.decoder.ffn = field{"hidden_size", 2560}, field{"intermediate_size", 7040}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 24}, field{"num_attention_heads", 20}
	f.eps = real{"rms_norm_eps", 1e-8}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, interleaved(llamaHeads(c, s, rope{base: real{"rope_theta", 100000}})))
		if llamaBiases(c, l); l.decoder.qkv.bias == always {
			l.decoder.out.bias = never
		}
	}
})

// seedOSS is ByteDance's Seed-OSS: Llama with biases of queries, keys and values, and heads
// whose width is not that of the model.
var seedOSS = llamaLike("Seed-OSS", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 155136}, field{"max_position_embeddings", 524288}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 64}, field{"num_attention_heads", 80}
	f.decoder.ffn = field{"intermediate_size", 27648}
	f.bos = field{"bos_token_id", 0}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		llamaBiases(c, l)
		l.decoder.qkv.bias, l.decoder.out.bias = never, never
		inputBiases(c, l, true)
		if c.flag("attention_out_bias", false) {
			l.decoder.out.bias = always
		}
	}
})

// internLM3 is InternLM3: Llama with other names of the settings of biases.
var internLM3 = llamaLike("InternLM3", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 128512}, field{"max_position_embeddings", 32768}
	f.decoder.depth, f.decoder.ffn = field{"num_hidden_layers", 48}, field{"intermediate_size", 10240}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].Attention.HeadDim = 128 // if the file does not say it
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		if c.flag("attention_bias qkv_bias", false) {
			l.decoder.qkv.bias, l.decoder.out.bias = always, always
		}
		if c.flag("mlp_bias bias", false) {
			l.decoder.up.bias, l.decoder.gate.bias, l.decoder.down.bias = always, always, always
		}
	}
})
