package transformer

import (
	"fmt"

	"glossa/pkg/engine/kernel"
)

// A matrix may be stacked from tensors of several formats: a GGUF file of mixed K-quants has
// values in Q6_K beside queries and keys in Q4_K. Such a matrix is kept as pieces, each in
// its own format.

// runs returns the pieces of a matrix: neighbouring tensors that share a format. It returns
// nil if the matrix cannot be divided, because a piece does not begin with a panel, or because
// its rows are also looked up as embeddings.
func (p *part) runs() (list [][]Tensor) {
	from, at := *p.from, 0
	if p.usage != multiplied || p.name == embeddingPart || len(from) < 2 || rowsOf(from) != p.rows {
		return nil
	}
	for i := range from {
		t := &from[i]
		if t.Transposed || t.Rows < 1 || t.Cols != p.cols {
			return nil
		}
		switch {
		case i > 0 && t.Stored == from[i-1].Stored:
			last := len(list) - 1
			list[last] = append(list[last], *t)
		case at%t.panel() != 0 || i > 0 && at%from[i-1].panel() != 0:
			return nil
		default:
			list = append(list, []Tensor{*t})
		}
		at += t.Rows
	}
	return list
}

// panel returns the rows of a panel of the tensor as it is stored.
func (t *Tensor) panel() int {
	if _, packed := t.Stored.kind(); packed {
		return kernel.PackedRows
	}
	return kernel.PanelRows
}

// rowsOf returns the number of rows of tensors; -1 if it is not an int.
func rowsOf(list []Tensor) (n int) {
	for i := range list {
		if n += list[i].Rows; n < 0 {
			return -1
		}
	}
	return n
}

// pieceName returns the name of a piece in packed files.
func (p *part) pieceName(i int) string { return fmt.Sprintf("%s.%d", p.name, i) }

// unpackPieces finds the pieces of a part of a packed file; it returns nil if there are
// none.
func (p *part) unpackPieces(find Find) ([]Tensor, error) {
	var list []Tensor
	for i, rows := 0, 0; p.usage == multiplied; i++ {
		name := p.pieceName(i)
		t, ok := find(name, p.stage, p.experts != nil)
		if !ok {
			break
		}
		piece := part{name: name, cols: p.cols}
		if len(t.Shape) == 3 && t.Shape[0] > 0 && t.Shape[0] <= p.rows/kernel.PackedRows+1 {
			piece.rows = min(t.Shape[0]*t.panelRows(), p.rows-rows)
		}
		f, ok := piece.formatOf(&t)
		if repeats := i > 0 && f == list[i-1].Stored; !ok || piece.rows < 1 || repeats {
			return nil, fmt.Errorf("tensor %q: shape %v does not fit the rows from %d of (%d, %d)", name, t.Shape, rows, p.rows, p.cols)
		}
		rows += piece.rows
		list = append(list, Tensor{Name: name, Rows: piece.rows, Cols: p.cols, Stored: f, Packed: t.Bytes, Page: t.Page})
	}
	if n := rowsOf(list); n > 0 && n < p.rows {
		return nil, fmt.Errorf("tensor %q: missing: its pieces have %d rows of %d", p.pieceName(len(list)), n, p.rows)
	}
	return list, nil
}

// panelRows returns the rows of a panel of a matrix.
func (t *StoredTensor) panelRows() int {
	if t.Floats {
		return kernel.PanelRows
	}
	return kernel.PackedRows
}
