package arch

import "glossa/pkg/engine/transformer"

// bert is Devlin et al. 2018: an encoder with a norm after each residual sum.
var bert = bertLike("BERT", "bert.", nil)

// roberta is Liu et al. 2019: BERT whose positions begin after that of padding.
var roberta = bertLike("RoBERTa", "roberta.", func(f *family) {
	f.vocab = field{"vocab_size", 50265}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 2}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		s.TokenTypes = c.integer("type_vocab_size", 2, 1, maxHeads)
		skipPadding(c, s, l, c.integer("pad_token_id", 1, 0, maxVocab))
	}
})

// xlmRoberta is Conneau et al. 2019.
var xlmRoberta = func() family {
	f := roberta
	f.title = "XLM-RoBERTa"
	return f
}()

// mpnet is Song et al. 2020: RoBERTa without types of tokens, and with biases of scores by
// distance that all layers share.
var mpnet = bertLike("MPNet", "mpnet.", func(f *family) {
	f.vocab = field{"vocab_size", 30527}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 2}
	const at = "encoder.layer.%d."
	e := &f.tensors.encoder
	e.qkv.names = at + "attention.attn.q " + at + "attention.attn.k " + at + "attention.attn.v"
	e.out.names, e.attentionPostNorm = at+"attention.attn.o", at+"attention.LayerNorm"
	f.tensors.relative = "encoder.relative_attention_bias"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		c.require([]requiredValue{{"relative_attention_num_buckets", "32"}}) // transformers computes with 32 whatever the file says
		s.RelativeBuckets, s.RelativeDistance = 32, 128
		skipPadding(c, s, l, 1) // whatever pad_token_id says (transformers, MPNetEmbeddings)
	}
})

// distilBERT is Sanh et al. 2019: BERT without types of tokens.
var distilBERT = bertLike("DistilBERT", "distilbert.", func(f *family) {
	f.width, f.activation = field{"dim", 768}, text{"activation", "gelu"}
	f.encoder = dimensions{depth: field{"n_layers", 6}, heads: field{"n_heads", 12}, ffn: field{"hidden_dim", 3072}}
	const at = "transformer.layer.%d."
	f.tensors.encoder = layers{
		qkv:               linear{names: at + "attention.q_lin " + at + "attention.k_lin " + at + "attention.v_lin", bias: always},
		out:               linear{names: at + "attention.out_lin", bias: always},
		attentionPostNorm: at + "sa_layer_norm",
		up:                linear{names: at + "ffn.lin1", bias: always},
		down:              linear{names: at + "ffn.lin2", bias: always},
		ffnPostNorm:       at + "output_layer_norm",
	}
	f.buffers = append(f.buffers, "pre_classifier.weight", "pre_classifier.bias", "vocab_transform.weight", "vocab_transform.bias",
		"vocab_layer_norm.weight", "vocab_layer_norm.bias", "vocab_projector.weight", "vocab_projector.bias")
	f.adjust = nil
	f.eps = real{"", 1e-12} // whatever the file says (transformers, modeling_distilbert)
})

// bertLike returns a family with BERT's common parts, changed by change, which may be nil.
func bertLike(title, prefix string, change func(f *family)) family {
	const at = "encoder.layer.%d."
	f := family{
		title:   title,
		vocab:   field{"vocab_size", 30522},
		context: field{"max_position_embeddings", 512},
		width:   field{"hidden_size", 768},
		encoder: dimensions{
			depth: field{"num_hidden_layers", 12}, heads: field{"num_attention_heads", 12}, ffn: field{"intermediate_size", 3072},
		},
		activation: text{"hidden_act", "gelu"},
		eps:        real{"layer_norm_eps", 1e-12},
		bos:        field{"bos_token_id", -1},
		eos:        field{"eos_token_id", -1},
		fixed:      []requiredValue{{"position_embedding_type", `"absolute"`}, {"is_decoder", "false"}, {"embedding_size", "null"}},
		spec:       transformer.Spec{Position: transformer.Learned, EmbedNorm: true, NoLastNorm: true},
		kind:       postResidual(),
		tensors: layout{
			prefix: prefix, embed: "embeddings.word_embeddings", positions: "embeddings.position_embeddings",
			tokenTypes: "embeddings.token_type_embeddings", embedNorm: "embeddings.LayerNorm",
			encoder: layers{
				qkv:               linear{names: at + "attention.self.query " + at + "attention.self.key " + at + "attention.self.value", bias: always},
				out:               linear{names: at + "attention.output.dense", bias: always},
				attentionPostNorm: at + "attention.output.LayerNorm",
				up:                linear{names: at + "intermediate.dense", bias: always},
				down:              linear{names: at + "output.dense", bias: always},
				ffnPostNorm:       at + "output.LayerNorm",
			},
		},
		// The pooler is for classifiers alone, and the other heads are those of the training.
		buffers: []string{
			"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias",
			"cls.predictions.bias", "cls.predictions.transform.dense.weight", "cls.predictions.transform.dense.bias",
			"cls.predictions.transform.LayerNorm.weight", "cls.predictions.transform.LayerNorm.bias",
			"cls.predictions.transform.LayerNorm.gamma", "cls.predictions.transform.LayerNorm.beta",
			"cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias",
			"lm_head.bias", "lm_head.dense.weight", "lm_head.dense.bias", "lm_head.layer_norm.weight", "lm_head.layer_norm.bias",
			"lm_head.decoder.weight", "lm_head.decoder.bias",
		},
		adjust: func(c *config, s *transformer.Spec, _ *layout) {
			s.TokenTypes = c.integer("type_vocab_size", 2, 1, maxHeads)
		},
	}
	if change != nil {
		change(&f)
	}
	return f
}

// postResidual returns a kind of layers with a norm after each residual sum.
func postResidual() (k transformer.Kind) {
	k.Attention.Norms, k.FeedForward.Norms = transformer.PostResidualNorm, transformer.PostResidualNorm
	return k
}

// skipPadding skips the positions up to that of the token of padding: the first token has the
// next one (transformers, create_position_ids_from_input_ids).
func skipPadding(c *config, s *transformer.Spec, l *layout, padding int) {
	l.skip = padding + 1
	if s.Context -= l.skip; s.Context < 1 {
		c.reject("max_position_embeddings", "%d positions, %d of which are for padding", s.Context+l.skip, l.skip)
	}
}

// nomicBERT is Nussbaum et al. 2024: BERT with a rotary embedding and a gate, without biases.
// The names of its settings and tensors are those of the authors or of transformers.
var nomicBERT = bertLike("Nomic BERT", "bert.", func(f *family) {
	f.vocab, f.width = field{"vocab_size", 30528}, field{"hidden_size n_embd", 768}
	f.context = field{"max_position_embeddings n_positions", 2048}
	f.encoder = dimensions{
		depth: field{"num_hidden_layers n_layer", 12}, heads: field{"num_attention_heads n_head", 12}, ffn: field{"intermediate_size n_inner", 3072},
	}
	f.activation = text{"hidden_act", "silu"}
	f.eps = real{"layer_norm_eps layer_norm_epsilon", 1e-12}
	f.fixed = append(f.fixed, []requiredValue{
		{"activation_function", `"swiglu"`}, {"prenorm", "false"}, {"parallel_block", "false"}, {"causal", "false"}, {"use_rms_norm", "false"},
		{"rotary_emb_interleaved", "false"}, {"rotary_emb_scale_base", "null"}, {"rotary_scaling_factor", "null"}, {"qkv_proj_bias", "false"},
		{"mlp_fc1_bias", "false"}, {"mlp_fc2_bias", "false"}, {"expert_choice_router", "null"}, {"num_experts", "0"},
	}...)
	f.spec.Position = transformer.NoPosition
	f.kind.FeedForward.Gated = true
	f.tensors.positions, f.tensors.embedNorm = "", "emb_ln"
	const at = "encoder.layers.%d."
	f.tensors.encoder = layers{
		qkv: linear{names: at + "attn.Wqkv"}, out: linear{names: at + "attn.out_proj"}, attentionPostNorm: at + "norm1",
		up: linear{names: at + "mlp.fc11"}, gate: linear{names: at + "mlp.fc12"}, down: linear{names: at + "mlp.fc2"}, ffnPostNorm: at + "norm2",
	}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.TokenTypes = c.integer("type_vocab_size", 2, 1, maxHeads)
		r := rope{dim: s.Kinds[0].Attention.HeadDim, base: real{"rope_theta rotary_emb_base", 1000}, part: real{"partial_rotary_factor rotary_emb_fraction", 1}}
		setRotary(s, r.read(c))
	}
	f.detect = func(src *source, _ *transformer.Spec, l *layout) {
		if !src.has("layers.0.self_attn.q_proj.weight") {
			return
		}
		l.embedNorm = "embeddings.LayerNorm"
		l.encoder = bertRotaryLayers(never)
		l.encoder.up, l.encoder.gate, l.encoder.down = linear{names: "layers.%d.mlp.up_proj"}, linear{names: "layers.%d.mlp.gate_proj"}, linear{names: "layers.%d.mlp.down_proj"}
	}
})
