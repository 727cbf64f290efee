package kernel

import (
	"fmt"
	"math"
)

// NewPacked returns zero weights of the given shape, both at least 1.
func NewPacked(kind Kind, rows, cols int) *Packed {
	size := kind.Bytes(rows, cols)
	if size < 1 || size > math.MaxInt-line {
		panic(fmt.Sprintf("kernel: %v weights of shape (%d, %d)", kind, rows, cols))
	}
	p := &Packed{Kind: kind, Rows: rows, Cols: cols, data: Allocate(int(size))}
	p.Pad()
	if kind.Rounds() {
		p.LoadRows(0, make([]float32, rows*cols))
	}
	return p
}

// softmax computes x = exp(x-max(x)) / Σ exp(x-max(x)) in place.
func (k *Kernels) softmax(x []float32) {
	if len(x) > 0 {
		scale(k.isa, x, 1/expSum(k.isa, x, maxOf(k.isa, x)))
	}
}

// Quantize returns the packed form of w, row-major (rows, cols).
func Quantize(kind Kind, w []float32, rows, cols int) *Packed {
	p := NewPacked(kind, rows, cols)
	p.LoadRows(0, w[:rows*cols])
	return p
}

// Pack returns the packed form of w, row-major (rows, cols).
func Pack(w []float32, rows, cols int) *Matrix {
	m := NewMatrix(rows, cols)
	for r := range rows {
		m.setRow(r, w[r*cols:(r+1)*cols])
	}
	return m
}
