package engine

import (
	"fmt"
	"math"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
)

// vector returns the embedding of a text from the vectors of its tokens (tokens, Width). The
// pooling leaves out skip leading tokens.
//
// Source: sentence-transformers 6.2, modules Pooling, Dense and Normalize.
func (w *embedding) vector(tokens []float32, skip int) []float32 {
	rows := slices.Collect(slices.Chunk(tokens, w.model.Width))
	out := make([]float32, 0, len(w.sentence.Pooling)*w.model.Width)
	for _, mode := range w.sentence.Pooling {
		out = append(out, poolRows(mode, rows, skip)...)
	}
	unit := false
	for _, d := range w.dense {
		if unit = d == nil; unit {
			normaliseVector(out)
		} else {
			out = d.apply(w.kernels, out)
		}
	}
	if w.dimensions > 0 && w.dimensions < len(out) {
		out = slices.Clone(out[:w.dimensions])
		if unit { // the beginning of a vector of length 1 is shorter
			normaliseVector(out)
		}
	}
	return out
}

// poolRows combines rows, of which it leaves out the first ones; at least one remains. Sums
// are float64. Weights of tokens are their positions in the whole text, from 1.
func poolRows(mode arch.Pooling, rows [][]float32, skip int) []float32 {
	kept := rows[skip:]
	switch mode {
	case arch.PoolFirst:
		return kept[0]
	case arch.PoolLast:
		return kept[len(kept)-1]
	case arch.PoolMax:
		top := slices.Clone(kept[0])
		for _, row := range kept[1:] {
			for i, v := range row {
				top[i] = max(top[i], v)
			}
		}
		return top
	}
	sums, total := make([]float64, len(kept[0])), 0.0
	for r, row := range kept {
		weight := 1.0
		if mode == arch.PoolWeighted {
			weight = float64(skip + r + 1)
		}
		for i, v := range row {
			sums[i] += float64(weight * float64(v))
		}
		total += weight
	}
	if mode == arch.PoolRoot {
		total = math.Sqrt(total)
	}
	out := make([]float32, len(sums))
	for i, v := range sums {
		out[i] = float32(v / total)
	}
	return out
}

// normaliseVector scales v to length 1. Vectors shorter than 1e-12 are divided by that.
func normaliseVector(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := max(math.Sqrt(sum), 1e-12)
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
}

// dense is an [arch.Dense] in memory.
type dense struct {
	matrix *kernel.Matrix // (Out, In)
	bias   []float32      // (Out), or nil
	tanh   bool
	relu   bool
}

// newDense reads the weights of a step.
func newDense(k *kernel.Kernels, from *arch.Dense) (*dense, error) {
	values := make([]float32, from.In*from.Out)
	if err := from.Weight.Read(values, 0); err != nil {
		return nil, err
	}
	d := &dense{matrix: kernel.NewMatrix(from.Out, from.In), tanh: from.Tanh, relu: from.ReLU}
	k.LoadRows(d.matrix, 0, values)
	if from.Bias == nil {
		return d, nil
	}
	d.bias = make([]float32, from.Out)
	if err := from.Bias.Read(d.bias, 0); err != nil {
		return nil, fmt.Errorf("bias: %w", err)
	}
	return d, nil
}

// apply returns act(W x + b) of each row of x (n, In).
func (d *dense) apply(k *kernel.Kernels, x []float32) []float32 {
	n := len(x) / d.matrix.Cols
	out := make([]float32, n*d.matrix.Rows)
	k.MatMul(out, x, n, d.matrix)
	if d.bias != nil {
		for row := range slices.Chunk(out, d.matrix.Rows) {
			k.Add(row, d.bias)
		}
	}
	for i, v := range out {
		switch {
		case d.tanh:
			out[i] = float32(math.Tanh(float64(v)))
		case d.relu:
			out[i] = max(v, 0)
		}
	}
	return out
}
