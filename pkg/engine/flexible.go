package engine

import (
	"errors"
	"math"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/picture"
	"glossa/pkg/engine/transformer"
)

// A frame of any shape (Qwen's models) has as many inputs as it has squares of patches. They have the
// places of a grid, and vectors of layers of the encoder that the decoder's first layers add.

// placeBytes is the memory of a patch's place and position: three axes, and four rows of a table with
// their shares.
const placeBytes = 3*8 + 4*(8+4)

// flexible is patches for a frame of any shape.
func (s *sight) flexible(frame *picture.Picture) transformer.Patches {
	rows, columns := frame.Height/s.Patch, frame.Width/s.Patch
	p := transformer.Patches{Values: s.Processor.Values(frame, s.Patch, s.Merge), Places: make([]transformer.Place, 0, rows*columns)}
	side := 0
	if s.Spec.Position == transformer.Learned {
		side = int(math.Round(math.Sqrt(float64(s.Spec.Context))))
	}
	down, across := stretch(side, rows), stretch(side, columns)
	for row, column := range picture.Squares(rows, columns, s.Merge) {
		p.Places = append(p.Places, transformer.Place{0, row, column})
		for _, y := range down[row] {
			for _, x := range across[column] {
				p.Positions, p.Shares = append(p.Positions, y.at*side+x.at), append(p.Shares, y.share*x.share)
			}
		}
	}
	if s.Window > 0 {
		each := s.Merge * s.Merge
		order, windows := s.windows(frame)
		p.Values, p.Places = ordered(p.Values, order), ordered(p.Places, order)
		for _, n := range windows {
			p.Windows = append(p.Windows, each*n)
		}
	}
	return p
}

// windows returns the squares of a frame, counted row by row, in the order of the windows that local layers
// see, row by row, and how many of them each window has.
func (s *sight) windows(frame *picture.Picture) (order, windows []int) {
	rows, columns, side := frame.Height/s.Processor.Multiple, frame.Width/s.Processor.Multiple, s.Window/s.Processor.Multiple
	for top := 0; top < rows; top += side {
		for left := 0; left < columns; left += side {
			before := len(order)
			for row := top; row < min(top+side, rows); row++ {
				for column := left; column < min(left+side, columns); column++ {
					order = append(order, row*columns+column)
				}
			}
			windows = append(windows, len(order)-before)
		}
	}
	return order, windows
}

// ordered returns the parts of a list, of the same length, in an order.
func ordered[T any](list []T, order []int) []T {
	out, each := make([]T, 0, len(list)), len(list)/len(order)
	for _, at := range order {
		out = append(out, list[at*each:(at+1)*each]...)
	}
	return out
}

// inRows returns the inputs of a frame row by row.
func (s *sight) inRows(frame *picture.Picture, inputs []float32) []float32 {
	if s.Window == 0 {
		return inputs
	}
	order, _ := s.windows(frame)
	back := make([]int, len(order))
	for i, at := range order {
		back[at] = i
	}
	return ordered(inputs, back)
}

// A tap is an entry of a table of positions, and how much of it a position has.
type tap struct {
	at    int
	share float32
}

// stretch returns the two entries of a table of a size between which each of n positions lies, if the first
// and the last are those of the table. Numbers are float32, as in transformers (vision_utils). Without a
// table, of size 0, there are none.
func stretch(size, n int) [][]tap {
	list := make([][]tap, n)
	if size == 0 {
		return list
	}
	for i := range list {
		at := float32(float32(i)*float32(size-1)) / float32(max(n-1, 1))
		first := int(at)
		rest := at - float32(first)
		list[i] = []tap{{first, 1 - rest}, {min(first+1, size-1), rest}}
	}
	return list
}

// A merger is an [arch.Merger] in memory.
type merger struct {
	weight, bias []float32 // of the norm
	hidden       transform
	project      *dense
}

// addMerger reads the weights of a step that follows a layer of the encoder.
func (s *sight) addMerger(from *arch.Merger) (err error) {
	if from.Norm == nil {
		return errors.New("a norm is missing")
	}
	var m merger
	if m.weight, err = readVector(from.Norm.Weight); err == nil {
		m.bias, err = readVector(from.Norm.Bias)
	}
	if err == nil {
		m.hidden, err = newTransform(s.kernels, from.Hidden, true, nil, 0)
	}
	if err == nil {
		m.project, err = newDense(s.kernels, from.Project)
	}
	s.deep = append(s.deep, m)
	return err
}

// deepened returns the inputs (inputs, width of the decoder) with the vectors of layers behind each.
func (s *sight) deepened(inputs []float32, pass *transformer.Pass) []float32 {
	if len(s.deep) == 0 {
		return inputs
	}
	width, each := s.Project.Out, s.width()
	out := make([]float32, len(inputs)/width*each)
	put := func(at int, x []float32) {
		for i := range len(x) / width {
			copy(out[i*each+at*width:], x[i*width:(i+1)*width])
		}
	}
	put(0, inputs)
	for i := range s.deep {
		m, x := &s.deep[i], pass.Kept(i)
		for row := range slices.Chunk(x, m.hidden.matrix.Cols) {
			s.kernels.LayerNorm(row, row, m.weight, m.bias, s.Spec.Eps)
		}
		put(1+i, m.project.apply(s.kernels, m.hidden.apply(s.kernels, x)))
	}
	return out
}

// width returns the number of values of an input.
func (s *sight) width() int { return s.Project.Out * (1 + len(s.Deep)) }

// count returns the number of inputs of a frame of a picture.
func (s *sight) count(p *pictured) int {
	if rows, columns := s.Grid(p.info.Width, p.info.Height); rows > 0 {
		return rows * columns
	}
	return s.Inputs()
}

// headMemory returns the memory of what follows the encoder of a number of vectors, without its result.
func (s *sight) headMemory(vectors, inputs int) int64 {
	if s.Processor.Multiple == 0 {
		return 4 * int64(vectors) * int64(s.Project.In)
	}
	return int64(vectors)*placeBytes + 4*int64(inputs)*int64(s.Project.In+2*s.Project.Out)
}

// grids returns the places of the pictures of p.
func (p *prompt) grids() (list []transformer.Grid) {
	for _, v := range p.views {
		if v.rows > 0 {
			list = append(list, transformer.Grid{At: v.at, Rows: v.rows, Columns: v.columns})
		}
	}
	return list
}
