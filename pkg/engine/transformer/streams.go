package transformer

import (
	"errors"
	"fmt"
	"math"
)

// streams are what a layer predicts and corrects residual streams by, see [Spec.Streams].
type streams struct {
	norm    norm
	router  []float32 // (Streams, Width), row-major
	predict []float32 // (Streams, Streams, Streams), row-major: of a stream, from another, by a share
	correct []float32 // (Streams, Streams), row-major
	scale   []float32 // (Width), of LayerInputs
}

// laurel is the branch of [Spec.Laurel].
type laurel struct {
	left, right linear // (Laurel, Width), (Width, Laurel)
	norm        norm
}

// minMagnitude is the least mean of squares that a stream is divided by the root of.
const minMagnitude = 1e-5

// checkStreams refuses streams and branches that cannot be computed.
func (s *Spec) checkStreams() error {
	if s.Streams < 0 || s.Streams == 1 || s.Streams > 0 && (len(s.Encoder) > 0 || s.LayerScale) {
		return fmt.Errorf("streams: %d is not 0 or greater than 1, or there is an encoder, or layers have scales", s.Streams)
	}
	if s.Laurel < 0 || s.Laurel > 0 && len(s.Encoder) > 0 {
		return fmt.Errorf("laurel: %d is negative, or there is an encoder", s.Laurel)
	}
	for i := range s.Kinds {
		if k := &s.Kinds[i]; s.Laurel > 0 && (k.Attention.Heads == 0 || k.Parallel || !k.Attention.Norms.Before()) {
			return fmt.Errorf("laurel: kinds[%d] has no attention behind a norm, or parallel branches", i)
		}
	}
	return nil
}

// checkSparsity refuses gates that cannot be cut off.
func (f *FeedForward) checkSparsity() error {
	switch {
	case !(f.Sparsity >= 0 && f.Sparsity < 1):
		return fmt.Errorf("sparsity: %v is not in 0..1", f.Sparsity)
	case f.Sparsity > 0 && (!f.Gated || f.Experts != nil || f.Limit > 0):
		return errors.New("sparsity: there is no gate, or it has a limit, or there are experts")
	}
	return nil
}

// streamParts lists what makes the streams.
func (l *partList) streamParts(w *Weights, m *Model) {
	if n := l.spec.Streams; n > 0 {
		l.linear("streams_in", &w.StreamsIn, &m.streamsIn, (n-1)*l.spec.Width, l.spec.Width)
	}
}

// mergeParts lists what merges the streams after the last layer.
func (l *partList) mergeParts(w *Weights, m *Model) {
	for i := range m.streamsOut {
		l.linear(fmt.Sprintf("streams_out.%d", i), &w.StreamsOut[i], &m.streamsOut[i], l.spec.Width, l.spec.Width)
	}
}

// layerStreams lists what a layer has in addition to its branches.
func (l *partList) layerStreams(at string, f *Layer, o *layer) {
	width := l.spec.Width
	if n := l.spec.Streams; n > 0 {
		s := &o.streams
		l.norm(at+"streams_norm", &f.StreamsNorm, &s.norm, width)
		l.add(part{name: at + "streams_router", usage: plain, rows: n, cols: width, from: &f.StreamsRouter.Weight, values: &s.router})
		l.add(part{name: at + "streams_predict", usage: plain, rows: n * n, cols: n, from: &f.StreamsPredict.Weight, values: &s.predict})
		l.add(part{name: at + "streams_correct", usage: plain, rows: n, cols: n, from: &f.StreamsCorrect.Weight, values: &s.correct})
		if l.spec.LayerInputs > 0 {
			l.vector(at+"streams_scale", &f.StreamsScale, &s.scale, width)
		}
	}
	if n := l.spec.Laurel; n > 0 {
		l.linear(at+"laurel_left", &f.LaurelLeft, &o.laurel.left, n, width)
		l.linear(at+"laurel_right", &f.LaurelRight, &o.laurel.right, width, n)
		l.norm(at+"laurel_post_norm", &f.LaurelNorm, &o.laurel.norm, width)
		l.adaptable(&o.laurel.left, &o.laurel.right)
	}
}

// growStreams makes the scratch of streams fit the tokens.
func (p *Pass) growStreams() {
	if m := p.m; m.Streams > 0 {
		fit(&p.streams, p.tokens*(m.Streams-1)*m.Width)
		fit(&p.predicted, p.tokens*m.Width)
	}
	fit(&p.laurel, p.tokens*p.m.Laurel)
}

// stream returns the row of a token in a stream after the first.
func (p *Pass) stream(row, index int) []float32 {
	width := p.m.Width
	return p.streams[(row*(p.m.Streams-1)+index-1)*width:][:width]
}

// squares returns the mean of the squares of x.
func squares(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum / float64(len(x))
}

// rescale scales x so that the mean of its squares is target.
func (w *worker) rescale(x []float32, target float64) {
	w.m.kernels.Scale(x, float32(math.Sqrt(target)/math.Sqrt(max(squares(x), minMagnitude))))
}

// beginStreams makes the other streams of the first.
func (w *worker) beginStreams() {
	m := w.m
	if m.Streams == 0 {
		return
	}
	w.apply(&m.streamsIn, w.streams, w.x, w.tokens, nil)
	w.barrier.wait()
	from, to := w.share(w.tokens)
	for row := from; row < to; row++ {
		target := squares(w.x[row*m.Width : (row+1)*m.Width])
		for i := 1; i < m.Streams; i++ {
			w.rescale(w.stream(row, i), target)
		}
	}
	w.barrier.wait()
}

// shares writes what a layer's router says of a row: the tanh of its logits.
func (w *worker) shares(s *streams, x []float32) {
	width := w.m.Width
	fit(&w.routed, w.m.Streams)
	fit(&w.row, width)
	w.m.normalise(w.row, x, s.norm)
	for i := range w.routed {
		logit := w.m.kernels.Dot(w.row, s.router[i*width:(i+1)*width])
		w.routed[i] = float32(math.Tanh(float64(logit / float32(width))))
	}
}

// weigh returns the sum of the shares of the router with the weights of a row.
func (w *worker) weigh(weights []float32, row int) (sum float32) {
	for i, share := range w.routed {
		sum += weights[row*len(w.routed)+i] * share
	}
	return sum
}

// predict replaces the streams by what layer i predicts of them.
func (w *worker) predict(i int) {
	m, s := w.m, &w.m.decoder[i].streams
	if m.Streams == 0 {
		return
	}
	n, width := m.Streams, m.Width
	fit(&w.before, n*width)
	from, to := w.share(w.tokens)
	for row := from; row < to; row++ {
		x := w.x[row*width : (row+1)*width]
		w.shares(s, x)
		copy(w.before, x)
		for j := 1; j < n; j++ {
			copy(w.before[j*width:], w.stream(row, j))
		}
		for k := range n {
			if k > 0 {
				x = w.stream(row, k)
			}
			for j := range n {
				m.kernels.Axpy(x, w.weigh(s.predict, k*n+j), w.before[j*width:(j+1)*width])
			}
		}
		copy(w.predicted[row*width:], w.x[row*width:(row+1)*width])
	}
	w.barrier.wait()
}

// correct changes the streams by what layer i has changed of its prediction of the first, which it
// leaves in predicted, scaled for the branch of the layer's input.
func (w *worker) correct(i int) {
	m, s := w.m, &w.m.decoder[i].streams
	if m.Streams == 0 {
		return
	}
	width := m.Width
	fit(&w.before, m.Streams*width)
	from, to := w.share(w.tokens)
	for row := from; row < to; row++ {
		x, predicted, change := w.x[row*width:(row+1)*width], w.predicted[row*width:(row+1)*width], w.before[:width]
		w.shares(s, x)
		copy(change, x)
		m.kernels.Axpy(change, -1, predicted)
		copy(x, predicted)
		m.kernels.Axpy(x, 1+w.weigh(s.correct, 0), change)
		for k := 1; k < m.Streams; k++ {
			m.kernels.Axpy(w.stream(row, k), 1+w.weigh(s.correct, k), change)
		}
		if copy(predicted, x); s.scale != nil {
			m.kernels.Mul(predicted, s.scale)
		}
	}
	w.barrier.wait()
}

// addToStreams adds the branch of a layer's input, h, to all streams but the first.
func (w *worker) addToStreams(l *layer) {
	m, width := w.m, w.m.Width
	w.apply(&l.inputOut, w.out, w.h, w.tokens, nil)
	w.barrier.wait()
	w.normaliseRows(w.out, l.inputNorms.last)
	from, to := w.share(w.tokens)
	for row := from; row < to; row++ {
		out := w.out[row*width : (row+1)*width]
		if m.ResidualScale != 0 {
			m.kernels.Scale(out, m.ResidualScale)
		}
		for k := 1; k < m.Streams; k++ {
			m.kernels.Add(w.stream(row, k), out)
		}
	}
	w.barrier.wait()
}

// mergeStreams replaces the first stream by the mean of all after the last layer.
func (w *worker) mergeStreams() {
	m, width := w.m, w.m.Width
	if m.Streams == 0 {
		return
	}
	from, to := w.share(w.tokens)
	for k := 1; k < m.Streams; k++ {
		for row := from; row < to; row++ {
			copy(w.predicted[row*width:], w.stream(row, k))
		}
		w.barrier.wait()
		w.apply(&m.streamsOut[k-1], w.out, w.predicted, w.tokens, nil)
		w.barrier.wait()
		for row := from; row < to; row++ {
			out := w.out[row*width : (row+1)*width]
			w.rescale(out, squares(w.x[row*width:(row+1)*width]))
			copy(w.stream(row, k), out)
		}
	}
	for row := from; row < to; row++ {
		x := w.x[row*width : (row+1)*width]
		for k := 1; k < m.Streams; k++ {
			m.kernels.Add(x, w.stream(row, k))
		}
		m.kernels.Scale(x, 1/float32(m.Streams))
	}
	w.barrier.wait()
}

// addLaurel adds the branch of [Spec.Laurel], which reads what the attention has read.
func (w *worker) addLaurel(l *layer, in []float32) {
	m, width := w.m, w.m.Width
	if m.Laurel == 0 {
		return
	}
	w.apply(&l.laurel.left, w.laurel, in, w.tokens, nil)
	w.barrier.wait()
	w.apply(&l.laurel.right, w.out, w.laurel, w.tokens, nil)
	w.barrier.wait()
	w.normaliseRows(w.out, l.laurel.norm)
	from, to := w.share(w.tokens)
	for row := from; row < to; row++ {
		x := w.x[row*width : (row+1)*width]
		m.kernels.Add(x, in[row*width:(row+1)*width])
		m.kernels.Add(x, w.out[row*width:(row+1)*width])
		m.kernels.Scale(x, 1/math.Sqrt2)
	}
	w.barrier.wait()
}

// sparseUp is [feedForward.up] with a gate that is cut off, see [FeedForward.Sparsity].
func (w *worker) sparseUp(f *feedForward, in []float32) {
	k, ffn := w.m.kernels, f.upper.rows
	w.apply(&f.gate, w.g, in, w.tokens, nil)
	w.barrier.wait() // a row's mean needs all of its columns
	from, to := w.share(w.tokens)
	for row := from; row < to; row++ {
		g := w.g[row*ffn : (row+1)*ffn]
		f.cutOff(g)
		f.act.apply(k, g, nil, nil)
	}
	w.barrier.wait()
	w.apply(&f.upper, w.h, in, w.tokens, func(from, to int) {
		for i := range w.tokens {
			k.Mul(w.h[i*ffn+from:i*ffn+to], w.g[i*ffn+from:i*ffn+to])
		}
	})
}

// cutOff takes from a gate what exceeds its mean by some standard deviations.
func (f *feedForward) cutOff(g []float32) {
	mean, variance := 0.0, 0.0
	for _, v := range g {
		mean += float64(v)
	}
	mean /= float64(len(g))
	for _, v := range g {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	cut := float32(mean + f.deviations*math.Sqrt(variance/float64(len(g))))
	for i, v := range g {
		g[i] = max(v-cut, 0)
	}
}
