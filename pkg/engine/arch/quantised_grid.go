package arch

import (
	"fmt"
	"slices"
	"sync"

	"glossa/pkg/engine/checkpoint"
)

// A grid is a matrix of codes, or several matrices one after another, in which each block of a matrix
// has a scale: a value is (code - zero)·scale.
type grid struct {
	file       *checkpoint.File
	rows, cols int // of a matrix

	// codes reads the codes of whole rows from a row on.
	codes func(dst []float32, row int) error

	height, width int // of a block
	down, across  int // scales of a matrix
	count         int // of all scales

	// scales reads scales from one on.
	scales func(dst []float32, from int) error

	// zeros reads the codes of zero from a scale on; nil: they are 0.
	zeros func(dst []float32, from int) error

	// blocks returns the block of each column in its row of blocks; nil: width columns share one.
	blocks func() ([]int, error)
}

// A tile is the size of a block: 0 is the whole matrix.
type tile struct{ height, width int }

// newGrid returns the grid of a weight of a shape, with blocks of the first of the sizes that fits the
// number of scales. It is nil after an error.
func (p *parts) newGrid(weight *checkpoint.TensorInfo, shape []int, scales *checkpoint.TensorInfo, sizes ...tile) *grid {
	if len(shape) < 2 || len(shape) > 3 || slices.Contains(shape, 0) {
		p.fail(weight, "a quantised weight of shape %v is not supported", shape)
		return nil
	}
	if !scales.Type.Convertible() {
		p.fail(scales, "scales of type %s are not supported", scales.Type)
		return nil
	}
	matrices := append([]int{1}, shape[:len(shape)-2]...)
	g := &grid{file: p.file, rows: shape[len(shape)-2], cols: shape[len(shape)-1], count: scales.Elements()}
	g.scales = func(dst []float32, from int) error { return p.file.Values(scales.Name, from, dst) }
	if scales.Elements() == 1 { // of all matrices
		g.rows *= matrices[len(matrices)-1]
		matrices, sizes = nil, []tile{{}}
	}
	for _, size := range sizes {
		if g.height, g.width = size.height, size.width; g.height == 0 {
			g.height = g.rows
		}
		if g.width == 0 {
			g.width = g.cols
		}
		g.down, g.across = (g.rows-1)/g.height+1, (g.cols-1)/g.width+1
		if slices.Equal(withoutOnes(scales.Shape), withoutOnes(append(slices.Clone(matrices), g.down, g.across))) {
			return g
		}
	}
	p.fail(scales, "shape %v does not fit a weight of shape %v: blocks of %v", scales.Shape, shape, sizes)
	return nil
}

// withoutOnes returns a shape without the dimensions of 1.
func withoutOnes(shape []int) []int {
	return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
}

// blockRow returns the row of blocks that a row is in.
func (g *grid) blockRow(row int) int { return row/g.rows*g.down + row%g.rows/g.height }

// read reads whole rows.
func (g *grid) read(dst []float32, row int) error {
	if err := g.codes(dst, row); err != nil {
		return err
	}
	first, last := g.blockRow(row), g.blockRow(row+len(dst)/g.cols-1)
	scales := make([]float32, (last-first+1)*g.across)
	if err := g.scales(scales, first*g.across); err != nil {
		return err
	}
	zeros := make([]float32, len(scales))
	if g.zeros != nil {
		if err := g.zeros(zeros, first*g.across); err != nil {
			return err
		}
	}
	var blocks []int
	if g.blocks != nil {
		var err error
		if blocks, err = g.blocks(); err != nil {
			return err
		}
	}
	for ; len(dst) > 0; dst, row = dst[g.cols:], row+1 {
		at := (g.blockRow(row) - first) * g.across
		g.scale(dst[:g.cols], scales[at:][:g.across], zeros[at:][:g.across], blocks)
	}
	return nil
}

// scale replaces the codes of a row by its values.
func (g *grid) scale(row, scales, zeros []float32, blocks []int) {
	for i, block := range blocks {
		row[i] = (row[i] - zeros[block]) * scales[block]
	}
	if blocks != nil {
		return
	}
	for block, s := range scales {
		some, zero := row[block*g.width:min(len(row), (block+1)*g.width)], zeros[block]
		for i, code := range some {
			some[i] = (code - zero) * s
		}
	}
}

// from makes g read codes from a tensor, whose rows have size bytes each.
func (g *grid) from(t *checkpoint.TensorInfo, size int, decode func(row []float32, codes []byte)) {
	g.codes = func(dst []float32, row int) error {
		n := len(dst) / g.cols * size
		buffer := scratch.Get().(*[]byte)
		defer scratch.Put(buffer)
		*buffer = slices.Grow((*buffer)[:0], n)[:n]
		if err := readRange(g.file, t.Name, *buffer, int64(row)*int64(size)); err != nil {
			return err
		}
		for src := *buffer; len(dst) > 0; dst, src = dst[g.cols:], src[size:] {
			decode(dst[:g.cols], src[:size])
		}
		return nil
	}
}

// readRange reads bytes of a tensor, beginning with one.
func readRange(file *checkpoint.File, name string, dst []byte, from int64) error {
	raw, err := file.Raw(name)
	if err == nil {
		err = readBytes(raw, dst, from)
	}
	if err != nil {
		return fmt.Errorf("%d bytes from %d of tensor %q: %w", len(dst), from, name, err)
	}
	return nil
}

// scratch has memory for bytes of codes.
var scratch = sync.Pool{New: func() any { return new([]byte) }}
