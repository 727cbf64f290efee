package transformer

import (
	"slices"

	"glossa/pkg/engine/kernel"
)

// A worker computes its share of a pass: the outputs of some panels of each matrix and
// some heads of each attention. Each worker computes norms of whole rows for itself, which
// costs less than waiting for another worker.
type worker struct {
	*Pass
	index, count int
	barrier      *barrier
	step         uint32 // of the program, among those that are dealt

	norm      []float32   // (tokens, Width)
	row       []float32   // scratch of the activation
	learned   [][]float32 // the worker's columns of the activation's parameters
	attention *kernel.Attention
	scratch   kernel.Queries
	rooms     []room
	store     []float32 // keys and values of one head of an encoded text
	bias      []float32 // relative biases of some heads
	biases    [][]float32
	byQuery   []float32 // (tokens, 2*Buckets), of a Disentangled
	byKey     []float32 // the same
	routes    routes
	gathered  []float32   // (rows, Width), the inputs of an expert; (tokens, ...), of a head of a Latent; (tokens, StepRank)
	result    []float32   // (tokens, ...), of such a head
	value     []float32   // (HeadDim), of a key that is a value too
	looked    []float32   // (layers*LayerInputs), a row of the embedding of layers
	filtered  []float32   // (Taps, channels), of a layer with states
	stepped   []float32   // (HeadDim), of a layer with states; with StepRank, of some inputs and all of their states
	low       []float32   // (rows, rank), of an adapter
	routed    []float32   // (Streams), of a row's router
	before    []float32   // (Streams, Width), a row of each stream
	ownParts  [][]float32 // of attention, those of Pass.parts that the worker computes
}

// share returns the worker's part of n.
func (w *worker) share(n int) (from, to int) {
	return w.shareOf(w.index, n)
}

// shareOf returns the part of n of a worker.
func (w *worker) shareOf(index, n int) (from, to int) {
	return n * index / w.count, n * (index + 1) / w.count
}

// apply computes the worker's pieces of dst (n, out) from x (n, in), and then calls done, if it is
// not nil, for the columns of each.
func (w *worker) apply(l *linear, dst, x []float32, n int, done func(from, to int)) {
	w.pieces(l, n, func(c columns, fresh bool) {
		w.multiply(l, dst, x, n, c, fresh)
		if done != nil {
			done(c.from, c.to)
		}
	})
}

// multiply computes columns of dst (n, out) from x (n, in), as the worker's adapters change them;
// fresh is false if x has not changed since the last call.
func (w *worker) multiply(l *linear, dst, x []float32, n int, c columns, fresh bool) {
	w.multiplyColumns(l, dst, x, n, c, fresh)
	w.adapt(l, dst, x, c.from, c.to)
	if l.scale != 0 {
		for i := range n {
			w.m.kernels.Scale(dst[i*l.rows+c.from:i*l.rows+c.to], l.scale)
		}
	}
}

// multiplyColumns computes columns, which begin with a panel, of dst (n, out) from x (n, in).
func (w *worker) multiplyColumns(l *linear, dst, x []float32, n int, c columns, fresh bool) {
	k, rows := w.m.kernels, l.rows
	if len(l.pieces) > 0 {
		w.multiplyPieces(l, dst, x, n, c.from, c.to)
	} else if c.from < c.to {
		w.product(l, dst, rows, x, n, c, fresh)
	}
	if l.bias != nil && c.from < c.to {
		for i := range n {
			k.Add(dst[i*rows+c.from:i*rows+c.to], l.bias[c.from:c.to])
		}
	}
}

// multiplyPieces computes the columns from, ..., to-1 of a matrix of several formats.
func (w *worker) multiplyPieces(l *linear, dst, x []float32, n, from, to int) {
	var done []linear // pieces that have been computed
	at := 0           // the first row of a piece
	for i := range l.pieces {
		p := &l.pieces[i]
		if first, last := max(from-at, 0), min(to-at, p.rows); first < last {
			fresh := !slices.ContainsFunc(done, func(other linear) bool { return p.sharesInputs(&other) })
			w.product(p, dst[at:], l.rows, x, n, columns{first, last, last}, fresh)
			done = l.pieces[i-len(done) : i+1]
		}
		at += p.rows
	}
}

// product computes columns of l, which begin with a panel, in rows of dst that are ldd values apart.
func (w *worker) product(l *linear, dst []float32, ldd int, x []float32, n int, c columns, fresh bool) {
	k := w.m.kernels
	if l.packed == nil {
		k.MatMulPanelsWithin(dst, ldd, x, n, l.full, c.from/panel, ceil(c.to, panel))
		return
	}
	a := w.activations(l.packed.Kind, l.cols, n)
	if fresh {
		k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
	}
	const rows = kernel.PackedRows
	k.MatMulPackedWithin(dst, ldd, a, n, l.packed, c.from/rows, ceil(c.to, rows), ceil(c.until, rows))
}

// sharesInputs reports whether activations that were packed for a product with other can be
// used for a product with l.
func (l *linear) sharesInputs(other *linear) bool {
	return l.packed != nil && other.packed != nil && l.packed.Kind.SharesActivations(other.packed.Kind)
}

// activations returns room for n rows of cols inputs.
func (w *worker) activations(kind kernel.Kind, cols, n int) *kernel.Activations {
	for i := range w.rooms {
		r := &w.rooms[i]
		if !r.kind.SharesActivations(kind) || r.Cols != cols {
			continue
		}
		if r.Rows < n {
			r.Activations = w.m.kernels.NewActivations(kind, n, cols)
		}
		return r.Activations
	}
	a := w.m.kernels.NewActivations(kind, n, cols)
	w.rooms = append(w.rooms, room{a, kind})
	return a
}

// A room is scratch for the inputs of products with packed weights.
type room struct {
	*kernel.Activations
	kind kernel.Kind
}

// residual adds columns of out to x.
func (w *worker) residual(from, to int) {
	width, k := w.m.Width, w.m.kernels
	for i := range w.tokens {
		out := w.out[i*width+from : i*width+to]
		if w.m.ResidualScale != 0 {
			k.Scale(out, w.m.ResidualScale)
		}
		k.Add(w.x[i*width+from:i*width+to], out)
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

// inputs returns what a branch reads (tokens, Width): x or its norm.
func (w *worker) inputs(n *norms) []float32 {
	if !n.Before() {
		return w.x
	}
	w.normalise(n.first)
	return w.norm
}

// decode runs layer i of the decoder.
func (w *worker) decode(i int) {
	l := &w.m.decoder[i]
	in := w.inputs(&l.attentionNorms)
	if l.Parallel {
		w.decodeParallel(i, in)
		return
	}
	switch {
	case l.latent != nil:
		w.latentAttention(i, in)
	case l.attends():
		w.mixTokens(l, &l.qkv, &l.out, in, func() { w.attend(i) })
	}
	if c := l.convolution; c != nil {
		w.mixTokens(l, &c.in, &c.out, in, func() { w.convolve(i) })
	}
	if d := l.deltas; d != nil {
		w.mixTokens(l, &d.in, &d.out, in, func() { w.deltaRule(i) })
	}
	if s := l.states; s != nil {
		w.mixTokens(l, &s.in, &s.out, in, func() { w.recur(i) })
	}
	w.addLaurel(l, in)
	if len(w.m.encoder) > 0 {
		w.apply(&l.crossQ, w.qkv, w.inputs(&l.crossNorms), w.tokens, nil)
		w.barrier.wait()
		w.crossAttention(i)
		w.barrier.wait()
		w.add(&l.crossOut, w.heads, &l.crossNorms)
	}
	w.feed(l)
}

// decodeParallel runs layer i of the decoder, whose branches read the same x.
func (w *worker) decodeParallel(i int, in []float32) {
	l := &w.m.decoder[i]
	w.apply(&l.qkv, w.qkv, in, w.tokens, nil)
	if !l.SharedNorm {
		in = w.inputs(&l.ffn.norms)
	}
	l.ffn.up(w, w.h, w.g, in, w.tokens)
	w.barrier.wait()
	w.inTurn(func() { w.attend(i) })
	w.apply(&l.out, w.out, w.heads, w.tokens, w.residual)
	w.barrier.wait() // for out, which the next product writes
	w.apply(&l.ffn.lower, w.out, w.h, w.tokens, w.residual)
	w.barrier.wait()
}

// mixTokens runs a branch whose tokens mix fills heads from the product of one matrix, in qkv, and
// for that of another. If in is the norm of x, it remains that of x before the branch.
func (w *worker) mixTokens(l *layer, first, last *linear, in []float32, mix func()) {
	w.apply(first, w.qkv, in, w.tokens, nil)
	w.barrier.wait()
	w.inTurn(mix)
	w.add(last, w.heads, &l.attentionNorms)
}

// encode runs a layer of the encoder.
func (w *worker) encode(l *layer) {
	w.apply(&l.qkv, w.qkv, w.inputs(&l.attentionNorms), w.tokens, nil)
	w.barrier.wait()
	w.normaliseQK(l)
	w.fullAttention(l)
	w.barrier.wait()
	w.add(&l.out, w.heads, &l.attentionNorms)
	w.feed(l)
}

// feed computes the feed-forward branch of a layer, if it has one.
func (w *worker) feed(l *layer) {
	if !l.feeds() {
		return
	}
	if l.experts != nil {
		w.mix(l)
		return
	}
	if in := w.inputs(&l.ffn.norms); l.ffn.sparse {
		w.sparseUp(&l.ffn, in)
	} else {
		l.ffn.up(w, w.h, w.g, in, w.tokens)
	}
	w.barrier.wait()
	w.add(&l.ffn.lower, w.h, &l.ffn.norms)
}

// add ends a branch: it computes x += l(in), with the norm after the branch.
func (w *worker) add(l *linear, in []float32, n *norms) {
	w.apply(l, w.out, in, w.tokens, func(from, to int) { w.took(n, from, to) })
	w.finish(n)
}

// took adds columns of a branch's result to x, unless a norm of all comes first.
func (w *worker) took(n *norms, from, to int) {
	if n.Placement != PostNorm && n.Placement != SandwichNorm {
		w.residual(from, to)
	}
}

// finish ends a branch, whose columns were taken, with the norm after it.
func (w *worker) finish(n *norms) {
	switch n.Placement {
	case PostNorm, SandwichNorm:
		w.barrier.wait() // a norm needs all columns of a row
		w.normaliseRows(w.out, n.last)
		w.barrier.wait()
		c := w.own(w.m.Width)
		w.residual(c.from, c.to)
	case PostResidualNorm:
		w.barrier.wait()
		w.normaliseRows(w.x, n.last)
	}
	w.barrier.wait()
}

// normaliseRows replaces the worker's share of rows (tokens, Width) by their norms.
func (w *worker) normaliseRows(x []float32, n norm) {
	width := w.m.Width
	from, to := w.share(w.tokens)
	for i := from; i < to; i++ {
		row := x[i*width : (i+1)*width]
		w.m.normalise(row, row, n)
	}
}
