package kernel

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// panel is the number of interleaved weight rows: 128 bytes for each column, two cache
// lines.
const panel = 32

// A Matrix holds packed weights of shape (rows = outputs, cols = inputs). The layout does
// not depend on the instruction set: panels of 32 rows, in each the columns in order, in
// each column the 32 rows; the last panel is padded with zeros.
type Matrix struct {
	Rows, Cols int
	data       []float32 // (panels, Cols, 32), 64-byte aligned
}

// NewMatrix returns a zero matrix of the given shape, both at least 1.
func NewMatrix(rows, cols int) *Matrix {
	if rows < 1 || cols < 1 {
		panic(fmt.Sprintf("kernel: matrix of shape (%d, %d)", rows, cols))
	}
	return &Matrix{Rows: rows, Cols: cols, data: aligned((rows + panel - 1) / panel * panel * cols)}
}

// OpenMatrix returns the matrix in data, or a zero matrix in data for [Kernels.LoadRows]
// to fill. It keeps data, which may be a mapped file and must be aligned to 64 bytes in
// memory.
func OpenMatrix(rows, cols int, data []byte) (*Matrix, error) {
	size := MatrixBytes(rows, cols)
	if size < 1 || int64(len(data)) != size {
		return nil, fmt.Errorf("kernel: weights of shape (%d, %d) take %d bytes, not %d", rows, cols, size, len(data))
	}
	if off := uintptr(unsafe.Pointer(unsafe.SliceData(data))) % line; off != 0 {
		return nil, fmt.Errorf("kernel: weights start %d bytes after a multiple of %d", off, line)
	}
	return &Matrix{Rows: rows, Cols: cols, data: Floats(data)}, nil
}

// MatrixBytes returns the memory of a matrix of the given shape, without allocating it.
// Sizes beyond int64 are the largest int64; shapes that [NewMatrix] rejects have size 0.
func MatrixBytes(rows, cols int) int64 {
	if rows < 1 || cols < 1 {
		return 0
	}
	padded := (uint64(rows) + panel - 1) / panel * panel
	high, low := bits.Mul64(padded, uint64(cols))
	if high > 0 || low > math.MaxInt64/4 {
		return math.MaxInt64
	}
	return 4 * int64(low)
}

// setRow replaces one row.
func (m *Matrix) setRow(r int, w []float32) {
	dst := m.data[r/panel*panel*m.Cols+r%panel:]
	for c, v := range w {
		dst[c*panel] = v
	}
}

// setColumn replaces one column.
func (m *Matrix) setColumn(c int, w []float32) {
	for r := 0; r < m.Rows; r += panel {
		copy(m.data[r*m.Cols+c*panel:], w[r:min(r+panel, m.Rows)])
	}
}

// PanelRows is the number of rows of a panel.
const PanelRows = panel

// Panels returns the number of panels, the last of which may be partly used.
func (m *Matrix) Panels() int { return (m.Rows + panel - 1) / panel }

// Row writes row r, Cols values, to dst.
func (m *Matrix) Row(dst []float32, r int) {
	src := m.data[r/panel*panel*m.Cols+r%panel:]
	for c := range dst[:m.Cols] {
		dst[c] = src[c*panel]
	}
}

// Load replaces the weights of m by w, row-major (Rows, Cols).
func (k *Kernels) Load(m *Matrix, w []float32) { k.LoadRows(m, 0, w[:m.Rows*m.Cols]) }

// LoadTransposed replaces the weights of m by the transpose of w, row-major (Cols, Rows).
func (k *Kernels) LoadTransposed(m *Matrix, w []float32) { k.LoadColumns(m, 0, w[:m.Rows*m.Cols]) }

// LoadRows replaces rows of m, beginning with row from, by w: whole rows, row-major (n,
// m.Cols). Rows of one panel are transposed together, as many as the instruction set can.
func (k *Kernels) LoadRows(m *Matrix, from int, w []float32) {
	step, end := lanes(k.isa), from+whole(w, m.Cols, from, m.Rows)
	for r := from; r < end; {
		if step > 1 && step <= min(panel-r%panel, end-r) {
			dst := m.data[r/panel*panel*m.Cols+r%panel:]
			k.packHalf(dst, View{Data: w, Stride: m.Cols}, m.Cols, step)
			r, w = r+step, w[step*m.Cols:]
		} else {
			m.setRow(r, w[:m.Cols])
			r, w = r+1, w[m.Cols:]
		}
	}
}

// LoadColumns replaces columns of m, beginning with column from, by w: whole columns one
// after the other, row-major (n, m.Rows). It copies, on every instruction set.
func (*Kernels) LoadColumns(m *Matrix, from int, w []float32) {
	for c := range whole(w, m.Rows, from, m.Cols) {
		m.setColumn(from+c, w[c*m.Rows:(c+1)*m.Rows])
	}
}

// whole returns how many vectors of the given length w holds. It panics, as indexing
// does, if that is not an integer or if they do not fit between from and limit.
func whole(w []float32, length, from, limit int) int {
	n := len(w) / length
	if n*length != len(w) || from < 0 || from > limit || n > limit-from {
		panic(fmt.Sprintf("kernel: %d values, in vectors of %d, put at %d of %d", len(w), length, from, limit))
	}
	return n
}
