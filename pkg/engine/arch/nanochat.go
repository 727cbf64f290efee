package arch

import "glossa/pkg/engine/transformer"

// nanoChat is Karpathy 2025 (nanochat): Llama with norms without weights, also of the embedding and of
// each head after its rotation, which turns backwards, and without gates.
var nanoChat = llamaLike("nanochat", func(f *family) {
	f.vocab, f.width = field{"vocab_size", 50304}, field{"hidden_size", 768}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 12}, heads: field{"num_attention_heads", 6}, ffn: field{"intermediate_size", 8192}}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 1}
	f.spec.Norm, f.spec.EmbedNorm = transformer.PlainRMSNorm, true
	f.kind.Attention.QKNorm, f.kind.Attention.RotatedNorm = transformer.QKNormHead, true
	ungated(f)
	f.tensors.decoder.up.names, f.tensors.decoder.down.names = "layers.%d.mlp.fc1", "layers.%d.mlp.fc2"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}})
		for _, table := range [][]float32{r.Frequencies, r.Long} {
			for j := range table {
				table[j] = -table[j]
			}
		}
		setRotary(s, r)
		s.LogitSoftCap = float32(c.cap("final_logit_softcapping", 15))
		attentionBiases(c, l)
	}
})
