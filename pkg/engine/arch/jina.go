package arch

import "glossa/pkg/engine/transformer"

// jinaV2 is Günther et al. 2023 (jina-embeddings-v2), whose model_type is that of BERT: instead of positions
// it has ALiBi on both sides of a token, and its feed-forward blocks have gates. The model of code, which
// has more norms, is another one.
var jinaV2 = bertLike("Jina Embeddings v2", "bert.", func(f *family) {
	f.context = field{"max_position_embeddings", 8192}
	f.fixed = append(without(f.fixed, "position_embedding_type"), requiredValue{"feed_forward_type", `"geglu"`})
	f.spec.Position, f.tensors.positions = transformer.NoPosition, ""
	f.kind.FeedForward.Gated = true
	const at = "encoder.layer.%d.mlp."
	e := &f.tensors.encoder
	e.up, e.gateUp = linear{}, linear{names: at + "gated_layers"}
	e.down, e.ffnPostNorm = linear{names: at + "wo", bias: always}, at+"layernorm"
	types := f.adjust
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		types(c, s, l)
		setSlopes(s)
	}
})

// jinaV3 is Sturua et al. 2024 (jina-embeddings-v3), without its adapters: XLM-RoBERTa with a rotary
// embedding. Tensors have the names of the authors or those of transformers.
var jinaV3 = bertLike("Jina Embeddings v3", "roberta.", func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 250002}, field{"max_position_embeddings", 8194}, field{"hidden_size", 1024}
	f.encoder = dimensions{depth: field{"num_hidden_layers", 24}, heads: field{"num_attention_heads", 16}, ffn: field{"intermediate_size", 4096}}
	f.eps = real{"layer_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", 0}, field{"eos_token_id", 2}
	f.fixed = append(without(f.fixed, "position_embedding_type"), requiredValue{"lora_adaptations", "null"})
	f.spec.Position = transformer.NoPosition
	f.tensors.positions, f.tensors.embedNorm = "", "emb_ln"
	const at = "encoder.layers.%d."
	f.tensors.encoder = layers{
		qkv: linear{names: at + "mixer.Wqkv", bias: always}, out: linear{names: at + "mixer.out_proj", bias: always}, attentionPostNorm: at + "norm1",
		up: linear{names: at + "mlp.fc1", bias: always}, down: linear{names: at + "mlp.fc2", bias: always}, ffnPostNorm: at + "norm2",
	}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		s.TokenTypes = c.integer("type_vocab_size", 1, 1, maxHeads)
		r := rope{dim: s.Kinds[0].Attention.HeadDim, base: real{"rope_theta rotary_emb_base", 20000}, part: real{"partial_rotary_factor", 1}}
		setRotary(s, r.read(c))
	}
	f.detect = func(src *source, _ *transformer.Spec, l *layout) {
		if src.has("layers.0.self_attn.q_proj.weight") {
			l.embedNorm, l.encoder = "embeddings.LayerNorm", bertRotaryLayers(always)
			l.encoder.up, l.encoder.down = linear{names: "layers.%d.mlp.fc1", bias: always}, linear{names: "layers.%d.mlp.fc2", bias: always}
		}
	}
})
