package transformer_test

import (
	"math"
	"strconv"

	"glossa/pkg/engine/checkpoint"
)

// reference computes the logits after every token in float64, straight from the
// formulas of the architecture, without cache, packing or fusion.
type reference struct {
	ck  *checkpoint.Alpha
	cap func(score float64) float64
}

func (r reference) logits(tokens []int) [][]float64 {
	c := r.ck.ModelConfig
	x := make([][]float64, len(tokens))
	for p, t := range tokens {
		x[p] = make([]float64, c.NEmbd)
		for e := range c.NEmbd {
			x[p][e] = r.at("wte", t*c.NEmbd+e) + r.at("wpe", p*c.NEmbd+e)
		}
	}
	for l := range c.NLayer {
		r.block(x, "layer."+strconv.Itoa(l)+".")
	}
	out := make([][]float64, len(tokens))
	for p := range x {
		out[p] = r.linear("lmHead", r.norm("lnF", x[p]))
	}
	return out
}

func (r reference) at(name string, i int) float64 { return float64(r.ck.Params[name].Data[i]) }

func (r reference) block(x [][]float64, prefix string) {
	var q, k, v [][]float64
	for _, row := range x {
		a := r.norm(prefix+"ln1", row)
		if r.ck.Fused() {
			qkv, e := r.linear(prefix+"attn.wqkv", a), len(row)
			q, k, v = append(q, qkv[:e]), append(k, qkv[e:2*e]), append(v, qkv[2*e:])
			continue
		}
		q = append(q, r.linear(prefix+"attn.wq", a))
		k = append(k, r.linear(prefix+"attn.wk", a))
		v = append(v, r.linear(prefix+"attn.wv", a))
	}
	for p := range x {
		add(x[p], r.linear(prefix+"attn.wo", r.attend(q[p], k[:p+1], v[:p+1])))
		add(x[p], r.mlp(prefix+"mlp.", r.norm(prefix+"ln2", x[p])))
	}
}

func (r reference) attend(q []float64, k, v [][]float64) []float64 {
	out, dim := make([]float64, len(q)), r.ck.ModelConfig.NEmbd/r.ck.ModelConfig.NHead
	for from := 0; from < len(q); from += dim {
		weights, sum := make([]float64, len(k)), 0.0
		for p := range k {
			score := 0.0
			for i := from; i < from+dim; i++ {
				score += q[i] * k[p][i]
			}
			weights[p] = math.Exp(r.cap(score / math.Sqrt(float64(dim))))
			sum += weights[p]
		}
		for p := range v {
			for i := from; i < from+dim; i++ {
				out[i] += weights[p] / sum * v[p][i]
			}
		}
	}
	return out
}

func (r reference) mlp(prefix string, x []float64) []float64 {
	if r.ck.ModelConfig.Activation() == checkpoint.SwiGLU {
		gate, up := r.linear(prefix+"fc_gate", x), r.linear(prefix+"fc_up", x)
		for i := range up {
			up[i] *= silu(gate[i])
		}
		return r.linear(prefix+"fc_proj", up)
	}
	h := r.linear(prefix+"fc1", x)
	for i, v := range h {
		at := func(name string) float64 { return r.at(prefix+name, i) }
		switch r.ck.ModelConfig.Activation() {
		case checkpoint.GELU:
			h[i] = gelu(v)
		case checkpoint.SiLU:
			h[i] = silu(v)
		case checkpoint.ReLU:
			h[i] = max(v, 0)
		case checkpoint.Universal:
			h[i] = silu(v)*at("act_gate") + v*at("act_skip")
		case checkpoint.KANSpline:
			h[i] = at("kan_c0")*silu(v) + at("kan_c1")*max(v, 0) + at("kan_c2")*gelu(v) + at("kan_c3")*v + at("kan_c4")*v*v
		case checkpoint.Composed: // the tree of composedGraph
			h[i] = silu(v)*(0.5*v*v) + (gelu(v) + max(v, 0)) + v
		}
	}
	return r.linear(prefix+"fc2", h)
}

// composedGraph is mlp's composed activation; "swish" is unknown and means gelu.
const composedGraph = `{"type":"add",
	"left":{"type":"add",
		"left":{"type":"mul","left":{"type":"basis","op":"silu"},"right":{"type":"scale","factor":0.5,"child":{"type":"basis","op":"square"}}},
		"right":{"type":"add","left":{"type":"basis","op":"swish"},"right":{"type":"basis","op":"relu"}}},
	"right":{"type":"basis","op":"identity"}}`

// linear is x Wᵀ with W (out, in).
func (r reference) linear(name string, x []float64) []float64 {
	y := make([]float64, r.ck.Params[name].Shape[0])
	for o := range y {
		for i, v := range x {
			y[o] += r.at(name, o*len(x)+i) * v
		}
	}
	return y
}

func (r reference) norm(name string, x []float64) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v-mean)/math.Sqrt(variance+1e-5)*r.at(name+".weight", i) + r.at(name+".bias", i)
	}
	return y
}

func add(dst, x []float64) {
	for i := range dst {
		dst[i] += x[i]
	}
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}
