package arch

import (
	"fmt"
	"math"

	"glossa/pkg/engine/transformer"
)

// falconH1 is TII 2025 (Falcon-H1): attention and states read the same norm, and both add to the
// residual stream. Its factors are those of a Spec, or change small vectors: matrices remain as
// they are stored.
var falconH1 = bambaLike("Falcon-H1", func(f *family) {
	f.context = field{"max_position_embeddings", 8192}
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		k, r := &s.Kinds[0], bambaHeads(c, s, 1)
		if r.Dims != k.Attention.HeadDim {
			c.reject("partial_rotary_factor", "partial rotary embeddings are not supported for this architecture")
		}
		setRotary(s, r)
		llamaBiases(c, l)
		k.States = falconStates(c, s, l)
		falconFactors(c, s, l)
	}
})

// falconStates reads the dimensions of states. Null stands for a multiple of the width.
func falconStates(c *config, s *transformer.Spec, l *layout) *transformer.StateSpace {
	inner := c.integer("mamba_d_ssm", 1024, 1, maxFFN)
	if _, said := c.fields["mamba_d_ssm"]; said && !c.has("mamba_d_ssm") {
		inner = c.expanded(s.Width)
	}
	states := readStates(c, l, &hybridFields, inner)
	switch {
	case !c.flag("mamba_rms_norm", false):
		states.Gating = transformer.GateAlone
	case c.flag("mamba_norm_before_gate", true):
		states.Gating = transformer.NormThenGate
	}
	if l.decoder.states.outBias = never; c.flag("projectors_bias", false) {
		l.decoder.states.outBias = always
	}
	return states
}

// falconFactors reads the factors. Those of what attention and states read move behind the
// products, whose biases are divided by them. Of a product's parts that the short convolution
// reads, they move to its weights.
func falconFactors(c *config, s *transformer.Spec, l *layout) {
	number := func(name string) float64 { return c.number(name, 1, 1e-6, 1e6) }
	s.EmbedScale, s.LogitScale = float32(number("embedding_multiplier")), float32(number("lm_head_multiplier"))
	k, in := &s.Kinds[0], number("attention_in_multiplier")
	k.Attention.Scale = float32(in * in * number("key_multiplier") / math.Sqrt(float64(k.Attention.HeadDim)))
	k.Attention.OutScale = float32(in * number("attention_out_multiplier"))
	l.decoder.qkv.scaleBias, l.decoder.out.scaleBias = float32(1/in), float32(1/in)
	block := c.factors("mlp_multipliers", 2)
	k.FeedForward.GateScale, k.FeedForward.OutScale = float32(block[0]), float32(block[1])
	in = number("ssm_in_multiplier")
	each, n := c.factors("ssm_multipliers", 5), &l.decoder.states
	k.States.GateScale, k.States.StepScale = float32(in*each[0]), float32(in*each[4])
	k.States.OutScale = float32(number("ssm_out_multiplier"))
	n.scaleX, n.scaleB, n.scaleC, n.scaleBias = float32(in*each[1]), float32(in*each[2]), float32(in*each[3]), float32(1/in)
}

// factors returns a list of n positive numbers; if it is absent, each is 1.
func (c *config) factors(name string, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1
	}
	_, list, ok := read[[]float64](c, name, "list of numbers")
	if ok && len(list) != n {
		c.reject(name, "%d numbers, %d are needed", len(list), n)
		return all
	}
	for i, v := range list {
		if all[i] = v; !(v >= 1e-6 && v <= 1e6) {
			c.reject(name, "%v is not in 1e-06..1e+06", v)
		}
	}
	return all
}

// ggufFalconH1: the converter multiplies the matrices by the factors. It writes the norm of the
// feed-forward block without ".weight".
var ggufFalconH1 = ggufLike(func(f *family) {
	f.tensors.decoder.states = ggufStates
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, ggufHeads(c, s))
		s.Kinds[0].States = ggufReadStates(c)
	}
	f.detect = func(src *source, s *transformer.Spec, _ *layout) {
		if !src.has("blk.0.ssm_norm.weight") {
			s.Kinds[0].States.Gating = transformer.GateAlone
		}
		for i := range s.Decoder {
			name := fmt.Sprintf("blk.%d.ffn_norm", i)
			if full, ok := src.names[name]; ok && !src.has(name+".weight") {
				src.names[name+".weight"] = full
			}
		}
	}
})
