package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// gte is Zhang et al. 2024 (mGTE): BERT with a rotary embedding and gates. Tensors have the names of the
// authors or those of transformers.
var gte = gteLike(160000)

// newGTE is the same by the model_type of the authors' code, whose default is another rotary embedding.
var newGTE = gteLike(10000)

func gteLike(theta float64) family {
	return bertLike("GTE", "new. gte.", func(f *family) {
		f.context.absent = 8192
		f.fixed = append(without(f.fixed, "position_embedding_type"),
			requiredValue{"position_embedding_type", `"rope"`}, requiredValue{"layer_norm_type", `"layer_norm"`}, requiredValue{"logn_attention_scale", "false"})
		f.spec.Position = transformer.NoPosition
		f.kind.FeedForward.Gated = true
		f.tensors.positions = ""
		const at = "encoder.layer.%d."
		f.tensors.encoder = layers{
			qkv: linear{names: at + "attention.qkv_proj", bias: always}, out: linear{names: at + "attention.o_proj", bias: always},
			gateUp: linear{names: at + "mlp.up_gate_proj"}, upFirst: true, down: linear{names: at + "mlp.down_proj", bias: always},
			attentionPostNorm: at + "attn_ln", ffnPostNorm: at + "mlp_ln",
		}
		f.buffers = append(f.buffers, "lm_head.norm.weight", "lm_head.norm.bias",
			"classifier.weight", "classifier.bias") // of sparse embeddings (gte-multilingual-base)
		f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
			s.TokenTypes = c.integer("type_vocab_size", 1, 0, maxHeads)
			setRotary(s, gteRotary(c, s.Kinds[0].Attention.HeadDim, theta))
		}
		f.detect = func(src *source, _ *transformer.Spec, l *layout) {
			if src.has("layers.0.self_attn.q_proj.weight") {
				l.encoder = bertRotaryLayers(always)
				l.encoder.up, l.encoder.gate = linear{names: "layers.%d.mlp.up_proj"}, linear{names: "layers.%d.mlp.gate_proj"}
				l.encoder.down = linear{names: "layers.%d.mlp.down_proj", bias: always}
			}
		}
	})
}

// bertRotaryLayers names attention and norms of BERT's relatives with rotary embeddings as transformers
// does.
func bertRotaryLayers(offsets bias) layers {
	const at = "layers.%d."
	return layers{
		qkv: linear{names: at + "self_attn.q_proj " + at + "self_attn.k_proj " + at + "self_attn.v_proj", bias: offsets},
		out: linear{names: at + "self_attn.o_proj", bias: offsets}, attentionPostNorm: at + "post_attention_layernorm", ffnPostNorm: at + "post_mlp_layernorm",
	}
}

// gteRotary reads a rotary embedding. The authors' scaling "ntk" is a larger base and a factor (bloc97 2023,
// "NTK-aware scaled RoPE"; the class NTKScalingRotaryEmbedding of the authors' code).
func gteRotary(c *config, dim int, theta float64) transformer.Rotary {
	r := rope{dim: dim, base: real{"rope_theta", theta}, part: real{"partial_rotary_factor", 1}}
	scaling := r.scaling(c)
	if scaling == nil || scaling.text("rope_type type", "") != "ntk" {
		return r.readFrom(c, scaling)
	}
	scaling.needs("factor")
	scaling.require([]requiredValue{{"mixed_b", "null"}})
	by, theta := scaling.number("factor", 1, 1, 1e6), c.number("rope_theta", theta, 1, 1e12)
	if dim%2 != 0 {
		c.reject("num_attention_heads", "heads of %d, which is not even", dim)
	}
	f := transformer.Frequencies(theta*by, dim)
	for j := range f {
		f[j] /= float32(math.Pow(by, 2/float64(dim)))
	}
	return transformer.Rotary{Dims: dim, Frequencies: f}
}
