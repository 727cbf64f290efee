package train

import "glossa/pkg/engine/kernel"

// backward adds to grad, laid out like the weights, the gradient of the loss whose
// gradient is in logits. It must follow forward of the same tokens.
func (w *worker) backward(tokens []int32, grad []float32) {
	t, e := len(tokens), w.config.NEmbd
	dx := w.dx[:t*e]
	w.linearBack(w.dy, w.logits, w.normed, w.head, t, grad)
	clear(dx)
	w.normBack(w.dy, w.x, w.lnFw, w.lnFb, t, grad)
	for i := len(w.layers) - 1; i >= 0; i-- {
		w.layerBack(i, t, grad)
	}
	wte, wpe := w.wte.of(grad), w.wpe.of(grad)
	for i, id := range tokens {
		w.k.Add(wte[int(id)*e:(int(id)+1)*e], dx[i*e:])
	}
	w.k.Add(wpe[:t*e], dx)
}

// linearBack computes dx = dy·W and adds dyᵀ·x to the gradient of W; t rows.
func (w *worker) linearBack(dx, dy, x []float32, l *linear, t int, grad []float32) {
	w.k.MatMul(dx, dy, t, l.back)
	w.k.GEMM(w.scratch, l.of(grad), l.in, kernel.View{Data: dy, Stride: l.out, Transposed: true},
		kernel.View{Data: x, Stride: l.in}, l.out, l.in, t, true)
}

// normBack adds to w.dx the gradient of LayerNorm's input x from that of its output.
func (w *worker) normBack(dy, x []float32, weight, bias span, t int, grad []float32) {
	e := w.config.NEmbd
	gamma, dw, db := weight.of(w.weights), weight.of(grad), bias.of(grad)
	for r := range t {
		row := x[r*e : (r+1)*e]
		mean, scale := w.k.Moments(row, normEps)
		w.k.LayerNormBackward(w.dx[r*e:(r+1)*e], dw, db, dy[r*e:], row, gamma, mean, scale)
	}
}

// layerBack propagates w.dx from the output of layer i to its input.
func (w *worker) layerBack(i, t int, grad []float32) {
	l, a, e, f := &w.layers[i], &w.acts[i], w.config.NEmbd, w.config.FFN()
	w.linearBack(w.du, w.dx, a.g, l.fc2, t, grad)
	w.k.GELUBackward(w.du[:t*f], a.u[:t*f])
	w.linearBack(w.dy, w.du, a.n2, l.fc1, t, grad)
	w.normBack(w.dy, a.x1, l.ln2w, l.ln2b, t, grad)

	w.linearBack(w.dy, w.dx, a.att, l.wo, t, grad)
	dqkv := w.dqkv[:t*3*e]
	clear(dqkv)
	for h := range w.config.NHead {
		w.attendBack(a, w.dy, h, t)
	}
	for r := range t {
		w.k.Scale(dqkv[r*3*e:r*3*e+e], w.queryScale())
	}
	w.linearBack(w.dy, dqkv, a.n1, l.qkv, t, grad)
	w.normBack(w.dy, a.x0, l.ln1w, l.ln1b, t, grad)
}
