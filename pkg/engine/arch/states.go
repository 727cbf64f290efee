package arch

import (
	"encoding/json"
	"math"
	"strings"

	"glossa/pkg/engine/transformer"
)

// stateNames names the tensors of a layer with states. Those of the decay, the skip and the step
// have their whole names.
type stateNames struct {
	in, convolution, norm, out string
	decay, skip, step          string
	selection, steps           string    // instead of step, if inputs have steps of their own
	stepNorms                  [3]string // of what these steps are made of, of b and of c; none: they have no weights
	logarithms                 bool      // the decay is stored as the logarithm of its opposite
	bias, filterBias           bias      // of the first product, and of the convolution
	outBias                    bias      // of the last product

	// Factors that take effect through what is stored; 0: 1.
	scaleX, scaleB, scaleC float32 // of the results of the first product, in the convolution
	scaleBias              float32 // of its bias
}

// hybridStates are the names of Granite 4 and its relatives.
var hybridStates = stateNames{
	in: "layers.%d.mamba.in_proj", convolution: "layers.%d.mamba.conv1d", norm: "layers.%d.mamba.norm", out: "layers.%d.mamba.out_proj",
	decay: "layers.%d.mamba.A_log", skip: "layers.%d.mamba.D", step: "layers.%d.mamba.dt_bias", logarithms: true,
}

// stateFields are the members of config.json that describe states.
type stateFields struct {
	heads, size, groups, taps field
	dim, bias, filterBias     string
	inner, expand, rank       string // if inputs have steps of their own
}

// hybridFields are those of Granite 4 and its relatives.
var hybridFields = stateFields{
	heads: field{"mamba_n_heads", 128}, size: field{"mamba_d_state", 256}, groups: field{"mamba_n_groups", 1}, taps: field{"mamba_d_conv", 4},
	dim: "mamba_d_head", bias: "mamba_proj_bias", filterBias: "mamba_conv_bias",
}

// readStates reads the dimensions of states with a number of inputs.
func readStates(c *config, l *layout, f *stateFields, inner int) *transformer.StateSpace {
	number := func(f field, most int) int { return c.integer(f.names, f.absent, 1, most) }
	states := &transformer.StateSpace{
		Heads: number(f.heads, maxHeads), Size: number(f.size, maxWidth), Groups: number(f.groups, maxHeads), Taps: number(f.taps, maxTaps),
	}
	states.HeadDim = inner / states.Heads
	if _, raw := c.find(f.dim); raw != nil && string(raw) != `"auto"` {
		states.HeadDim = c.integer(f.dim, states.HeadDim, 1, maxWidth)
	}
	if states.Heads*states.HeadDim != inner {
		c.reject(f.dim, "%d heads of %d are not %d inputs", states.Heads, states.HeadDim, inner)
	}
	if name, limits, ok := read[[]json.RawMessage](c, "time_step_limit", "list"); ok && (len(limits) != 2 || string(limits[0]) != "0.0" && string(limits[0]) != "0" || !strings.Contains(string(limits[1]), "Infinity")) {
		c.reject(name, "%.60s is not supported: steps have no bounds", limits)
	}
	readStateBiases(c, l, f)
	return states
}

// readStateBiases reads whether products and the convolution of states have biases.
func readStateBiases(c *config, l *layout, f *stateFields) {
	n := &l.decoder.states
	if n.bias, n.outBias, n.filterBias = never, never, always; c.flag(f.bias, false) {
		n.bias, n.outBias = always, always
	}
	if !c.flag(f.filterBias, true) {
		n.filterBias = never
	}
}

// expanded returns the number of inputs of states: a multiple of the width.
func (c *config) expanded(width int) int { return c.integer("mamba_expand", 2, 1, maxHeads) * width }

// setStates replaces the attention of some layers by states.
func setStates(s *transformer.Spec, stateful []bool, states *transformer.StateSpace) {
	replaceAttention(s, stateful, func(k *transformer.Kind) { k.States = states })
}

// states looks up the states of a layer.
func (b *builder) states(o *transformer.Layer, l *layers, i int, s *transformer.StateSpace) {
	n, width, inner := &l.states, b.spec.Width, s.Heads*s.HeadDim
	o.AttentionNorm = b.norm(l.attentionNorm, i)
	channels, products := inner, 2*inner
	if s.StepRank == 0 {
		channels = inner + 2*s.Groups*s.Size
		products = inner + channels + s.Heads
	}
	o.StatesIn = b.linear(&linear{names: n.in, bias: b.said(n.in, i, n.bias), scaleBias: n.scaleBias}, i, products, width)
	o.Convolution = b.taps(at(n.convolution, i)+".weight", channels, s.Taps)
	for tap := range o.Convolution {
		t, end := &o.Convolution[tap], inner+s.Groups*s.Size
		scale(t, 0, inner, n.scaleX)
		scale(t, inner, end, n.scaleB)
		scale(t, end, channels, n.scaleC)
	}
	if b.said(n.convolution, i, n.filterBias) == always {
		o.ConvolutionBias = transformer.Vector{b.vector(at(n.convolution, i)+".bias", channels).rows(0, channels)}
	}
	if s.StepRank > 0 {
		b.steps(o, n, i, s)
	} else {
		b.headSteps(o, n, i, s)
	}
	if n.logarithms {
		opposites(&o.Decay[0])
	}
	o.StatesOut = b.linear(&linear{names: n.out, bias: b.said(n.out, i, n.outBias)}, i, width, inner)
}

// said returns whether a tensor of a layer has a bias; layer 0 may have no such tensor.
func (b *builder) said(name string, layer int, said bias) bias {
	switch {
	case said != stored:
		return said
	case b.has(at(name, layer) + ".bias"):
		return always
	}
	return never
}

// headSteps looks up the steps of heads, and what follows them.
func (b *builder) headSteps(o *transformer.Layer, n *stateNames, i int, s *transformer.StateSpace) {
	inner := s.Heads * s.HeadDim
	o.Step, o.Skip, o.Decay = b.flat(at(n.step, i), s.Heads, 1), b.flat(at(n.skip, i), s.Heads, 1), b.flat(at(n.decay, i), s.Heads, 1)
	if s.Gating != transformer.GateAlone {
		o.InnerNorm = b.flat(at(n.norm, i)+".weight", s.Groups, inner/s.Groups)
	}
}

// opposites replaces logarithms by the opposites of what they are of.
func opposites(t *transformer.Tensor) {
	read := t.Read
	t.Read = func(dst []float32, from int) error {
		err := read(dst, from)
		for i, v := range dst {
			dst[i] = float32(-math.Exp(float64(v)))
		}
		return err
	}
}

// scale multiplies the values first, ..., end-1 of a vector by a factor, of which 0 is 1.
func scale(t *transformer.Tensor, first, end int, factor float32) {
	if factor == 0 {
		return
	}
	read := t.Read
	t.Stored, t.ReadStored = transformer.F32, nil
	t.Read = func(dst []float32, from int) error {
		err := read(dst, from)
		for i := max(first, from); i < min(end, from+len(dst)); i++ {
			dst[i-from] *= factor
		}
		return err
	}
}

// flat uses a tensor of rows·cols values, which may be stored as a matrix, as a vector.
func (b *builder) flat(name string, rows, cols int) transformer.Vector {
	shape := []int{rows * cols}
	if b.dimensions(name) == 2 {
		shape = []int{rows, cols}
	}
	t := b.take(name, shape, span{cols: 1}).rows(0, rows*cols)
	t.Stored, t.ReadStored = transformer.F32, nil
	return transformer.Vector{t}
}

// ggufGraniteHybrid: layers without heads of keys have states. The decay is stored as it is.
var ggufGraniteHybrid = ggufLike(func(f *family) {
	dense := ggufGranite.adjust
	f.fixed = ggufFixed
	f.tensors.decoder.experts = ggufExperts()
	f.tensors.decoder.states = ggufStates
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		stateful := c.headless(len(s.Decoder))
		if c.integer("expert_count", 0, 0, maxExperts) > 0 {
			e := ggufSetExperts(c, s, true)
			e.Shared = c.integer("expert_shared_feed_forward_length", 0, 0, maxFFN)
		}
		dense(c, s, l)
		if states := ggufReadStates(c); *c.err == nil {
			setStates(s, stateful, states)
		}
	}
})

// ggufStates are the names of all architectures.
var ggufStates = stateNames{
	in: "blk.%d.ssm_in", convolution: "blk.%d.ssm_conv1d", norm: "blk.%d.ssm_norm", out: "blk.%d.ssm_out",
	decay: "blk.%d.ssm_a", skip: "blk.%d.ssm_d", step: "blk.%d.ssm_dt.bias", bias: stored, filterBias: stored, outBias: stored,
}

// ggufReadStates reads the dimensions of states.
func ggufReadStates(c *config) *transformer.StateSpace {
	c.needs("ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "ssm.inner_size", "ssm.time_step_rank")
	states := &transformer.StateSpace{
		Heads: c.integer("ssm.time_step_rank", 1, 1, maxHeads), Size: c.integer("ssm.state_size", 1, 1, maxWidth),
		Groups: c.integer("ssm.group_count", 1, 1, maxHeads), Taps: c.integer("ssm.conv_kernel", 1, 1, maxTaps),
	}
	inner := c.integer("ssm.inner_size", states.Heads, 1, maxFFN)
	if states.HeadDim = inner / states.Heads; states.HeadDim*states.Heads != inner {
		c.reject("ssm.time_step_rank", "%d does not divide ssm.inner_size, %d", states.Heads, inner)
	}
	return states
}
