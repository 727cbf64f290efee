package transformer

import "glossa/pkg/engine/kernel"

// A worker computes its share of a pass: the outputs of some panels of each matrix,
// some heads of each attention. What every share needs of a row, such as its norm,
// each worker computes for itself: that costs less than to wait for it.
type worker struct {
	*Pass
	index, count int
	barrier      *barrier

	norm      []float32   // (tokens, Width)
	row       []float32   // scratch of the activation
	learned   [][]float32 // the worker's columns of the activation's parameters
	attention *kernel.Attention
	rooms     []room
	store     []float32 // keys and values of one head of an encoded text
}

// share returns the part of n that is the worker's.
func (w *worker) share(n int) (from, to int) {
	return n * w.index / w.count, n * (w.index + 1) / w.count
}

// apply computes the worker's columns of dst (n, out) from x (n, in), and tells which
// they are.
func (w *worker) apply(l *linear, dst, x []float32, n int) (from, to int) {
	return w.multiply(l, dst, x, n, true)
}

// multiply is apply; fresh is false if x is what it was at the last call.
func (w *worker) multiply(l *linear, dst, x []float32, n int, fresh bool) (from, to int) {
	k, rows := w.m.kernels, l.rows
	panels, size := l.panels()
	first, last := w.share(panels)
	if l.packed == nil {
		k.MatMulPanels(dst, x, n, l.full, first, last)
	} else if first < last {
		a := w.activations(l.packed.Kind, l.cols, n)
		if fresh {
			k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
		}
		k.MatMulPacked(dst, a, n, l.packed, first, last)
	}
	from, to = min(first*size, rows), min(last*size, rows)
	if l.bias != nil && from < to {
		for i := range n {
			k.Add(dst[i*rows+from:i*rows+to], l.bias[from:to])
		}
	}
	return from, to
}

// sharesInputs tells whether the activations made for a product with other serve one
// with l that has the same inputs.
func (l *linear) sharesInputs(other *linear) bool {
	return l.packed != nil && other.packed != nil && (l.packed.Kind == kernel.BF16) == (other.packed.Kind == kernel.BF16)
}

// activations returns room for n rows of cols inputs.
func (w *worker) activations(kind kernel.Kind, cols, n int) *kernel.Activations {
	wide := kind == kernel.BF16
	for i := range w.rooms {
		r := &w.rooms[i]
		if r.wide != wide || r.Cols != cols {
			continue
		}
		if r.Rows < n {
			r.Activations = w.m.kernels.NewActivations(kind, n, cols)
		}
		return r.Activations
	}
	a := w.m.kernels.NewActivations(kind, n, cols)
	w.rooms = append(w.rooms, room{a, wide})
	return a
}

// room is scratch for the inputs of products with packed weights.
type room struct {
	*kernel.Activations
	wide bool // for BF16
}

// residual adds columns of out to x.
func (w *worker) residual(out []float32, from, to int) {
	width := w.m.Width
	for i := range w.tokens {
		w.m.kernels.Add(w.x[i*width+from:i*width+to], out[i*width+from:i*width+to])
	}
}

// normalise writes the norm of each row of x to the worker's norm.
func (w *worker) normalise(n norm) {
	width := w.m.Width
	fit(&w.norm, w.tokens*width)
	for i := range w.tokens {
		w.m.normalise(w.norm[i*width:(i+1)*width], w.x[i*width:(i+1)*width], n)
	}
}

// decode runs layer i of the decoder.
func (w *worker) decode(i int) {
	l := &w.m.decoder[i]
	w.normalise(l.attentionNorm)
	w.apply(&l.qkv, w.qkv, w.norm, w.tokens)
	if w.m.Parallel {
		if !w.m.SharedNorm {
			w.normalise(l.ffnNorm)
		}
		l.ffn.up(w)
	}
	w.barrier.wait()
	w.selfAttention(i)
	w.barrier.wait()
	if w.m.Parallel {
		from, to := w.apply(&l.out, w.out, w.heads, w.tokens)
		w.residual(w.out, from, to)
		l.ffn.down(w)
		w.barrier.wait()
		return
	}
	w.add(&l.out)
	if len(w.m.encoder) > 0 {
		w.normalise(l.crossNorm)
		w.apply(&l.crossQ, w.qkv, w.norm, w.tokens)
		w.barrier.wait()
		w.crossAttention(i)
		w.barrier.wait()
		w.add(&l.crossOut)
	}
	w.feed(l)
}

// encode runs a layer of the encoder.
func (w *worker) encode(l *layer) {
	w.normalise(l.attentionNorm)
	w.apply(&l.qkv, w.qkv, w.norm, w.tokens)
	w.barrier.wait()
	w.fullAttention(l)
	w.barrier.wait()
	w.add(&l.out)
	w.feed(l)
}

// add computes x += l(heads).
func (w *worker) add(l *linear) {
	from, to := w.apply(l, w.out, w.heads, w.tokens)
	w.residual(w.out, from, to)
	w.barrier.wait()
}

// feed computes x += feedForward(norm(x)).
func (w *worker) feed(l *layer) {
	w.normalise(l.ffnNorm)
	l.ffn.up(w)
	w.barrier.wait()
	l.ffn.down(w)
	w.barrier.wait()
}
