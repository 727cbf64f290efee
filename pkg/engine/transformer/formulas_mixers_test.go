package transformer_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

func (m formulas) convolution(at string, c *transformer.Convolution, x rows) (out rows) {
	width, taps := m.Spec.Width, m.vector(at+"convolution")
	var in, gates rows
	for _, row := range x {
		all := m.linear(at+"convolution_in", row)
		for i := range width {
			all[i] *= all[2*width+i]
		}
		in, gates = append(in, all[:width]), append(gates, all[width:2*width])
	}
	for p := range x {
		y := make([]float64, width)
		for back := range min(c.Taps, p+1) {
			for i, v := range in[p-back] {
				y[i] += taps[(c.Taps-1-back)*width+i] * v
			}
		}
		if _, ok := m.Values[at+"convolution.bias"]; ok {
			add(y, m.vector(at+"convolution.bias"))
		}
		for i, g := range gates[p] {
			y[i] *= g
		}
		out = append(out, m.linear(at+"convolution_out", y))
	}
	return out
}

func (m formulas) states(at string, s *transformer.StateSpace, x rows) (out rows) {
	if s.StepRank > 0 {
		return m.steps(at, s, x)
	}
	inner, channels := s.Heads*s.HeadDim, s.Heads*s.HeadDim+2*s.Groups*s.Size
	taps, step, decay, skip := m.vector(at+"states_convolution"), m.vector(at+"states_step"), m.vector(at+"states_decay"), m.vector(at+"states_skip")
	var all rows
	h := make([]float64, inner*s.Size)
	for p := range x {
		all = append(all, m.linear(at+"states_in", x[p]))
		in := make([]float64, channels)
		for i := range in {
			if bias, ok := m.Values[at+"states_convolution.bias"]; ok {
				in[i] = float64(bias.Data[i])
			}
			for back := range min(s.Taps, p+1) {
				in[i] += taps[(s.Taps-1-back)*channels+i] * all[p-back][inner+i]
			}
			in[i] = silu(in[i])
		}
		y := make([]float64, inner)
		for i := range y {
			head := i / s.HeadDim
			group := head / (s.Heads / s.Groups)
			b, c := in[inner+group*s.Size:], in[inner+(s.Groups+group)*s.Size:]
			d := math.Log1p(math.Exp(all[p][inner+channels+head]*float64(cmp.Or(s.StepScale, 1)) + step[head]))
			for j := range s.Size {
				state := &h[i*s.Size+j]
				*state = math.Exp(d*decay[head])**state + d*in[i]*b[j]
				y[i] += *state * c[j]
			}
			y[i] += skip[head] * in[i]
		}
		gates := times(all[p][:inner], s.GateScale)
		for i := range gates {
			gates[i] = silu(gates[i])
		}
		switch s.Gating {
		case transformer.GateThenNorm:
			y = m.groupNorms(at, s, product(y, gates))
		case transformer.NormThenGate:
			y = product(m.groupNorms(at, s, y), gates)
		case transformer.GateAlone:
			y = product(y, gates)
		}
		out = append(out, times(m.linear(at+"states_out", y), s.OutScale))
	}
	return out
}

func (m formulas) deltas(at string, d *transformer.DeltaNet, x rows) (out rows) {
	inner, keys := d.Heads*d.HeadDim, d.KeyHeads*d.KeyDim
	channels := inner + 2*keys
	taps, step, decay, norm := m.vector(at+"deltas_convolution"), m.vector(at+"deltas_step"), m.vector(at+"deltas_decay"), m.vector(at+"deltas_inner_norm")
	var all rows
	states := make([]rows, d.Heads) // (KeyDim, HeadDim), as the original has them
	for p := range x {
		all = append(all, m.linear(at+"deltas_in", x[p]))
		in := make([]float64, channels)
		for i := range in {
			for back := range min(d.Taps, p+1) {
				in[i] += taps[(d.Taps-1-back)*channels+i] * all[p-back][inner+i]
			}
			in[i] = silu(in[i])
		}
		y := make([]float64, inner)
		for h := range d.Heads {
			of := h * d.KeyHeads / d.Heads
			if d.Turns {
				of = h % d.KeyHeads
			}
			q, k := unit(in[of*d.KeyDim:][:d.KeyDim]), unit(in[keys+of*d.KeyDim:][:d.KeyDim])
			v := in[2*keys+h*d.HeadDim:][:d.HeadDim]
			b, a := all[p][inner+channels+h], all[p][inner+channels+d.Heads+h]
			forget := math.Exp(decay[h] * math.Log1p(math.Exp(a+step[h])))
			if states[h] == nil {
				states[h] = make(rows, d.KeyDim)
				for i := range states[h] {
					states[h][i] = make([]float64, d.HeadDim)
				}
			}
			for j := range v {
				seen := 0.0
				for i := range k {
					states[h][i][j] *= forget
					seen += states[h][i][j] * k[i]
				}
				for i := range k {
					states[h][i][j] += k[i] * (v[j] - seen) / (1 + math.Exp(-b))
					y[h*d.HeadDim+j] += states[h][i][j] * q[i] / math.Sqrt(float64(d.KeyDim))
				}
			}
			squares := 0.0
			for _, v := range y[h*d.HeadDim:][:d.HeadDim] {
				squares += v * v / float64(d.HeadDim)
			}
			for j := range d.HeadDim {
				i := h*d.HeadDim + j
				y[i] *= norm[j] / math.Sqrt(squares+float64(m.Spec.Eps)) * silu(all[p][i])
			}
		}
		out = append(out, m.linear(at+"deltas_out", y))
	}
	return out
}

// unit returns x divided by its length.
func unit(x []float64) (out []float64) {
	squares := 1e-6
	for _, v := range x {
		squares += v * v
	}
	for _, v := range x {
		out = append(out, v/math.Sqrt(squares))
	}
	return out
}

// groupNorms normalises the results of each group of heads.
func (m formulas) groupNorms(at string, s *transformer.StateSpace, y []float64) (out []float64) {
	norm, n := m.vector(at+"states_inner_norm"), len(y)/s.Groups
	for g := 0; g < len(y); g += n {
		squares := 0.0
		for _, v := range y[g : g+n] {
			squares += v * v / float64(n)
		}
		for i, v := range y[g : g+n] {
			out = append(out, v*norm[g+i]/math.Sqrt(squares+float64(m.Spec.Eps)))
		}
	}
	return out
}

// times multiplies x by a factor, of which 0 is 1.
func times(x []float64, factor float32) []float64 {
	for i := range x {
		x[i] *= float64(cmp.Or(factor, 1))
	}
	return x
}

// product returns the products of the elements.
func product(x, y []float64) (out []float64) {
	for i, v := range x {
		out = append(out, v*y[i])
	}
	return out
}

// feedBranch is the branch of a feed-forward block, of which experts apart read the residual stream.
func (m formulas) feedBranch(at string, k *transformer.Kind, x rows, feed func(rows) rows) rows {
	if e := k.FeedForward.Experts; e != nil && e.Apart {
		feed = func(n rows) (out rows) {
			for i := range n {
				out = append(out, m.apart(at, &k.FeedForward, n[i], x[i]))
			}
			return out
		}
	}
	return m.branch(at+"ffn", k.FeedForward.Norms, x, feed)
}

// apart is a shared block of n, and experts of x.
func (m formulas) apart(at string, f *transformer.FeedForward, n, x []float64) []float64 {
	sum, in, scales := make([]float64, len(x)), m.norm(at+"experts_norm", x), m.vector(at+"expert_scale")
	for expert, share := range m.shares(at, f.Experts, m.norm(at+"router_norm", x)) {
		for i, v := range m.block(fmt.Sprintf("%sexpert.%d.", at, expert), f, in) {
			sum[i] += share * scales[expert] * v
		}
	}
	out := m.norm(at+"shared_post_norm", m.block(at, f, n))
	add(out, m.norm(at+"experts_post_norm", sum))
	return out
}

// latentAttention computes the keys and values of each head, as an attention of ordinary heads whose
// values are filled up with zeros.
func (m formulas) latentAttention(at string, a *transformer.Attention, x rows) (out rows) {
	t, rank := a.Latent, a.HeadDim-a.Latent.Shared
	dim := max(t.KeyDim+t.Shared, t.ValueDim)
	heads := *a
	if heads.KVHeads, heads.HeadDim = a.Heads, dim; a.Scale == 0 {
		heads.Scale = float32(1 / math.Sqrt(float64(t.KeyDim+t.Shared)))
	}
	spec := *m.Spec
	spec.Eps = cmp.Or(t.Eps, m.Spec.Eps)
	narrow := formulas{Model: &transformertest.Model{Spec: &spec, Values: m.Values}}
	padded := func(x []float64) []float64 { return append(slices.Clone(x), make([]float64, dim-len(x))...) }
	var q, k, v rows
	for p, row := range x {
		all := m.linear(at+"qkv", row)
		first := len(all) - a.HeadDim
		queries, latent, shared := all[:first], narrow.norm(at+"k_norm", all[first:first+rank]), m.turn(a, t.Shared, p, all[first+rank:])
		if t.QueryRank > 0 {
			queries = m.linear(at+"latent_queries", narrow.norm(at+"q_norm", queries))
		}
		q, k, v = append(q, nil), append(k, nil), append(v, nil)
		for h := range a.Heads {
			own := queries[h*(t.KeyDim+t.Shared):][:t.KeyDim+t.Shared]
			key := make([]float64, t.KeyDim)
			for i, c := range latent {
				for j, w := range m.row(fmt.Sprint(at, "latent_key.", h), i) {
					key[j] += w * c
				}
			}
			q[p] = append(q[p], padded(append(slices.Clone(own[:t.KeyDim]), m.turn(a, t.Shared, p, own[t.KeyDim:])...))...)
			k[p] = append(k[p], padded(append(key, shared...))...)
			v[p] = append(v[p], padded(m.linear(fmt.Sprint(at, "latent_value.", h), latent))...)
		}
	}
	for p := range x {
		var y []float64
		all := attention(&heads, q[p], k, v, seen(a, p, true), m.sinks(at, a), nil)
		for h := range a.Heads {
			y = append(y, all[h*dim:][:t.ValueDim]...)
		}
		out = append(out, times(m.linear(at+"out", y), a.OutScale))
	}
	return out
}

// seen returns whether the token at p sees the key at j.
func seen(a *transformer.Attention, p int, causal bool) func(j int) bool {
	return func(j int) bool {
		switch {
		case !causal:
			return a.Window == 0 || math.Abs(float64(p-j)) < float64(a.Window)
		case j > p || a.Window > 0 && j <= p-a.Window:
			return false
		}
		return a.Chunk == 0 || j/a.Chunk == p/a.Chunk
	}
}

func (m formulas) sinks(at string, a *transformer.Attention) []float64 {
	if !a.Sinks {
		return nil
	}
	return m.vector(at + "sinks")
}

// limitGroups makes the ranks of experts of groups that are not chosen the lowest.
func limitGroups(e *transformer.Experts, ranks []float64) {
	size := e.Count / e.Groups
	scores, order := make([]float64, e.Groups), make([]int, e.Groups)
	for g := range scores {
		own := slices.Sorted(slices.Values(ranks[g*size : (g+1)*size]))
		if scores[g], order[g] = own[size-1], g; e.Corrected && size > 1 {
			scores[g] += own[size-2]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, g := range order[e.GroupsUsed:] {
		for i := range size {
			ranks[g*size+i] = math.Inf(-1)
		}
	}
}

// gates returns the gates of the results of heads, the last values that attention reads.
func (m formulas) gates(a *transformer.Attention, all []float64) []float64 {
	if !a.HeadGates {
		return all[len(all)-a.Heads*a.HeadDim:]
	}
	var out []float64
	for _, g := range all[len(all)-a.Heads:] {
		out = append(out, slices.Repeat([]float64{g}, a.HeadDim)...)
	}
	return out
}
