package arch

import (
	"fmt"

	"glossa/pkg/engine/transformer"
)

// apertus is Swiss AI 2025 (Apertus): Llama without gates, with norms of each head of queries and
// keys and an activation that has numbers of each layer.
var apertus = llamaLike("Apertus", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 131072}, field{"max_position_embeddings", 65536}
	f.decoder.ffn = field{"intermediate_size", 14336}
	f.activation, f.eps = text{"", "relu"}, real{"rms_norm_eps", 1e-5} // see adjust
	f.fixed = append(f.fixed, requiredValue{"hidden_act", `"xielu"`})
	f.kind.Attention.QKNorm, f.kind.FeedForward.Gated = transformer.QKNormHead, false
	l := &f.tensors.decoder
	l.attentionNorm, l.ffnNorm = "layers.%d.attention_layernorm", "layers.%d.feedforward_layernorm"
	l.qNorm, l.kNorm = "layers.%d.self_attn.q_norm", "layers.%d.self_attn.k_norm"
	l.gate = linear{}
	for _, name := range xieluNumbers {
		l.learned = append(l.learned, "layers.%d.mlp.act_fn."+name)
	}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.Kinds[0].FeedForward.Activation = transformer.XIELU
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 12e6}}))
		attentionBiases(c, l)
	}
})

// xieluNumbers are the numbers of the activation, in the order of [transformer.XIELU].
var xieluNumbers = []string{"alpha_p", "alpha_n", "beta", "eps"}

// ggufApertus: the numbers of the activation are keys without the architecture's prefix.
var ggufApertus = ggufLike(func(f *family) {
	ggufUngated(f, "relu")
	ggufQKNorm(f, transformer.QKNormHead)
	for _, name := range xieluNumbers {
		f.tensors.decoder.learnedKeys = append(f.tensors.decoder.learnedKeys, "xielu."+name)
	}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.Kinds[0].FeedForward.Activation = transformer.XIELU
		setRotary(s, ggufHeads(c, s))
	}
})

// learned returns the numbers of a layer's activation: tensors of one value, or values of keys.
func (b *builder) learned(l *layers, layer int) (list []transformer.Vector) {
	for _, name := range l.learned {
		list = append(list, transformer.Vector{b.vector(at(name, layer), 1).rows(0, 1)})
	}
	for _, key := range l.learnedKeys {
		values, err := b.file.Meta.Floats(key)
		if err == nil && layer >= len(values) {
			err = fmt.Errorf("key %q: %d values, of layers beyond %d", key, len(values), layer)
		}
		if err != nil {
			if b.err == nil {
				b.err = fmt.Errorf("checkpoint %s: %w", b.file.Name(), err)
			}
			return nil
		}
		list = append(list, transformer.Vector{{Name: key, Rows: 1, Cols: 1, Read: func(dst []float32, from int) error {
			copy(dst, values[layer+from:layer+1])
			return nil
		}}})
	}
	return list
}
