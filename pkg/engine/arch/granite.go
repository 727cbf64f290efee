package arch

import (
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
)

// granite is IBM's Granite 3: Llama with factors of the embedding, scores, branches and
// logits.
var granite = llamaLike("Granite", func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		graniteFactors(c, s)
		adjustLlama(c, s, l)
	}
})

// granite4 is Granite 4: Granite 3 with gate and up in one tensor, perhaps with experts, perhaps
// without positions, and perhaps with layers of states instead of attention.
var granite4 = llamaLike("Granite 4", func(f *family) {
	f.decoder.ffn = field{"shared_intermediate_size", 1024}
	f.tensors.decoder.gateUp = linear{names: "layers.%d.shared_mlp.input_linear"}
	f.tensors.decoder.down = linear{names: "layers.%d.shared_mlp.output_linear"}
	f.tensors.decoder.experts = graniteExperts()
	f.tensors.decoder.states = hybridStates
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		if n := c.integer("num_local_experts", 8, 0, maxExperts); n > 0 {
			e := readExperts(c, field{"num_local_experts", 8}, 2, true)
			f := &s.Kinds[0].FeedForward
			e.Shared, f.Experts = f.Width, e
			f.Width = c.integer("intermediate_size", 11008, 1, maxFFN)
		}
		stateful := c.stateful(len(s.Decoder))
		graniteFactors(c, s)
		r := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}})
		switch kind := c.text("position_embedding_type", "nope"); kind {
		case "rope":
			setRotary(s, r)
		case "nope":
		default:
			c.reject("position_embedding_type", "%.40q is not supported, only rope and nope", kind)
		}
		attentionBiases(c, l)
		if slices.Contains(stateful, true) && *c.err == nil {
			setStates(s, stateful, readStates(c, l, &hybridFields, c.expanded(s.Width)))
		}
	}
})

// stateful reports for each layer whether it has states, as all have if layer_types is absent.
func (c *config) stateful(depth int) []bool {
	return c.replaced("layer_types layers_block_type", depth, []string{"mamba", "linear_attention"}, []string{"attention", fullAttention},
		func(depth int) []bool { return slices.Repeat([]bool{true}, depth) })
}

// hyperCLOVAX is NAVER 2025 (HyperCLOVA X SEED Think): Granite 3 whose logits are multiplied by their
// factor, with norms behind branches too.
var hyperCLOVAX = llamaLike("HyperCLOVA X", func(f *family) {
	f.tensors.decoder.attentionPostNorm, f.tensors.decoder.ffnPostNorm = "layers.%d.post_norm1", "layers.%d.post_norm2"
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		k := &s.Kinds[0]
		graniteFactors(c, s)
		s.LogitScale = float32(c.number("logits_scaling", 1, 1e-6, 1e6))
		adjustLlama(c, s, l)
		if !c.has("attention_multiplier") {
			k.Attention.Scale = 0
		}
		if c.flag("use_post_norm", true) {
			k.Attention.Norms, k.FeedForward.Norms = transformer.SandwichNorm, transformer.SandwichNorm
		}
	}
})

// minicpm is Hu et al. 2024 (MiniCPM 1B and 2B, MiniCPM4): Granite with other names of the
// factors. That of the branches is divided by the root of the depth.
var minicpm = llamaLike("MiniCPM", func(f *family) {
	f.context = field{"max_position_embeddings", 2048}
	f.tied = true
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		if n := c.integer("num_experts", 0, 0, maxDepth); n > 0 {
			c.reject("num_experts", "%d experts are not supported in this architecture", n)
		}
		miniCPMFactors(c, s, 1, 1, 1)
		adjustLlama(c, s, l)
	}
})

// miniCPMFactors reads the factors, which have defaults.
func miniCPMFactors(c *config, s *transformer.Spec, embed, depth float64, base int) {
	s.EmbedScale = float32(c.number("scale_emb", embed, 1e-6, 1e6))
	s.ResidualScale = float32(c.number("scale_depth", depth, 1e-6, 1e6) / math.Sqrt(float64(len(s.Decoder))))
	s.LogitScale = float32(c.integer("dim_model_base", base, 1, maxWidth)) / float32(s.Width)
}

// graniteFactors reads the factors.
func graniteFactors(c *config, s *transformer.Spec) {
	s.EmbedScale = float32(c.number("embedding_multiplier", 1, 1e-6, 1e6))
	s.ResidualScale = float32(c.number("residual_multiplier", 1, 1e-6, 1e6))
	s.LogitScale = float32(1 / c.number("logits_scaling", 1, 1e-6, 1e6))
	s.Kinds[0].Attention.Scale = float32(c.number("attention_multiplier", 1, 1e-9, 1e6))
}
