package kernel

import (
	"fmt"
	"unsafe"
)

// panel is the number of weight rows that lie interleaved: 128 bytes for each
// column, two cache lines.
const panel = 32

// A Matrix holds packed weights of shape (rows = outputs, cols = inputs). The layout
// does not depend on the instruction set: panels of 32 rows, in a panel the columns
// in order, in a column the 32 rows; the last panel is padded with zeros.
type Matrix struct {
	Rows, Cols int
	data       []float32 // (panels, Cols, 32), 64-byte aligned
}

// NewMatrix returns a zero matrix of that shape, both at least 1.
func NewMatrix(rows, cols int) *Matrix {
	if rows < 1 || cols < 1 {
		panic(fmt.Sprintf("kernel: matrix of shape (%d, %d)", rows, cols))
	}
	return &Matrix{Rows: rows, Cols: cols, data: aligned((rows + panel - 1) / panel * panel * cols)}
}

// Pack returns the packed form of w, row-major (rows, cols).
func Pack(w []float32, rows, cols int) *Matrix {
	m := NewMatrix(rows, cols)
	m.Load(w)
	return m
}

// Load replaces the weights by w, row-major (Rows, Cols).
func (m *Matrix) Load(w []float32) {
	w = w[:m.Rows*m.Cols]
	for r := range m.Rows {
		dst := m.data[r/panel*panel*m.Cols+r%panel:]
		for c, v := range w[r*m.Cols : (r+1)*m.Cols] {
			dst[c*panel] = v
		}
	}
}

// LoadTransposed replaces the weights by the transpose of w, row-major (Cols, Rows).
func (m *Matrix) LoadTransposed(w []float32) {
	w = w[:m.Rows*m.Cols]
	for r := 0; r < m.Rows; r += panel {
		dst, n := m.data[r*m.Cols:], min(panel, m.Rows-r)
		for c := range m.Cols {
			copy(dst[c*panel:c*panel+n], w[c*m.Rows+r:])
		}
	}
}

// Row writes row r, Cols values, to dst.
func (m *Matrix) Row(dst []float32, r int) {
	src := m.data[r/panel*panel*m.Cols+r%panel:]
	for c := range dst[:m.Cols] {
		dst[c] = src[c*panel]
	}
}

// aligned returns n zeros that start at a cache line.
func aligned(n int) []float32 {
	const line = 64
	s := make([]float32, n+line/4)
	skip := (line - int(uintptr(unsafe.Pointer(unsafe.SliceData(s)))%line)) % line / 4
	return s[skip : skip+n : skip+n]
}

// Load is m.Load(w), faster.
func (k *Kernels) Load(m *Matrix, w []float32) {
	if lanes(k.isa) == 1 {
		m.Load(w)
		return
	}
	k.load(m, View{Data: w[:m.Rows*m.Cols], Stride: m.Cols, Transposed: true})
}

// LoadTransposed is m.LoadTransposed(w), faster.
func (k *Kernels) LoadTransposed(m *Matrix, w []float32) {
	if lanes(k.isa) == 1 {
		m.LoadTransposed(w)
		return
	}
	k.load(m, View{Data: w[:m.Rows*m.Cols], Stride: m.Rows})
}

// load packs the view (Cols, Rows) of the weights' transpose.
func (k *Kernels) load(m *Matrix, w View) {
	k.packColumns(m.data, w, m.Cols, m.Rows)
	if width := m.Rows % panel; width > 0 {
		last := m.data[m.Rows/panel*panel*m.Cols:]
		for c := range m.Cols {
			clear(last[c*panel+width : (c+1)*panel])
		}
	}
}
