package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// xglm is Lin et al. 2021 (XGLM), and Artetxe et al. 2021 (fairseq-dense) in the same
// class.
var xglm = family{
	title:   "XGLM",
	vocab:   field{"vocab_size", 256008},
	context: field{"max_position_embeddings", 2048},
	width:   field{"d_model hidden_size", 1024},
	decoder: dimensions{
		depth: field{"num_layers num_hidden_layers decoder_layers", 24},
		heads: field{"attention_heads num_attention_heads decoder_attention_heads", 16},
		ffn:   field{"ffn_dim decoder_ffn_dim", 4096},
	},
	activation: text{"activation_function", "gelu"},
	eps:        real{"", 1e-5},
	tied:       true,
	bos:        field{"bos_token_id", 0},
	eos:        field{"eos_token_id", 2},
	spec:       transformer.Spec{Position: transformer.Sinusoidal},
	tensors: layout{
		prefix: "model.", embed: "embed_tokens", copies: "lm_head", norm: "layer_norm",
		positions: "embed_positions",
		head:      linear{names: "lm_head"},
		decoder:   fairseqLayers("layers.%d."),
	},
	buffers: []string{"embed_positions.weights", "embed_positions._float_tensor"},
	adjust: func(c *config, s *transformer.Spec, _ *layout) {
		scaleEmbedding(c, s)
		if pad := c.integer("pad_token_id", 1, 0, maxVocab); pad > 1 {
			c.reject("pad_token_id", "%d: the position of that row would be zero, which is only supported for rows 0 and 1", pad)
		}
	},
	detect:       useLearnedPositions,
	adjustTokens: adjustFairseqTokens,
}

// fairseqLayers names the tensors of a stack as fairseq does.
func fairseqLayers(prefix string) layers {
	return layers{
		attentionNorm: prefix + "self_attn_layer_norm", ffnNorm: prefix + "final_layer_norm",
		qkv:  linear{names: prefix + "self_attn.q_proj " + prefix + "self_attn.k_proj " + prefix + "self_attn.v_proj", bias: always},
		out:  linear{names: prefix + "self_attn.out_proj", bias: always},
		up:   linear{names: prefix + "fc1", bias: always},
		down: linear{names: prefix + "fc2", bias: always},
	}
}

// scaleEmbedding reads the factor of token embeddings in fairseq's models.
func scaleEmbedding(c *config, s *transformer.Spec) {
	if c.flag("scale_embedding", true) {
		s.EmbedScale = float32(math.Sqrt(float64(s.Width)))
	}
}

// isFairseqDense reports whether a model is one of the English ones, not XGLM. They have
// GPT-2's vocabulary and encode a line feed as </s>, which therefore does not end a text.
func isFairseqDense(c *config) bool {
	return c.text("newlinemode", "") == "s" || c.text("tokenizer_class", "") == "GPT2Tokenizer"
}

// adjustFairseqTokens begins texts with </s>, as both kinds of models were trained.
func adjustFairseqTokens(c *config, m *Model) {
	end := firstOf(m.End, 2)
	m.Start, m.Empty = []int{end}, end
	if isFairseqDense(c) {
		m.End, m.Tokens = nil, end+1 // which GPT-2's tokenizer may not have
	}
}

// useLearnedPositions switches to learned positions if the file has a table of them, as
// fairseq's language models may. Its first two rows are not positions.
func useLearnedPositions(src *source, s *transformer.Spec, l *layout) {
	if !src.has(l.positions + ".weight") {
		return
	}
	s.Position = transformer.Learned
	if t, _ := src.file.Tensor(src.names[l.positions+".weight"]); len(t.Shape) == 2 && t.Shape[0] == s.Context+2 {
		l.skip = 2
	}
}
