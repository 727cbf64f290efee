package train

import (
	"strconv"

	"glossa/pkg/engine/kernel"
)

const normEps = 1e-5

func layerName(i int, name string) string { return "layer." + strconv.Itoa(i) + "." + name }

// A worker computes one window at a time: T tokens, E = nEmbd, F = the width of the
// MLP, V = vocabulary. Its memory is reused for every window.
type worker struct {
	*model
	k       *kernel.Kernels
	scratch *kernel.Scratch
	acts    []activations
	x       []float32 // (T, E) residual stream after the last layer
	normed  []float32 // (T, E)
	logits  []float32 // (T, V), then their gradient
	dx      []float32 // (T, E) gradient of the residual stream
	dy      []float32 // (T, E)
	dqkv    []float32 // (T, 3E)
	du      []float32 // (T, F)
	p, dp   []float32 // (queryBlock, T) probabilities of one head and their gradient
	slope   []float32 // (queryBlock, T) derivative of the score cap; nil without one
}

// activations are the values of a layer's forward pass that its backward pass needs.
type activations struct {
	x0   []float32 // (T, E) input
	n1   []float32 // (T, E) after ln1
	qkv  []float32 // (T, 3E), q already scaled by 1/sqrt(headDim)
	lse  []float32 // (H, T) log of the sum of exp(score)
	att  []float32 // (T, E) heads side by side
	x1   []float32 // (T, E) after attention
	n2   []float32 // (T, E) after ln2
	u, g []float32 // (T, F) before and after GELU
}

func newWorker(m *model, k *kernel.Kernels) *worker {
	c := m.config
	t, e, f := c.BlockSize, c.NEmbd, c.FFN()
	w := &worker{
		model: m, k: k, scratch: kernel.NewScratch(),
		x: make([]float32, t*e), normed: make([]float32, t*e), logits: make([]float32, t*c.VocabSize),
		dx: make([]float32, t*e), dy: make([]float32, t*e), dqkv: make([]float32, 3*t*e), du: make([]float32, t*f),
		p: make([]float32, queryBlock*t), dp: make([]float32, queryBlock*t),
	}
	if c.SoftCap != nil {
		w.slope = make([]float32, queryBlock*t)
	}
	for range c.NLayer {
		w.acts = append(w.acts, activations{
			x0: make([]float32, t*e), n1: make([]float32, t*e), qkv: make([]float32, 3*t*e), lse: make([]float32, c.NHead*t),
			att: make([]float32, t*e), x1: make([]float32, t*e), n2: make([]float32, t*e),
			u: make([]float32, t*f), g: make([]float32, t*f),
		})
	}
	return w
}

// forward computes the logits of tokens.
func (w *worker) forward(tokens []int32) {
	t, e := len(tokens), w.config.NEmbd
	wte, wpe := w.wte.of(w.weights), w.wpe.of(w.weights)
	x := w.input(0)[:t*e]
	for i, id := range tokens {
		row := x[i*e : (i+1)*e]
		copy(row, wte[int(id)*e:])
		w.k.Add(row, wpe[i*e:])
	}
	for i := range w.layers {
		w.layer(i, t)
	}
	w.norm(w.normed, w.x, w.lnFw, w.lnFb, t)
	w.k.MatMul(w.logits, w.normed, t, w.head.forward)
}

// input returns the residual stream before layer i.
func (w *worker) input(i int) []float32 {
	if i == len(w.acts) {
		return w.x
	}
	return w.acts[i].x0
}

// layer runs layer i on t tokens.
func (w *worker) layer(i, t int) {
	l, a, e, f := &w.layers[i], &w.acts[i], w.config.NEmbd, w.config.FFN()
	w.norm(a.n1, a.x0, l.ln1w, l.ln1b, t)
	w.k.MatMul(a.qkv, a.n1, t, l.qkv.forward)
	for r := range t {
		w.k.Scale(a.qkv[r*3*e:r*3*e+e], w.queryScale())
	}
	for h := range w.config.NHead {
		w.attend(a, h, t)
	}
	x1 := a.x1[:t*e]
	w.k.MatMul(x1, a.att, t, l.wo.forward)
	w.k.Add(x1, a.x0)
	w.norm(a.n2, x1, l.ln2w, l.ln2b, t)
	w.k.MatMul(a.u, a.n2, t, l.fc1.forward)
	g := a.g[:t*f]
	copy(g, a.u)
	w.k.GELU(g)
	out := w.input(i + 1)[:t*e]
	w.k.MatMul(out, g, t, l.fc2.forward)
	w.k.Add(out, x1)
}

// norm computes LayerNorm on t rows.
func (w *worker) norm(dst, x []float32, weight, bias span, t int) {
	e := w.config.NEmbd
	for r := range t {
		w.k.LayerNorm(dst[r*e:(r+1)*e], x[r*e:(r+1)*e], weight.of(w.weights), bias.of(w.weights), normEps)
	}
}

// loss runs forward and returns the sum of the losses of predicting targets. If scale is
// not zero, logits then hold the gradient of scale times that sum.
func (w *worker) loss(tokens, targets []int32, scale float32) float64 {
	w.forward(tokens)
	sum, v := 0.0, w.config.VocabSize
	for i, id := range targets {
		sum += w.k.CrossEntropy(w.logits[i*v:(i+1)*v], int(id), scale)
	}
	return sum
}
