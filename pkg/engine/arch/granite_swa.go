package arch

import (
	"slices"

	"glossa/pkg/engine/transformer"
)

// graniteSWA is IBM's Granite Swash: Granite with sinks, windows in three of four layers, and rotary
// embeddings whose bases layers may have of their own.
var graniteSWA = graniteSwash(func(f *family) {
	f.vocab, f.context, f.width = field{"vocab_size", 100352}, field{"max_position_embeddings", 8192}, field{"hidden_size", 2560}
	f.decoder = dimensions{depth: field{"num_hidden_layers", 24}, heads: field{"num_attention_heads", 20}, ffn: field{"intermediate_size", 8192}}
	f.bos, f.eos = field{"bos_token_id", 100257}, field{"eos_token_id", 100257}
	f.eps, f.tied = real{"rms_norm_eps", 1e-5}, true
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		a := &s.Kinds[0].Attention
		swashLayers(c, s, l)
		for i := range s.Kinds {
			s.Kinds[i].Attention.KVHeads = c.integer("num_key_value_heads", min(4, a.Heads), 1, maxHeads)
		}
	}
})

// graniteMoESWA is the same with experts, and perhaps with a block that all tokens use.
var graniteMoESWA = graniteSwash(func(f *family) {
	f.tensors.decoder.experts = graniteExperts()
	f.tensors.decoder.experts.stacked = stackedNames{"layers.%d.block_sparse_moe.experts.gate_up_proj", "layers.%d.block_sparse_moe.experts.down_proj"}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		e := readExperts(c, field{"num_local_experts", 8}, 2, true)
		e.Shared = c.integer("shared_intermediate_size", 0, 0, maxFFN)
		s.Kinds[0].FeedForward.Experts = e
		swashLayers(c, s, l)
	}
})

func graniteSwash(change func(f *family)) family {
	return llamaLike("Granite Swash", func(f *family) {
		f.kind.Attention.Sinks, f.tensors.decoder.sinks = true, "layers.%d.self_attn.sinks"
		change(f)
	})
}

// swashLayers reads the factors, and what the layers are.
func swashLayers(c *config, s *transformer.Spec, l *layout) {
	graniteFactors(c, s)
	llamaBiases(c, l)
	const name = "layer_rope_theta"
	all, depth := llamaHeads(c, s, rope{base: real{"rope_theta", 10000}}), len(s.Decoder)
	_, bases, listed := read[[]float64](c, name, "list of numbers")
	if listed && len(bases) < depth {
		c.reject(name, "%d numbers of %d layers", len(bases), depth)
	}
	windowed := c.windowed(depth, func(layer int) bool { return layer%4 != 0 })
	if *c.err != nil {
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		switch r := all; {
		case listed && bases[layer] == 0: // no positions
		case listed && !(bases[layer] >= 1 && bases[layer] <= 1e12):
			c.reject(name, "%v is neither 0 nor in 1..1e12", bases[layer])
		case listed:
			r = c.rebased(k.Attention.HeadDim, bases[layer])
			fallthrough
		default:
			k.Attention.Rotary = addRotary(s, &r)
		}
	})
	setWindows(c, s, windowed, field{"sliding_window", 128})
}

// rebased reads a rotary embedding with another base.
func (c *config) rebased(dim int, base float64) transformer.Rotary {
	r := rope{dim: dim, base: real{"", base}, part: real{"partial_rotary_factor", 1}}
	scaling := r.scaling(c)
	if scaling != nil {
		delete(scaling.fields, "rope_theta")
	}
	return r.readFrom(c, scaling)
}

// ggufGraniteSWA: experts have gate and up in one tensor, and so has the block that all tokens use.
var ggufGraniteSWA = ggufLike(func(f *family) {
	factors := ggufGranite.adjust
	f.fixed = ggufFixed
	f.kind.Attention.Sinks = true
	l := &f.tensors.decoder
	l.sinks = "blk.%d.attn_sinks.weight"
	l.experts = expertNames{
		router: "blk.%d.ffn_gate_inp", stacked: stackedNames{"blk.%d.ffn_gate_up_exps.weight", "blk.%d.ffn_down_exps.weight"},
		shared: block{gateUp: linear{names: "blk.%d.ffn_up_shexp"}, down: linear{names: "blk.%d.ffn_down_shexp"}},
	}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		c.needs(ggufWindow)
		if c.integer("expert_count", 0, 0, maxExperts) > 0 {
			e := ggufSetExperts(c, s, true)
			e.Shared = c.integer("expert_shared_feed_forward_length", 0, 0, maxFFN)
		}
		factors(c, s, l)
		ggufWindows(c, s, func(layer int) bool { return layer%4 != 0 }, 0)
		c.unrotate("attention.rope_pattern", s)
	}
})

// unrotate takes the rotary embedding from the layers that a list of booleans, if there is one, does not name.
func (c *config) unrotate(name string, s *transformer.Spec) {
	_, rotated, listed := read[[]bool](c, name, "list of booleans")
	if !listed {
		return
	}
	if len(rotated) < len(s.Decoder) {
		c.reject(name, "%d values of %d layers", len(rotated), len(s.Decoder))
		return
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if !rotated[layer] {
			k.Attention.Rotary = 0
		}
	})
	if !slices.ContainsFunc(s.Kinds, func(k transformer.Kind) bool { return k.Attention.Rotary > 0 }) {
		s.Rotaries = nil
	}
}
