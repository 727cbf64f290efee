package arch

import "glossa/pkg/engine/transformer"

// readSteps reads the dimensions of states whose inputs have steps of their own.
func readSteps(c *config, l *layout, f *stateFields, width int) *transformer.StateSpace {
	states := &transformer.StateSpace{
		Heads: 1, HeadDim: c.integer(f.expand, 2, 1, maxHeads) * width, Groups: 1, Gating: transformer.GateAlone,
		Size: c.integer(f.size.names, f.size.absent, 1, maxWidth), Taps: c.integer(f.taps.names, f.taps.absent, 1, maxTaps),
		StepRank: (width + 15) / 16,
	}
	states.HeadDim = c.integer(f.inner, states.HeadDim, 1, maxFFN)
	if _, raw := c.find(f.rank); string(raw) != `"auto"` {
		states.StepRank = c.integer(f.rank, states.StepRank, 1, maxWidth)
	}
	readStateBiases(c, l, f)
	return states
}

// steps looks up the steps of inputs, and what follows them.
func (b *builder) steps(o *transformer.Layer, n *stateNames, i int, s *transformer.StateSpace) {
	inner, selected := s.HeadDim, s.StepRank+2*s.Size
	o.StatesSelection = b.linear(&linear{names: n.selection}, i, selected, inner)
	o.StatesSteps = b.linear(&linear{names: n.steps, bias: always}, i, inner, s.StepRank)
	switch {
	case s.StepEps == 0:
	case n.stepNorms == [3]string{}:
		o.StepNorm = ones(selected)
	default:
		for part, rows := range []int{s.StepRank, s.Size, s.Size} {
			o.StepNorm = append(o.StepNorm, b.vector(at(n.stepNorms[part], i)+".weight", rows).rows(0, rows))
		}
	}
	o.Skip, o.Decay = b.flat(at(n.skip, i), inner, 1), b.flat(at(n.decay, i), inner, s.Size)
}

// ones returns the weights of a norm that has none.
func ones(n int) transformer.Vector {
	return transformer.Vector{{Name: "factors of 1", Rows: n, Cols: 1, Read: func(dst []float32, _ int) error {
		for i := range dst {
			dst[i] = 1
		}
		return nil
	}}}
}

// ggufSteps are the names of all architectures. The decay is stored as it is.
var ggufSteps = stateNames{
	in: "blk.%d.ssm_in", convolution: "blk.%d.ssm_conv1d", out: "blk.%d.ssm_out", decay: "blk.%d.ssm_a", skip: "blk.%d.ssm_d",
	selection: "blk.%d.ssm_x", steps: "blk.%d.ssm_dt", bias: stored, filterBias: stored, outBias: stored,
}

// ggufReadSteps reads the dimensions of states whose inputs have steps of their own.
func ggufReadSteps(c *config) *transformer.StateSpace {
	c.needs("ssm.conv_kernel", "ssm.state_size", "ssm.inner_size", "ssm.time_step_rank")
	return &transformer.StateSpace{
		Heads: 1, HeadDim: c.integer("ssm.inner_size", 1, 1, maxFFN), Groups: 1, Gating: transformer.GateAlone,
		Size: c.integer("ssm.state_size", 1, 1, maxWidth), Taps: c.integer("ssm.conv_kernel", 1, 1, maxTaps),
		StepRank: c.integer("ssm.time_step_rank", 1, 1, maxWidth),
	}
}
