package arch

import "glossa/pkg/engine/transformer"

// marian is Junczys-Dowmunt et al. 2018, whose form the models of OPUS-MT have (Tiedemann and
// Thottingal 2020): an encoder-decoder with norms behind its branches, and none at the end.
var marian = family{
	title:      "Marian",
	vocab:      field{"vocab_size", 58101},
	context:    field{"max_position_embeddings", 1024},
	width:      m2m100.width,
	decoder:    m2m100.decoder,
	encoder:    m2m100.encoder,
	activation: text{"activation_function", "gelu"},
	eps:        real{"", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 0},
	eos:        field{"eos_token_id", 0},
	fixed: []requiredValue{
		{"tie_word_embeddings", "true"}, {"is_encoder_decoder", "true"}, {"share_encoder_decoder_embeddings", "true"},
		{"static_position_embeddings", "true"}, {"normalize_before", "false"}, {"normalize_embedding", "false"}, {"add_final_layer_norm", "false"},
	},
	spec: transformer.Spec{Position: transformer.SinusoidalFirst, NoLastNorm: true},
	kind: transformer.Kind{
		Attention:   transformer.Attention{Norms: transformer.PostResidualNorm},
		FeedForward: transformer.FeedForward{Norms: transformer.PostResidualNorm},
	},
	tensors: layout{
		prefix: "model.", embed: "shared", copies: "encoder.embed_tokens decoder.embed_tokens lm_head",
		head: linear{names: "lm_head"}, lastBias: "final_logits_bias",
		encoder: normsBehind(fairseqLayers("encoder.layers.%d.")),
		decoder: normsBehind(crossLayers()),
	},
	buffers: []string{"encoder.embed_positions.weight", "decoder.embed_positions.weight"},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		scaleEmbedding(c, s)
		if n := c.integer("decoder_vocab_size", s.Vocab, 1, maxVocab); n != s.Vocab {
			c.reject("decoder_vocab_size", "%d is not vocab_size, %d", n, s.Vocab)
		}
	},
}

// normsBehind names the norms of layers that have them behind their branches.
func normsBehind(l layers) layers {
	l.attentionPostNorm, l.crossPostNorm, l.ffnPostNorm = l.attentionNorm, l.crossNorm, l.ffnNorm
	l.attentionNorm, l.crossNorm, l.ffnNorm = "", "", ""
	return l
}
