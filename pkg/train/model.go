package train

import (
	"math"
	"math/rand/v2"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// A span is a range of a flat vector of parameters, gradients or moments.
type span struct{ off, n int }

func (s span) of(flat []float32) []float32 { return flat[s.off : s.off+s.n : s.off+s.n] }

// A param is one tensor in the flat vectors.
type param struct {
	checkpoint.Param
	span
	decays bool // true for matrices
}

// A linear is a weight matrix (out, in) in the flat vectors, and its packed forms.
type linear struct {
	span
	out, in int
	forward *kernel.Matrix // y = x·Wᵀ
	back    *kernel.Matrix // dx = dy·W
}

// A layer is one block of the model.
type layer struct {
	ln1w, ln1b, ln2w, ln2b span
	qkv, wo, fc1, fc2      *linear // qkv: rows of wq, wk, wv, one after the other
}

// A model is the parameters of one run, in the order of the checkpoint.
type model struct {
	config   checkpoint.ModelConfig
	params   []param
	weights  []float32
	wte, wpe span
	lnFw     span
	lnFb     span
	head     *linear
	layers   []layer
	linears  []*linear
}

// newModel lays out the parameters, all zero.
func newModel(c checkpoint.ModelConfig) *model {
	m := &model{config: c}
	index, size := map[string]span{}, 0
	for _, p := range checkpoint.Params(&c, false) {
		s := span{size, p.Elements()}
		m.params = append(m.params, param{p, s, len(p.Shape) > 1})
		index[p.Name] = s
		size += s.n
	}
	m.weights = make([]float32, size)
	e, f := c.NEmbd, c.FFN()
	m.wte, m.wpe, m.lnFw, m.lnFb = index["wte"], index["wpe"], index["lnF.weight"], index["lnF.bias"]
	m.head = m.linear(index["lmHead"], c.VocabSize, e)
	for i := range c.NLayer {
		at := func(name string) span { return index[layerName(i, name)] }
		q := at("attn.wq")
		m.layers = append(m.layers, layer{
			ln1w: at("ln1.weight"), ln1b: at("ln1.bias"), ln2w: at("ln2.weight"), ln2b: at("ln2.bias"),
			qkv: m.linear(span{q.off, 3 * q.n}, 3*e, e),
			wo:  m.linear(at("attn.wo"), e, e),
			fc1: m.linear(at("mlp.fc1"), f, e),
			fc2: m.linear(at("mlp.fc2"), e, f),
		})
	}
	return m
}

func (m *model) linear(s span, out, in int) *linear {
	l := &linear{s, out, in, kernel.NewMatrix(out, in), kernel.NewMatrix(in, out)}
	m.linears = append(m.linears, l)
	return l
}

// pack refreshes the packed forms of l.
func (l *linear) pack(k *kernel.Kernels, weights []float32) {
	k.Load(l.forward, l.of(weights))
	k.LoadTransposed(l.back, l.of(weights))
}

// Standard deviations of the initial weights: GPT-2's, with the projections into the
// residual stream scaled by 1/sqrt(2·layers).
const initialScale = 0.02

// initialise draws the initial weights. Each tensor has its own random stream.
func (m *model) initialise(seed uint64) {
	for i, p := range m.params {
		w := p.of(m.weights)
		switch {
		case strings.HasSuffix(p.Name, ".weight"):
			for j := range w {
				w[j] = 1
			}
		case strings.HasSuffix(p.Name, ".bias"):
			clear(w)
		default:
			scale := initialScale
			if strings.HasSuffix(p.Name, "attn.wo") || strings.HasSuffix(p.Name, "mlp.fc2") {
				scale /= math.Sqrt(2 * float64(m.config.NLayer))
			}
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for j := range w {
				w[j] = float32(scale * r.NormFloat64())
			}
		}
	}
}
