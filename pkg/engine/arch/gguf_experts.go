package arch

import "glossa/pkg/engine/transformer"

// ggufExperts names the tensors of experts: those of all experts of a layer in one.
func ggufExperts() expertNames {
	return expertNames{
		router: "blk.%d.ffn_gate_inp", up: "blk.%d.ffn_up_exps", gate: "blk.%d.ffn_gate_exps", down: "blk.%d.ffn_down_exps",
		shared:     block{up: linear{names: "blk.%d.ffn_up_shexp"}, gate: linear{names: "blk.%d.ffn_gate_shexp"}, down: linear{names: "blk.%d.ffn_down_shexp"}},
		sharedGate: "blk.%d.ffn_gate_inp_shexp",
	}
}

// ggufSetExperts reads the experts of all layers. Files do not say whether probabilities are
// divided by their sum: architectures do, unless a key says otherwise.
func ggufSetExperts(c *config, s *transformer.Spec, renormalised bool) *transformer.Experts {
	c.require([]requiredValue{{"leading_dense_block_count", "0"}})
	e := ggufReadExperts(c, renormalised, ggufSoftmax)
	f := &s.Kinds[0].FeedForward
	f.Experts, f.Width = e, c.integer("expert_feed_forward_length", f.Width, 1, maxFFN)
	return e
}

// What expert_gating_func says of probabilities.
const (
	ggufSoftmax = "1"
	ggufSigmoid = "2"
)

// ggufReadExperts reads the numbers of experts. The file may say how their probabilities are
// computed, but only as they are in the architecture.
func ggufReadExperts(c *config, renormalised bool, gating string) *transformer.Experts {
	c.needs("expert_count", "expert_used_count")
	c.require([]requiredValue{{"expert_gating_func", gating}, {"expert_group_count", "1"}})
	e := &transformer.Experts{Count: c.integer("expert_count", 1, 1, maxExperts), Renormalised: c.flag("expert_weights_norm", renormalised)}
	e.Used = c.integer("expert_used_count", 1, 1, e.Count)
	if scale := float32(c.number("expert_weights_scale", 1, 0, 1e6)); scale != 1 { // 0 is none too
		e.Scale = scale
	}
	return e
}

// ggufQwen2MoE: the width of the block that all tokens use has a key of its own in newer files.
var ggufQwen2MoE = ggufLike(func(f *family) {
	f.tensors.decoder.qkv.bias = stored
	f.tensors.decoder.experts = ggufExperts()
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		dense := s.Kinds[0].FeedForward.Width
		e := ggufSetExperts(c, s, false)
		e.Shared, e.SharedGate = c.integer("expert_shared_feed_forward_length", dense, 1, maxFFN), true
		setRotary(s, ggufHeads(c, s))
	}
})

var (
	ggufQwen3MoE = ggufNormedExperts(transformer.QKNormHead, true)
	ggufOLMoE    = ggufNormedExperts(transformer.QKNormAll, false)
)

// ggufNormedExperts returns a family with experts in all layers and norms of queries and keys.
func ggufNormedExperts(norm transformer.QKNorm, renormalised bool) family {
	return ggufLike(func(f *family) {
		ggufQKNorm(f, norm)
		f.tensors.decoder.experts = ggufExperts()
		f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
			ggufSetExperts(c, s, renormalised)
			setRotary(s, ggufHeads(c, s))
		}
	})
}

// ggufGraniteMoE: the converter separates gate and up.
var ggufGraniteMoE = ggufLike(func(f *family) {
	dense := ggufGranite.adjust
	f.fixed = ggufFixed
	f.tensors.decoder.experts = ggufExperts()
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		e := ggufSetExperts(c, s, true)
		e.Shared = c.integer("expert_shared_feed_forward_length", 0, 0, maxFFN)
		dense(c, s, l)
	}
})
