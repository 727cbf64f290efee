package transformer

import "math"

// layerEmbedPart is the name of the embedding of [Spec.LayerInputs].
const layerEmbedPart = "layer_embedding"

// setLayerInputs sets what the branches of [Spec.LayerInputs] need in addition to weights.
func (m *Model) setLayerInputs() {
	if m.LayerInputs == 0 {
		return
	}
	m.layerProjection.scale = float32(1 / math.Sqrt(float64(m.Width)))
	for i := range m.decoder {
		m.decoder[i].inputNorms.Placement = PostNorm
	}
}

// layerInputs lists what makes the inputs of layers.
func (l *partList) layerInputs(w *Weights, m *Model) {
	s := l.spec
	if s.LayerInputs == 0 {
		return
	}
	all := len(s.Decoder) * s.LayerInputs
	l.add(part{name: layerEmbedPart, usage: lookedUp, rows: s.Vocab, cols: all, from: &w.LayerEmbed.Weight, matrix: &m.layerEmbed})
	l.linear("layer_projection", &w.LayerProjection, &m.layerProjection, all, s.Width)
	l.norm("layer_projection_norm", &w.LayerNorm, &m.layerNorm, s.LayerInputs)
	l.adaptable(&m.layerProjection)
}

// layerEnd lists what follows the branches of a layer.
func (l *partList) layerEnd(at string, f *Layer, o *layer) {
	if n, width := l.spec.LayerInputs, l.spec.Width; n > 0 {
		l.linear(at+"input_gate", &f.InputGate, &o.inputGate, n, width)
		l.linear(at+"input_out", &f.InputOut, &o.inputOut, width, n)
		l.norms(at+"input", nil, &f.InputNorm, &o.inputNorms)
		l.adaptable(&o.inputGate, &o.inputOut)
	}
	if l.spec.LayerScale {
		l.vector(at+"scale", &f.Scale, &o.factor, 1)
	}
}

// computeInputs computes the inputs of all layers, see [Spec.LayerInputs].
func (w *worker) computeInputs() {
	m, n := w.m, w.m.LayerInputs
	if n == 0 {
		return
	}
	w.apply(&m.layerProjection, w.layerInputs, w.x, w.tokens, nil)
	w.barrier.wait()
	all := m.layerProjection.rows
	from, to := w.share(w.tokens)
	fit(&w.looked, all)
	for i := range w.spans {
		sp := &w.spans[i]
		for row := max(from, sp.row); row < min(to, sp.row+sp.n); row++ {
			p := w.layerInputs[row*all : (row+1)*all]
			for at := 0; at < all; at += n {
				m.normalise(p[at:at+n], p[at:at+n], m.layerNorm)
			}
			if t := w.seqs[i].Tokens[row-sp.row]; t >= 0 {
				m.layerEmbed.row(w.looked, t)
				m.kernels.Scale(w.looked, float32(math.Sqrt(float64(n))))
				m.kernels.Add(p, w.looked)
			}
			m.kernels.Scale(p, 1/math.Sqrt2)
		}
	}
	w.barrier.wait()
}

// endLayer computes the branch of the layer's own input, and scales what the layer returns.
func (w *worker) endLayer(index int) {
	l, k, n := &w.m.decoder[index], w.m.kernels, w.m.LayerInputs
	if n > 0 {
		x := w.x
		if w.m.Streams > 0 {
			x = w.predicted
		}
		w.apply(&l.inputGate, w.h, x, w.tokens, func(from, to int) {
			for i := range w.tokens {
				h, p := w.h[i*n+from:i*n+to], w.layerInputs[(i*len(w.m.decoder)+index)*n:][:n]
				l.ffn.act.apply(k, h, nil, nil)
				k.Mul(h, p[from:to])
			}
		})
		w.barrier.wait()
		if w.m.Streams > 0 {
			w.addToStreams(l)
		} else {
			w.add(&l.inputOut, w.h, &l.inputNorms)
		}
	}
	if l.factor == nil {
		return
	}
	c := w.own(w.m.Width)
	for i := range w.tokens {
		k.Scale(w.x[i*w.m.Width+c.from:i*w.m.Width+c.to], l.factor[0])
	}
	w.barrier.wait()
}
