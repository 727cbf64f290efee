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

// Quantize returns the packed form of w, row-major (rows, cols).
func Quantize(kind Kind, w []float32, rows, cols int) *Packed {
	p := NewPacked(kind, rows, cols)
	p.LoadRows(0, w[:rows*cols])
	return p
}

// Pack returns the packed form of w, row-major (rows, cols).
func Pack(w []float32, rows, cols int) *Matrix {
	m := NewMatrix(rows, cols)
	m.Load(w)
	return m
}
