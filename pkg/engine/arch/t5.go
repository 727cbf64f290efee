package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// t5 is Raffel et al. 2020 (T5, and T5 1.1 and Flan-T5): an encoder-decoder whose heads add
// biases by distance to scores that have no factor. The first T5 scales what its head reads.
var t5 = family{
	title:   "T5",
	vocab:   field{"vocab_size", 32128},
	context: field{"n_positions", 512},
	width:   field{"d_model", 512},
	encoder: dimensions{
		depth: field{"num_layers num_hidden_layers", 6}, heads: field{"num_heads num_attention_heads", 8}, ffn: field{"d_ff", 2048},
	},
	decoder: dimensions{
		depth: field{"num_decoder_layers num_layers num_hidden_layers", 6}, heads: field{"num_heads num_attention_heads", 8}, ffn: field{"d_ff", 2048},
	},
	activation: text{"", "relu"},
	eps:        real{"layer_norm_epsilon", 1e-6},
	tied:       true,
	bos:        field{"", 0},
	eos:        field{"eos_token_id", 1},
	fixed:      []requiredValue{{"is_encoder_decoder", "true"}},
	spec:       transformer.Spec{Norm: transformer.RMSNorm},
	kind:       transformer.Kind{Attention: transformer.Attention{Scale: 1}},
	tensors: layout{
		embed: "shared decoder.embed_tokens encoder.embed_tokens", head: linear{names: "lm_head"},
		norm: "decoder.final_layer_norm", encoderNorm: "encoder.final_layer_norm",
		relative:       "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
		causalRelative: "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
		encoder:        t5Layers("encoder.block.%d.layer.", "1"),
		decoder:        t5Cross(t5Layers("decoder.block.%d.layer.", "2")),
	},
	// Of the first files; nothing reads it.
	buffers: []string{"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"},
	adjust: func(c *config, s *transformer.Spec, l *layout) {
		adjustT5(c, s, l)
		if c.flag("scale_decoder_outputs", c.flag("tie_word_embeddings", true)) {
			s.LogitScale = t5Scale(s.Width)
		}
	},
	detect: func(src *source, _ *transformer.Spec, l *layout) {
		l.tied = !src.has("lm_head.weight")
	},
}

// minT5Context is the least context of T5: distances have no end, and its files tell the length of
// the texts that it learned from.
const minT5Context = 2048

func adjustT5(c *config, s *transformer.Spec, l *layout) {
	setT5(c, s)
	gated, activation := true, transformer.GELU
	switch kind := c.text("feed_forward_proj", "relu"); kind {
	case "relu":
		gated, activation = false, transformer.ReLU
	case "gated-gelu", "gated-gelu_new":
	case "gated-silu":
		activation = transformer.SiLU
	default:
		c.reject("feed_forward_proj", "%.40q is not supported, only relu, gated-gelu and gated-silu", kind)
	}
	for i := range s.Kinds {
		k := &s.Kinds[i].FeedForward
		k.Gated, k.Activation = gated, activation
	}
	for _, n := range []*layers{&l.encoder, &l.decoder} {
		if !gated {
			n.up, n.gate = n.gate, linear{}
			n.up.names = n.up.names[:len(n.up.names)-len("_0")]
		}
	}
}

// setT5 reads what is alike in a directory and in a GGUF file, which has no greatest distance.
func setT5(c *config, s *transformer.Spec) {
	s.Context = max(s.Context, minT5Context)
	s.RelativeBuckets = c.integer("relative_attention_num_buckets attention.relative_buckets_count", 32, 4, maxHeads)
	s.RelativeDistance = c.integer("relative_attention_max_distance", 128, 1, maxContext)
	dim := c.integer("d_kv head_dim attention.key_length", 64, 1, maxWidth)
	for i := range s.Kinds {
		s.Kinds[i].Attention.HeadDim = dim
	}
}

// t5Scale is the factor of what the first T5's head reads.
func t5Scale(width int) float32 { return float32(1 / math.Sqrt(float64(width))) }

// mt5 is Xue et al. 2021 (mT5), whose head scales nothing, tied or not.
var mt5 = func() family {
	f := t5
	f.title, f.adjust = "mT5", adjustT5
	return f
}()

// umT5 is Chung et al. 2023 (umT5): T5 1.1 whose layers have biases by distance of their own. Its
// files say that the head is not tied, and then it scales nothing; transformers 5.23 always scales
// what it reads, transformers 4 did not.
var umT5 = func() family {
	f := t5
	f.title, f.context, f.vocab = "umT5", field{"n_positions", 512}, field{"vocab_size", 250112}
	f.spec.RelativeLayers = true
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		adjustT5(c, s, l)
		if c.flag("tie_word_embeddings", true) {
			s.LogitScale = t5Scale(s.Width)
		}
	}
	return f
}()

// t5Layers names the tensors of a stack; ffn is the number of its feed-forward block.
func t5Layers(prefix, ffn string) layers {
	return layers{
		relative:      prefix + "0.SelfAttention.relative_attention_bias",
		attentionNorm: prefix + "0.layer_norm", ffnNorm: prefix + ffn + ".layer_norm",
		qkv:  linear{names: prefix + "0.SelfAttention.q " + prefix + "0.SelfAttention.k " + prefix + "0.SelfAttention.v"},
		out:  linear{names: prefix + "0.SelfAttention.o"},
		gate: linear{names: prefix + ffn + ".DenseReluDense.wi_0"},
		up:   linear{names: prefix + ffn + ".DenseReluDense.wi_1"},
		down: linear{names: prefix + ffn + ".DenseReluDense.wo"},
	}
}

// t5Cross adds the names of the cross-attention.
func t5Cross(l layers) layers {
	const prefix = "decoder.block.%d.layer.1."
	l.crossNorm = prefix + "layer_norm"
	l.crossQ = linear{names: prefix + "EncDecAttention.q"}
	l.crossKV = linear{names: prefix + "EncDecAttention.k " + prefix + "EncDecAttention.v"}
	l.crossOut = linear{names: prefix + "EncDecAttention.o"}
	return l
}
