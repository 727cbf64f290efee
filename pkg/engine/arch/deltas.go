package arch

import (
	"slices"
	"strings"

	"glossa/pkg/engine/transformer"
)

// deltaNames names the tensors of a layer with a delta rule. Those of the decay and the step have
// their whole names.
type deltaNames struct {
	gate, channels, rates, steps string // of the first product: the rows of z, of the channels, of b and of steps
	both, ratesSteps             string // instead, if the file has them: for each head of keys the rows of its q, k, v and z, and of its b and steps
	convolution, norm, out       string
	decay, step                  string
	logarithms                   bool // the decay is stored as the logarithm of its opposite
}

// qwenDeltas are the names of Qwen3-Next and Qwen3.5.
var qwenDeltas = deltaNames{
	gate: "layers.%d.linear_attn.in_proj_z", channels: "layers.%d.linear_attn.in_proj_qkv",
	rates: "layers.%d.linear_attn.in_proj_b", steps: "layers.%d.linear_attn.in_proj_a",
	both: "layers.%d.linear_attn.in_proj_qkvz", ratesSteps: "layers.%d.linear_attn.in_proj_ba",
	convolution: "layers.%d.linear_attn.conv1d", norm: "layers.%d.linear_attn.norm", out: "layers.%d.linear_attn.out_proj",
	decay: "layers.%d.linear_attn.A_log", step: "layers.%d.linear_attn.dt_bias", logarithms: true,
}

// readDeltas reads the dimensions of a delta rule.
func readDeltas(c *config) *transformer.DeltaNet {
	d := &transformer.DeltaNet{
		Heads: c.integer("linear_num_value_heads", 32, 1, maxHeads), HeadDim: c.integer("linear_value_head_dim", 128, 1, maxWidth),
		KeyHeads: c.integer("linear_num_key_heads", 16, 1, maxHeads), KeyDim: c.integer("linear_key_head_dim", 128, 1, maxWidth),
		Taps: c.integer("linear_conv_kernel_dim", 4, 1, maxTaps),
	}
	if *c.err == nil && d.Heads%d.KeyHeads != 0 {
		c.reject("linear_num_key_heads", "%d do not divide linear_num_value_heads, %d", d.KeyHeads, d.Heads)
	}
	return d
}

// recurrent reports for each layer whether it has a delta rule: by layer_types, or, if that is absent,
// all but the last of an interval.
func (c *config) recurrent(depth int) []bool {
	return c.replaced("layer_types", depth, []string{"linear_attention"}, []string{fullAttention}, func(depth int) []bool {
		return lastAttends(depth, c.integer("full_attention_interval", 4, 1, maxDepth))
	})
}

// lastAttends returns layers of which only the last of an interval has attention.
func lastAttends(depth, interval int) []bool {
	recurrent := make([]bool, depth)
	for i := range recurrent {
		recurrent[i] = (i+1)%interval != 0
	}
	return recurrent
}

// setDeltas replaces the attention of some layers by a delta rule.
func setDeltas(s *transformer.Spec, recurrent []bool, d *transformer.DeltaNet) {
	replaceAttention(s, recurrent, func(k *transformer.Kind) { k.Deltas = d })
}

// deltas looks up the delta rule of a layer.
func (b *builder) deltas(o *transformer.Layer, l *layers, i int, d *transformer.DeltaNet) {
	n, width, inner, keys := &l.deltas, b.spec.Width, d.Heads*d.HeadDim, d.KeyHeads*d.KeyDim
	o.AttentionNorm = b.norm(l.attentionNorm, i)
	each := d.Heads / d.KeyHeads
	if name := at(n.both, i) + ".weight"; b.has(name) {
		o.DeltasIn.Weight = byPart(b.matrix(name, 2*(keys+inner), width, false), d.KeyHeads, []int{3, 0, 1, 2}, d.KeyDim, d.KeyDim, each*d.HeadDim, each*d.HeadDim)
	} else {
		o.DeltasIn.Weight = []transformer.Tensor{
			b.matrix(at(n.gate, i)+".weight", inner, width, false).rows(0, inner),
			b.matrix(at(n.channels, i)+".weight", 2*keys+inner, width, false).rows(0, 2*keys+inner),
		}
	}
	if name := at(n.ratesSteps, i) + ".weight"; b.has(name) {
		o.DeltasIn.Weight = append(o.DeltasIn.Weight, byPart(b.matrix(name, 2*d.Heads, width, false), d.KeyHeads, []int{0, 1}, each, each)...)
	} else {
		for _, name := range []string{n.rates, n.steps} {
			o.DeltasIn.Weight = append(o.DeltasIn.Weight, b.matrix(at(name, i)+".weight", d.Heads, width, false).rows(0, d.Heads))
		}
	}
	o.Convolution = b.taps(at(n.convolution, i)+".weight", 2*keys+inner, d.Taps)
	o.Step, o.Decay = b.flat(at(n.step, i), d.Heads, 1), b.flat(at(n.decay, i), d.Heads, 1)
	if n.logarithms {
		opposites(&o.Decay[0])
	}
	o.InnerNorm = transformer.Vector{b.vector(at(n.norm, i)+".weight", d.HeadDim).rows(0, d.HeadDim)}
	o.DeltasOut = b.linear(&linear{names: n.out}, i, width, inner)
}

// byPart returns the rows of a tensor of groups, each of which has sizes[p] rows of part p. First come those
// of part order[0] of all groups, then those of part order[1], and so on.
func byPart(all span, groups int, order []int, sizes ...int) (list []transformer.Tensor) {
	group, starts := 0, make([]int, len(sizes))
	for i, n := range sizes {
		starts[i] = group
		group += n
	}
	for _, part := range order {
		for g := range groups {
			list = append(list, all.rows(g*group+starts[part], sizes[part]))
		}
	}
	return list
}

// gated returns the matrix of an attention with gates. The file has, for each head, the rows of its
// queries and then those of its gates.
func (b *builder) gated(l *linear, layer int, a *transformer.Attention, cols int) (out transformer.Linear) {
	queries, keys := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	names := strings.Fields(at(l.names, layer))
	join := func(take func(name string, rows int) span) []transformer.Tensor {
		both := byPart(take(names[0], 2*queries), a.Heads, []int{0, 1}, a.HeadDim, a.HeadDim)
		k, v := take(names[1], keys).rows(0, keys), take(names[2], keys).rows(0, keys)
		return slices.Concat(both[:a.Heads], []transformer.Tensor{k, v}, both[a.Heads:])
	}
	out.Weight = join(func(name string, rows int) span { return b.matrix(name+".weight", rows, cols, false) })
	if l.bias == always {
		out.Bias = join(func(name string, rows int) span { return b.vector(name+".bias", rows) })
	}
	return out
}
