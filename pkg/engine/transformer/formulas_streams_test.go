package transformer_test

import (
	"fmt"
	"math"

	"glossa/pkg/engine/transformer"
)

// streams returns the residual streams of tokens whose embeddings are x.
func (m formulas) streams(x rows) []rows {
	out := []rows{x}
	for k := 1; k < m.Spec.Streams; k++ {
		at := (k - 1) * m.Spec.Width
		out = append(out, m.each(x, func(x []float64) []float64 { return alike(m.linear("streams_in", x)[at:at+len(x)], x) }))
	}
	return out
}

// alike returns y with the magnitude of x.
func alike(y, x []float64) []float64 {
	squares := func(x []float64) (sum float64) {
		for _, v := range x {
			sum += v * v / float64(len(x))
		}
		return sum
	}
	return times(y, float32(math.Sqrt(squares(x)/max(squares(y), 1e-5))))
}

// routed returns a layer's shares for a row of the first stream.
func (m formulas) routed(at string, x []float64) []float64 {
	out := m.linear(at+"streams_router", m.norm(at+"streams_norm", x))
	for i := range out {
		out[i] = math.Tanh(out[i] / float64(len(x)))
	}
	return out
}

// predict returns what a layer predicts of the streams.
func (m formulas) predict(at string, streams []rows) (out []rows) {
	n := m.Spec.Streams
	if n == 0 {
		return streams
	}
	for k := range n {
		stream := rows{}
		for row, x := range streams[k] {
			factors, y := m.linear(at+"streams_predict", m.routed(at, streams[0][row])), append([]float64{}, x...)
			for j := range n {
				for i := range y {
					y[i] += factors[k*n+j] * streams[j][row][i]
				}
			}
			stream = append(stream, y)
		}
		out = append(out, stream)
	}
	return out
}

// correct returns the streams after a layer, of what it predicted and of what its branches return for
// the first, x.
func (m formulas) correct(at string, predicted []rows, x rows) (out []rows) {
	if m.Spec.Streams == 0 {
		return []rows{x}
	}
	for k := range predicted {
		stream := rows{}
		for row := range x {
			factor, y := 1+m.linear(at+"streams_correct", m.routed(at, x[row]))[k], append([]float64{}, predicted[k][row]...)
			for i := range y {
				y[i] += factor * (x[row][i] - predicted[0][row][i])
			}
			stream = append(stream, y)
		}
		out = append(out, stream)
	}
	return out
}

// endStreams is endLayer for several streams.
func (m formulas) endStreams(at string, layer int, k *transformer.Kind, streams []rows, first rows, tokens []int) []rows {
	if m.Spec.Streams == 0 {
		return []rows{m.endLayer(at, layer, k, streams[0], first, tokens)}
	}
	if m.Spec.LayerInputs == 0 {
		return streams
	}
	scaled := m.each(streams[0], func(x []float64) []float64 {
		y := append([]float64{}, x...)
		for i, v := range m.vector(at + "streams_scale") {
			y[i] *= v
		}
		return y
	})
	after := m.endLayer(at, layer, k, scaled, first, tokens)
	for _, stream := range streams[1:] {
		for row := range stream {
			for i := range stream[row] {
				stream[row][i] += after[row][i] - scaled[row][i]
			}
		}
	}
	return streams
}

// merge returns what the head reads of the streams.
func (m formulas) merge(streams []rows) rows {
	row := -1
	return m.each(streams[0], func(x []float64) []float64 {
		row++
		sum := append([]float64{}, x...)
		for k := 1; k < len(streams); k++ {
			add(sum, alike(m.linear(fmt.Sprintf("streams_out.%d", k-1), streams[k][row]), x))
		}
		for i := range sum {
			sum[i] /= float64(len(streams))
		}
		return sum
	})
}

// laurel returns x, to which attention has added, with the branch that reads the same n.
func (m formulas) laurel(at string, n, x rows) rows {
	if m.Spec.Laurel == 0 {
		return x
	}
	row := -1
	return m.each(x, func(x []float64) []float64 {
		row++
		y := m.norm(at+"laurel_post_norm", m.linear(at+"laurel_right", m.linear(at+"laurel_left", n[row])))
		for i := range y {
			y[i] = (x[i] + n[row][i] + y[i]) / math.Sqrt2
		}
		return y
	})
}

// cutOff returns the gate of a block without what its sparsity cuts off.
func cutOff(f *transformer.FeedForward, g []float64) []float64 {
	if f.Sparsity == 0 {
		return g
	}
	mean, variance, n := 0.0, 0.0, float64(len(g))
	for _, v := range g {
		mean += v / n
	}
	for _, v := range g {
		variance += (v - mean) * (v - mean) / n
	}
	deviations := 0.0 // by bisection of the normal distribution
	for step := 8.0; step > 1e-12; step /= 2 {
		if 0.5*math.Erfc(-deviations/math.Sqrt2) < float64(f.Sparsity) {
			deviations += step
		} else {
			deviations -= step
		}
	}
	out := make([]float64, len(g))
	for i, v := range g {
		out[i] = max(0, v-mean-deviations*math.Sqrt(variance))
	}
	return out
}
