package arch

import "glossa/pkg/engine/transformer"

// nomicMoE is Nussbaum and Duderstadt 2025 (nomic-embed-text-v2-moe): Nomic BERT without gates and with
// biases. Every second layer has experts, whose probabilities are not divided by their sum.
var nomicMoE = func() family {
	f := nomicBERT
	f.title, f.activation = "Nomic BERT MoE", text{"activation_function", "gelu"}
	for _, name := range []string{"activation_function", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "expert_choice_router", "num_experts"} {
		f.fixed = without(f.fixed, name)
	}
	f.fixed = append(f.fixed, []requiredValue{
		{"qkv_proj_bias", "true"}, {"mlp_fc1_bias", "true"}, {"mlp_fc2_bias", "true"},
		{"expert_choice_router", "false"}, {"moe_normalize_expert_weights", "false"}, {"num_shared_experts", "0"}, {"ffn_div", "1"},
	}...)
	f.kind.FeedForward.Gated = false
	const at = "encoder.layers.%d.mlp."
	e := &f.tensors.encoder
	e.up, e.gate, e.down = linear{names: at + "fc1"}, linear{}, linear{names: at + "fc2"}
	allBiases(e, always)
	e.experts = expertNames{router: at + "router.layer", flat: at + "experts."}
	f.detect = nil
	plain := f.adjust
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		plain(c, s, l)
		e := readExperts(c, field{"num_experts num_local_experts", 8}, 2, false)
		e.Used = c.integer("moe_top_k num_experts_per_tok", e.Used, 1, e.Count)
		nomicExperts(s, c.integer("moe_every_n_layers", 2, 2, maxDepth), e)
	}
	return f
}()

// ggufNomicMoE: the converter leaves out what is added to the sum of experts.
var ggufNomicMoE = ggufEncoder(func(f *family) {
	allBiases(&f.tensors.encoder, always)
	f.tensors.encoder.gate, f.tensors.encoder.experts = linear{}, ggufExperts()
	f.tensors.encoder.experts.gate = ""
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, ggufRotary(c, s.Kinds[0].Attention.HeadDim, 10000))
		nomicExperts(s, c.integer("moe_every_n_layers", 2, 2, maxDepth), ggufReadExperts(c, false, ggufSoftmax))
	}
})

// nomicExperts gives the second of every some layers experts.
func nomicExperts(s *transformer.Spec, every int, e *transformer.Experts) {
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if layer%every == 1 {
			k.FeedForward.Experts = e
		}
	})
}
