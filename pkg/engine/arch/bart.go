package arch

import "glossa/pkg/engine/transformer"

// bart is Lewis et al. 2020: an encoder-decoder with norms behind its branches. Each stack has
// learned positions and a norm of embeddings of its own. Row 2 of a table is the first position.
var bart = family{
	title:      "BART",
	vocab:      field{"vocab_size", 50265},
	context:    field{"max_position_embeddings", 1024},
	width:      m2m100.width,
	decoder:    m2m100.decoder,
	encoder:    m2m100.encoder,
	activation: text{"activation_function", "gelu"},
	eps:        real{"", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 0},
	eos:        field{"eos_token_id", 2},
	fixed: []requiredValue{
		{"tie_word_embeddings", "true"}, {"is_encoder_decoder", "true"}, {"static_position_embeddings", "false"},
		{"normalize_before", "false"}, {"normalize_embedding", "true"}, {"add_final_layer_norm", "false"},
	},
	spec: transformer.Spec{Position: transformer.Learned, EmbedNorm: true, DecoderInput: true, NoLastNorm: true},
	kind: postResidual(),
	tensors: layout{
		prefix: "model.", embed: "shared", copies: "encoder.embed_tokens decoder.embed_tokens lm_head",
		positions: "encoder.embed_positions", decoderPositions: "decoder.embed_positions", skip: 2,
		embedNorm: "encoder.layernorm_embedding", decoderEmbedNorm: "decoder.layernorm_embedding",
		head: linear{names: "lm_head"}, lastBias: "final_logits_bias",
		encoder: normsBehind(fairseqLayers("encoder.layers.%d.")),
		decoder: normsBehind(crossLayers()),
	},
	adjust: func(c *config, s *transformer.Spec, _ *layout) { scaleIfTold(c, s) },
	detect: findLastBias,
}

// pegasus is Zhang et al. 2020: BART with norms before its branches and at the end of both stacks,
// and computed positions.
var pegasus = func() family {
	f := bart
	f.title, f.vocab = "Pegasus", field{"vocab_size", 96103}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", 1}
	f.fixed = []requiredValue{
		{"tie_word_embeddings", "true"}, {"is_encoder_decoder", "true"}, {"static_position_embeddings", "true"},
		{"normalize_before", "true"}, {"normalize_embedding", "false"}, {"add_final_layer_norm", "true"},
	}
	f.spec, f.kind = transformer.Spec{Position: transformer.SinusoidalFirst}, transformer.Kind{}
	l := &f.tensors
	l.norm, l.encoderNorm = "decoder.layer_norm", "encoder.layer_norm"
	l.encoder, l.decoder = fairseqLayers("encoder.layers.%d."), crossLayers()
	f.buffers = []string{"encoder.embed_positions.weight", "decoder.embed_positions.weight"}
	return f
}()

// mBART is Tang et al. 2020 (mBART-50): BART with norms before its branches, and one more at the end
// of both stacks.
var mBART = func() family {
	f := bart
	f.title = "mBART"
	f.fixed = []requiredValue{
		{"tie_word_embeddings", "true"}, {"is_encoder_decoder", "true"}, {"static_position_embeddings", "false"},
		{"normalize_before", "true"}, {"normalize_embedding", "true"}, {"add_final_layer_norm", "true"},
	}
	f.spec.NoLastNorm, f.kind = false, transformer.Kind{}
	l := &f.tensors
	l.norm, l.encoderNorm = pegasus.tensors.norm, pegasus.tensors.encoderNorm
	l.encoder, l.decoder = pegasus.tensors.encoder, pegasus.tensors.decoder
	return f
}()

// scaleIfTold reads the factor of token embeddings of models that have none by default.
func scaleIfTold(c *config, s *transformer.Spec) {
	if c.flag("scale_embedding", false) {
		scaleEmbedding(c, s)
	}
}

// findLastBias leaves out the bias of logits if the file has none: it is zero then, as in files of
// models without a head.
func findLastBias(src *source, _ *transformer.Spec, l *layout) {
	if !src.has(l.lastBias) {
		l.lastBias = ""
	}
}
