package transformer_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// formulas computes a model of any architecture in float64, straight from the definitions
// of its fields, without cache, packing, blocks or fusion.
type formulas struct {
	*transformertest.Model

	place   func(token, axis int) int // the position of a token on an axis; nil: its index
	vectors []rows                    // of each token below 0: its input, and what the first layers add
}

type rows = [][]float64

// logits returns the logits after every token; source is the text of an encoder.
func (m formulas) logits(source, tokens []int) (out rows) {
	var memory rows
	if len(m.Spec.Encoder) > 0 {
		memory = m.run("encoder", m.Spec.Encoder, source, m.embed(source, ""), nil)
		if !m.Spec.NoLastNorm {
			memory = m.each(memory, func(x []float64) []float64 { return m.norm("encoder.norm", x) })
		}
	}
	head := "head"
	if _, ok := m.Values[head]; !ok {
		head = "embedding"
	}
	own := ""
	if m.Spec.DecoderInput {
		own = "decoder_"
	}
	for _, x := range m.run("decoder", m.Spec.Decoder, tokens, m.embed(tokens, own), memory) {
		if !m.Spec.NoLastNorm {
			x = m.norm("norm", x)
		}
		if m.Spec.HeadActivation != "" {
			x = m.linear("head_dense", x)
			for i := range x {
				x[i] = m.activation("", m.Spec.HeadActivation, x[i], i)
			}
			x = m.norm("head_norm", x)
		}
		if m.Spec.EmbedWidth > 0 {
			x = m.linear("project_out", x)
		}
		y := m.linear(head, x)
		for i := range y {
			if s := m.Spec.LogitScale; s != 0 {
				y[i] *= float64(s)
			}
			if c := float64(m.Spec.LogitSoftCap); c != 0 {
				y[i] = c * math.Tanh(y[i]/c)
			}
		}
		out = append(out, y)
	}
	return out
}

func (m formulas) each(x rows, f func([]float64) []float64) (out rows) {
	for _, row := range x {
		out = append(out, f(row))
	}
	return out
}

// embed returns the input of a stack, whose tables have names with a prefix.
func (m formulas) embed(tokens []int, own string) (out rows) {
	s, width, late := m.Spec, m.Spec.InputWidth(), len(m.Spec.Decoder) == 0
	vectors := m.vectors
	for p, t := range tokens {
		var x []float64
		if t >= 0 {
			x = m.row("embedding", t)
		}
		if t >= 0 && s.EmbedWidth > 0 && !late {
			x = m.linear("project_in", x)
		}
		for i := range x {
			if s.EmbedScale != 0 {
				x[i] *= float64(s.EmbedScale)
			}
		}
		if t < 0 {
			x, vectors = slices.Clone(vectors[0][0]), vectors[1:]
		}
		switch s.Position {
		case transformer.Learned:
			add(x, m.row(own+"positions", p))
		case transformer.Sinusoidal:
			for i := range width / 2 {
				angle := float64(p+2) * math.Exp(-float64(i)*math.Log(10000)/float64(width/2-1))
				x[i] += math.Sin(angle)
				x[width/2+i] += math.Cos(angle)
			}
		}
		if s.Position == transformer.SinusoidalFirst {
			for i := range width / 2 {
				angle := float64(p) * math.Pow(10000, -2*float64(i)/float64(width))
				x[i] += math.Sin(angle)
				x[width/2+i] += math.Cos(angle)
			}
		}
		if s.EmbedNorm {
			x = m.norm(own+"embedding_norm", x)
		}
		if s.EmbedWidth > 0 && late {
			x = m.linear("project_in", x)
		}
		out = append(out, x)
	}
	return out
}

// keyValues are those of a layer.
type keyValues struct{ keys, values rows }

// endLayer returns what a layer returns, of what its branches do. first is the input of the first layer.
func (m formulas) endLayer(at string, layer int, k *transformer.Kind, x, first rows, tokens []int) (out rows) {
	n := m.Spec.LayerInputs
	if n > 0 {
		row := -1
		x = m.branch(at+"input", transformer.PostNorm, x, func(x rows) rows {
			return m.each(x, func(x []float64) []float64 {
				row++
				p := times(m.linear("layer_projection", first[row]), float32(1/math.Sqrt(float64(m.Spec.Width))))
				p = m.norm("layer_projection_norm", p[layer*n:(layer+1)*n])
				h := m.linear(at+"input_gate", x)
				for i, e := range m.row("layer_embedding", tokens[row])[layer*n : (layer+1)*n] {
					h[i] = m.activation(at, k.FeedForward.Activation, h[i], i) * (p[i] + e*math.Sqrt(float64(n))) / math.Sqrt2
				}
				return m.linear(at+"input_out", h)
			})
		})
	}
	if m.Spec.LayerScale {
		x = m.each(x, func(x []float64) []float64 { return times(x, float32(m.vector(at + "scale")[0])) })
	}
	return x
}

// run computes the layers of a stack, whose tokens have the embeddings x.
func (m formulas) run(name string, layers []int, tokens []int, x, memory rows) rows {
	first, kept, streams := x, make([]keyValues, len(layers)), m.streams(x)
	for i, kind := range layers {
		at, k := fmt.Sprintf("%s.%d.", name, i), &m.Spec.Kinds[kind]
		if from := k.Attention.KVLayer; from > 0 {
			kept[i] = kept[from-1]
		}
		streams = m.predict(at, streams)
		x = m.layer(at, k, streams[0], memory, name == "decoder", &kept[i])
		streams = m.endStreams(at, i, k, m.correct(at, streams, x), first, tokens)
		if i < m.Spec.Deep {
			m.deepen(streams[0], i, tokens)
		}
	}
	return m.merge(streams)
}

func (m formulas) layer(at string, k *transformer.Kind, x, memory rows, causal bool, kept *keyValues) rows {
	attend := func(n rows) rows {
		if k.Attention.Latent != nil {
			return m.latentAttention(at, &k.Attention, n)
		}
		return m.selfAttention(at, &k.Attention, n, causal, kept)
	}
	feed := func(n rows) rows {
		return m.each(n, func(x []float64) []float64 { return m.feed(at, &k.FeedForward, x) })
	}
	if k.FeedForward.Width == 0 {
		added := *k
		added.FeedForward = transformer.FeedForward{Norms: transformer.NoNorm}
		k, feed = &added, func(n rows) rows {
			return m.each(n, func(x []float64) []float64 { return make([]float64, len(x)) })
		}
	}
	if k.Parallel {
		norm := "ffn_norm"
		if k.SharedNorm {
			norm = "attention_norm"
		}
		a, f := attend(m.before(at+"attention_norm", k.Attention.Norms, x)), feed(m.before(at+norm, k.FeedForward.Norms, x))
		out := m.each(x, func(x []float64) []float64 { return append([]float64{}, x...) })
		for i := range out {
			m.addScaled(out[i], a[i])
			m.addScaled(out[i], f[i])
		}
		return out
	}
	if !k.Mixes() {
		return m.feedBranch(at, k, x, feed)
	}
	if c := k.Convolution; c != nil {
		x = m.branch(at+"convolution", c.Norms, x, func(n rows) rows { return m.convolution(at, c, n) })
		return m.feedBranch(at, k, x, feed)
	}
	if d := k.Deltas; d != nil {
		x = m.branch(at+"deltas", d.Norms, x, func(n rows) rows { return m.deltas(at, d, n) })
		return m.feedBranch(at, k, x, feed)
	}
	if s := k.States; s != nil {
		if k.Attention.Heads == 0 {
			x = m.branch(at+"states", s.Norms, x, func(n rows) rows { return m.states(at, s, n) })
			return m.feedBranch(at, k, x, feed)
		}
		attend = func(n rows) rows {
			sum := m.selfAttention(at, &k.Attention, n, causal, kept)
			for p, y := range m.states(at, s, n) {
				add(sum[p], y)
			}
			return sum
		}
	}
	x = m.laurel(at, m.before(at+"attention_norm", k.Attention.Norms, x), m.branch(at+"attention", k.Attention.Norms, x, attend))
	if memory != nil {
		x = m.branch(at+"cross", k.Attention.Norms, x, func(n rows) rows { return m.crossAttention(at, &k.Attention, n, memory) })
	}
	return m.feedBranch(at, k, x, feed)
}

func (m formulas) before(norm string, p transformer.Placement, x rows) rows {
	if p != transformer.PreNorm && p != transformer.SandwichNorm {
		return x
	}
	return m.each(x, func(x []float64) []float64 { return m.norm(norm, x) })
}

// branch returns x plus the result of f, with norms.
func (m formulas) branch(name string, p transformer.Placement, x rows, f func(rows) rows) rows {
	y, out := f(m.before(name+"_norm", p, x)), rows{}
	for i := range x {
		sum, added := append([]float64{}, x[i]...), y[i]
		if p == transformer.PostNorm || p == transformer.SandwichNorm {
			added = m.norm(name+"_post_norm", added)
		}
		m.addScaled(sum, added)
		if p == transformer.PostResidualNorm {
			sum = m.norm(name+"_post_norm", sum)
		}
		out = append(out, sum)
	}
	return out
}

func (m formulas) addScaled(x, y []float64) {
	for i := range x {
		if s := m.Spec.ResidualScale; s != 0 {
			x[i] += float64(s) * y[i]
		} else {
			x[i] += y[i]
		}
	}
}

func (m formulas) selfAttention(at string, a *transformer.Attention, x rows, causal bool, kept *keyValues) (out rows) {
	queries, keys := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	var q, k, v, gates rows
	for p := range x {
		all := m.linear(at+"qkv", x[p])
		turned := func(name string, x []float64) []float64 {
			if a.RotatedNorm {
				return m.headNorms(name, a, m.turn(a, a.HeadDim, p, x))
			}
			return m.turn(a, a.HeadDim, p, m.headNorms(name, a, x))
		}
		q = append(q, turned(at+"q_norm", all[:queries]))
		if a.Growth > 0 {
			q[p] = times(q[p], float32(1+float64(a.Growth)*math.Log(1+math.Floor(float64(p)/float64(a.GrowthStep)))))
		}
		gates = append(gates, nil)
		if a.Gated {
			gates[p] = m.gates(a, all)
		}
		if a.KVLayer > 0 {
			continue
		}
		values := all[queries+keys:]
		if a.KeysAsValues {
			values = slices.Clone(all[queries:])
		}
		values = values[:keys]
		k = append(k, turned(at+"k_norm", all[queries:queries+keys]))
		for h := 0; a.ValueNorm && h < keys; h += a.HeadDim {
			copy(values[h:], m.plainNorm(values[h:h+a.HeadDim]))
		}
		v = append(v, values)
	}
	if a.KVLayer == 0 {
		*kept = keyValues{k, v}
	}
	k, v = kept.keys, kept.values
	for p := range x {
		bias := m.bias(at, p, causal)
		if a.Slopes != nil {
			bias = func(j, head int) float64 { return -float64(a.Slopes[head]) * math.Abs(float64(p-j)) }
		}
		if a.Disentangled != nil {
			bias = m.distances(at, a, q[p], k, p)
		}
		y := attention(a, q[p], k, v, seen(a, p, causal), m.sinks(at, a), bias)
		for i, g := range gates[p] {
			y[i] /= 1 + math.Exp(-g)
		}
		out = append(out, times(m.linear(at+"out", y), a.OutScale))
	}
	return out
}

func (m formulas) crossAttention(at string, a *transformer.Attention, x, memory rows) (out rows) {
	var k, v rows
	for _, e := range memory {
		kv := m.linear(at+"cross_kv", e)
		k, v = append(k, kv[:len(kv)/2]), append(v, kv[len(kv)/2:])
	}
	for p := range x {
		heads := attention(a, m.linear(at+"cross_q", x[p]), k, v, func(int) bool { return true }, nil, nil)
		out = append(out, m.linear(at+"cross_out", heads))
	}
	return out
}

// bias returns the biases of a token's scores by distance, those of a layer if it has its own; nil:
// there are none.
func (m formulas) bias(at string, p int, causal bool) func(j, head int) float64 {
	n, name, after := m.Spec.RelativeBuckets, "causal_relative", 0
	switch {
	case n == 0:
		return nil
	case !causal:
		n, name, after = n/2, "relative", n/2
	}
	if m.Spec.RelativeLayers {
		name = at + "relative"
	}
	return func(j, head int) float64 {
		bucket, distance := 0, p-j
		if distance < 0 {
			bucket, distance = after, -distance
		}
		if exact := n / 2; distance < exact {
			bucket += distance
		} else {
			share := float32(math.Log(float64(float32(distance)/float32(exact)))) / float32(math.Log(float64(m.Spec.RelativeDistance)/float64(exact)))
			bucket += min(n-1, exact+int(share*float32(n-exact)))
		}
		return m.row(name, bucket)[head]
	}
}

// attention computes the attention of one token, head by head.
func attention(a *transformer.Attention, q []float64, keys, values rows, sees func(int) bool, sinks []float64, bias func(j, head int) float64) []float64 {
	scale := 1 / math.Sqrt(float64(a.HeadDim))
	if a.Scale != 0 {
		scale = float64(a.Scale)
	}
	out := make([]float64, len(q))
	for h := range a.Heads {
		from, head := h/(a.Heads/a.KVHeads)*a.HeadDim, out[h*a.HeadDim:(h+1)*a.HeadDim]
		scores, top := make([]float64, len(keys)), math.Inf(-1)
		for j := range keys {
			score := 0.0
			for i := range head {
				score += q[h*a.HeadDim+i] * keys[j][from+i]
			}
			score *= scale
			if c := float64(a.SoftCap); c != 0 {
				score = c * math.Tanh(score/c)
			}
			if c := float64(a.Clamp); c != 0 {
				score = min(max(score, -c), c)
			}
			if bias != nil {
				score += bias(j, h)
			}
			if scores[j] = score; sees(j) {
				top = max(top, score)
			}
		}
		sum := 0.0
		if sinks != nil {
			top = max(top, sinks[h])
			sum = math.Exp(sinks[h] - top)
		}
		for j := range keys {
			if !sees(j) {
				continue
			}
			weight := math.Exp(scores[j] - top)
			sum += weight
			for i := range head {
				head[i] += weight * values[j][from+i]
			}
		}
		for i := range head {
			head[i] /= sum
		}
	}
	return out
}

// headNorms normalises queries or keys.
func (m formulas) headNorms(name string, a *transformer.Attention, x []float64) []float64 {
	var out []float64
	switch a.QKNorm {
	case transformer.QKNormAll:
		return m.norm(name, x)
	case transformer.QKNormHead, transformer.QKNormEachHead:
		for h := range len(x) / a.HeadDim {
			at := 0
			if a.QKNorm == transformer.QKNormEachHead {
				at = h * a.HeadDim
			}
			out = append(out, m.normAt(name, at, x[h*a.HeadDim:(h+1)*a.HeadDim])...)
		}
		return out
	}
	return x
}

func (m formulas) feed(at string, f *transformer.FeedForward, x []float64) []float64 {
	e := f.Experts
	if e == nil {
		return m.block(at, f, x)
	}
	y := make([]float64, len(x))
	if e.Shared > 0 {
		y = m.block(at, f, x)
	}
	if e.SharedGate {
		for i := range y {
			y[i] /= 1 + math.Exp(-m.linear(at+"shared_gate", x)[0])
		}
	}
	for expert, share := range m.shares(at, e, x) {
		for i, v := range m.block(fmt.Sprintf("%sexpert.%d.", at, expert), f, x) {
			y[i] += share * v
		}
	}
	return y
}

// shares returns the factors of the experts that a token uses.
func (m formulas) shares(at string, e *transformer.Experts, x []float64) map[int]float64 {
	probabilities, best := m.linear(at+"router", x), make([]int, e.Count)
	all := 0.0
	for i := range probabilities {
		if e.Apart {
			probabilities[i] /= math.Sqrt(float64(len(x)))
		}
		all += math.Exp(probabilities[i])
	}
	for i, v := range probabilities {
		if best[i], probabilities[i] = i, math.Exp(v)/all; e.Sigmoid {
			probabilities[i] = 1 / (1 + math.Exp(-v))
		}
	}
	ranks := append([]float64{}, probabilities...)
	if e.Corrected {
		add(ranks, m.vector(at+"correction"))
	}
	if e.Groups > 0 {
		limitGroups(e, ranks)
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(ranks[b], ranks[a]) })
	sum := 1.0
	if e.Renormalised {
		sum = float64(e.Floor)
		for _, expert := range best[:e.Used] {
			sum += probabilities[expert]
		}
	}
	shares := map[int]float64{}
	for _, expert := range best[:e.Used] {
		shares[expert] = probabilities[expert] / sum * float64(cmp.Or(e.Scale, 1))
	}
	return shares
}

// block is a feed-forward block.
func (m formulas) block(at string, f *transformer.FeedForward, x []float64) []float64 {
	h := m.linear(at+"up", x)
	if f.Gated {
		for i, g := range cutOff(f, times(m.linear(at+"gate", x), f.GateScale)) {
			if limit := float64(f.Limit); limit > 0 {
				g, h[i] = min(g, limit), 1+max(-limit, min(h[i], limit))
			}
			h[i] *= m.activation(at, f.Activation, g, i)
		}
	} else {
		for i, v := range h {
			h[i] = m.activation(at, f.Activation, v, i)
		}
	}
	return times(m.linear(at+"down", h), f.OutScale)
}

func (m formulas) activation(at string, a transformer.Activation, v float64, i int) float64 {
	learned := func(j int) float64 { return m.vector(fmt.Sprintf("%sactivation.%d", at, j))[i] }
	switch a {
	case transformer.GELU:
		return gelu(v)
	case transformer.GELUErf:
		return 0.5 * v * (1 + math.Erf(v/math.Sqrt2))
	case transformer.ReLU2:
		return max(v, 0) * max(v, 0)
	case transformer.ReLU:
		return max(v, 0)
	case transformer.SiLU:
		return silu(v)
	case transformer.QuickGELU:
		return v / (1 + math.Exp(-1.702*v))
	case transformer.XIELU:
		number := func(j int) float64 { return m.vector(fmt.Sprintf("%sactivation.%d", at, j))[0] }
		if v > 0 {
			return math.Log(1+math.Exp(number(0)))*v*v + number(2)*v
		}
		return (math.Exp(min(v, number(3)))-1-v)*(number(2)+math.Log(1+math.Exp(number(1)))) + number(2)*v
	case transformer.Universal:
		return silu(v)*learned(0) + v*learned(1)
	case transformer.KANSpline:
		return learned(0)*silu(v) + learned(1)*max(v, 0) + learned(2)*gelu(v) + learned(3)*v + learned(4)*v*v
	}
	panic(a)
}

// norm normalises x by the weights of that name.
func (m formulas) norm(name string, x []float64) []float64 { return m.normAt(name, 0, x) }

func (m formulas) normAt(name string, at int, x []float64) []float64 {
	y := m.plainNorm(x)
	for i := range y {
		if m.Spec.Norm != transformer.PlainLayerNorm && m.Spec.Norm != transformer.PlainRMSNorm {
			y[i] *= float64(m.Values[name].Data[at+i])
		}
		if bias, ok := m.Values[name+".bias"]; ok {
			y[i] += float64(bias.Data[at+i])
		}
	}
	return y
}

// plainNorm normalises x without a weight.
func (m formulas) plainNorm(x []float64) []float64 {
	mean, squares, n := 0.0, 0.0, float64(len(x))
	if m.Spec.Norm != transformer.RMSNorm && m.Spec.Norm != transformer.PlainRMSNorm {
		for _, v := range x {
			mean += v / n
		}
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean) / n
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - mean) / math.Sqrt(squares+float64(m.Spec.Eps))
	}
	return y
}

// linear is x Wᵀ + b with W (out, in).
func (m formulas) linear(name string, x []float64) []float64 {
	w := m.Values[name]
	y := make([]float64, w.Rows)
	for o := range y {
		for i, v := range x {
			y[o] += float64(w.Data[o*w.Cols+i]) * v
		}
		if bias, ok := m.Values[name+".bias"]; ok {
			y[o] += float64(bias.Data[o])
		}
	}
	return y
}

func (m formulas) row(name string, i int) (out []float64) {
	w := m.Values[name]
	for _, v := range w.Data[i*w.Cols : (i+1)*w.Cols] {
		out = append(out, float64(v))
	}
	return out
}

func (m formulas) vector(name string) (out []float64) {
	for _, v := range m.Values[name].Data {
		out = append(out, float64(v))
	}
	return out
}
