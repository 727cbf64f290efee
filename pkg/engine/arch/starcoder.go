package arch

import (
	"glossa/pkg/engine/transformer"
)

// gptBigCode is Li et al. 2023 (StarCoder): GPT-2 with one head of keys and values, and
// matrices stored as (out, in).
var gptBigCode = func() family {
	f := gpt2
	f.title = "StarCoder"
	f.activation = text{"activation_function", "gelu_pytorch_tanh"}
	l := &f.tensors.decoder
	for _, m := range []*linear{&l.qkv, &l.out, &l.up, &l.down} {
		m.transposed = false
	}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		a := &s.Kinds[0].Attention
		if c.flag("multi_query", true) {
			a.KVHeads = 1
			return
		}
		l.decoder.qkv.grouped = true
	}
	return f
}()

// starcoder2 is Lozhkov et al. 2024: Llama with layer norms, biases, no gate, and perhaps a
// window in all layers.
var starcoder2 = llamaLike("StarCoder2", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 49152}, field{"max_position_embeddings", 4096}
	f.width, f.decoder.ffn = field{"hidden_size", 3072}, field{"intermediate_size", 12288}
	f.decoder.depth, f.decoder.heads = field{"num_hidden_layers", 30}, field{"num_attention_heads", 24}
	f.activation = text{"hidden_act", "gelu_pytorch_tanh"}
	f.eps = real{"norm_epsilon", 1e-5}
	f.tied = true
	f.bos, f.eos = field{"bos_token_id", 50256}, field{"eos_token_id", 50256}
	f.spec.Norm = transformer.LayerNorm
	f.kind.FeedForward.Gated = false
	l := &f.tensors.decoder
	l.gate = linear{}
	l.up, l.down = linear{names: "layers.%d.mlp.c_fc"}, linear{names: "layers.%d.mlp.c_proj"}
	allBiases(l, always)
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		if !c.has("num_key_value_heads") {
			c.fields["num_key_value_heads"] = []byte("2")
		}
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}))
		if !c.flag("use_bias", true) {
			allBiases(&l.decoder, never)
		}
		setWindows(c, s, c.windowed(len(s.Decoder), func(int) bool { return c.has("sliding_window") }), field{"sliding_window", 0})
	}
})
