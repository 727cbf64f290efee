package arch

import "glossa/pkg/engine/transformer"

// jamba is Lieber et al. 2024 (Jamba): attention that does not rotate in some layers, Mamba's states with
// norms of what steps are made of, b and c in the others, and experts in some of both.
var jamba = bambaLike("Jamba", func(f *family) {
	f.vocab, f.context, f.eps = field{"vocab_size", 65536}, field{"max_position_embeddings", 262144}, real{"rms_norm_eps", 1e-6}
	l := &f.tensors.decoder
	n := &l.states
	n.step, n.norm = "", ""
	n.selection, n.steps = "layers.%d.mamba.x_proj", "layers.%d.mamba.dt_proj"
	n.stepNorms = [3]string{"layers.%d.mamba.dt_layernorm", "layers.%d.mamba.b_layernorm", "layers.%d.mamba.c_layernorm"}
	l.experts = expertNames{
		router: "layers.%d.feed_forward.router",
		up:     "layers.%d.feed_forward.experts.%e.up_proj", gate: "layers.%d.feed_forward.experts.%e.gate_proj", down: "layers.%d.feed_forward.experts.%e.down_proj",
		stacked: stackedNames{"layers.%d.feed_forward.experts.gate_up_proj", "layers.%d.feed_forward.experts.down_proj"},
	}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		bambaHeads(c, s, 1)
		states := readSteps(c, l, &jambaFields, s.Width)
		states.StepEps = s.Eps
		attends, expert := c.every("attn_layer_period", 8, "attn_layer_offset", 4), c.every("expert_layer_period", 2, "expert_layer_offset", 1)
		var e *transformer.Experts
		if count := (field{"num_experts num_local_experts", 16}); c.integer(count.names, count.absent, 1, maxExperts) > 1 {
			e = readExperts(c, count, 2, false)
		}
		if *c.err != nil {
			return
		}
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if !attends(layer) {
				k.Attention, k.States = transformer.Attention{}, states
			}
			if expert(layer) {
				k.FeedForward.Experts = e
			}
		})
	}
})

var jambaFields = stateFields{
	size: field{"mamba_d_state", 16}, taps: field{"mamba_d_conv", 4}, expand: "mamba_expand", rank: "mamba_dt_rank",
	bias: "mamba_proj_bias", filterBias: "mamba_conv_bias",
}

// every reads a period and a smaller offset, and returns whether a layer is one of those that they name.
func (c *config) every(period string, layers int, offset string, first int) func(layer int) bool {
	layers = c.integer(period, layers, 1, maxDepth)
	first = c.integer(offset, first, 0, maxDepth)
	if first >= layers {
		c.reject(offset, "%d is not below %s, %d", first, period, layers)
	}
	return func(layer int) bool { return layer%layers == first }
}

// ggufJamba: layers without heads of keys have states, those with a router experts. Files of models without
// experts say that there is one.
var ggufJamba = ggufLike(func(f *family) {
	l := &f.tensors.decoder
	l.experts, l.states = ggufExperts(), ggufSteps
	l.states.stepNorms = [3]string{"blk.%d.ssm_dt_norm", "blk.%d.ssm_b_norm", "blk.%d.ssm_c_norm"}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		stateful := c.headless(len(s.Decoder))
		ggufHeads(c, s)
		if c.integer("expert_count", 0, 0, maxExperts) > 1 {
			s.Kinds[0].FeedForward.Experts = ggufReadExperts(c, false, ggufSoftmax)
		}
		states := ggufReadSteps(c)
		if states.StepEps = s.Eps; *c.err == nil {
			setStates(s, stateful, states)
		}
	}
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		eachLayer(s, func(layer int, k *transformer.Kind) {
			if !src.has(at(l.decoder.experts.router, layer) + ".weight") {
				k.FeedForward.Experts = nil
			}
		})
	}
})
