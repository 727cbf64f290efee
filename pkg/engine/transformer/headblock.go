package transformer

import (
	"errors"
	"fmt"
)

// headBlock is the block of [Spec.HeadActivation].
type headBlock struct {
	dense linear // (Width, Width)
	act   activation
	norm  norm // (Width)
}

// headActivation returns the activation of the block before the head, if there is one.
func (s *Spec) headActivation() (a activation, err error) {
	if s.HeadActivation == "" {
		return a, nil
	}
	if len(s.Encoder) > 0 || s.EmbedWidth > 0 {
		return a, errors.New("there is an encoder, or an embedding of another width")
	}
	a, err = newActivation(&FeedForward{Activation: s.HeadActivation})
	if err == nil && a.learned+a.depth > 0 {
		err = fmt.Errorf("%q has parameters", s.HeadActivation)
	}
	return a, err
}

// headBlock lists the block before the head.
func (l *partList) headBlock(w *Weights, m *Model) {
	if width := l.spec.Width; l.spec.HeadActivation != "" {
		l.linear("head_dense", &w.HeadDense, &m.headBlock.dense, width, width)
		l.norm("head_norm", &w.HeadNorm, &m.headBlock.norm, width)
	}
}

// headInputs returns what the head reads of y (outputs, Width), the worker's results of the last norm,
// which it overwrites.
func (w *worker) headInputs(y []float32) []float32 {
	m, b, width := w.m, &w.m.headBlock, w.m.Width
	if m.HeadActivation == "" {
		return y
	}
	w.apply(&b.dense, w.out, y, w.outputs, func(from, to int) {
		for i := 0; i < w.outputs && from < to; i++ {
			b.act.apply(m.kernels, w.out[i*width+from:i*width+to], nil, nil)
		}
	})
	w.barrier.wait() // a norm needs all columns of a row
	for i := range w.outputs {
		m.normalise(y[i*width:(i+1)*width], w.out[i*width:(i+1)*width], b.norm)
	}
	return y
}
