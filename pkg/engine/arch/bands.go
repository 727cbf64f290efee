package arch

import (
	"fmt"
	"sync"
	"weak"

	"glossa/pkg/engine/checkpoint"
)

// bands read a matrix that a file stores by columns: some rows at a time, of which the last read are
// kept until the garbage collector needs the memory. They are safe for concurrent use.
type bands struct {
	rows, cols int
	step       int // rows of a band
	load       func(first, n int) (*band, error)

	mu    sync.Mutex
	first int // of last
	last  weak.Pointer[band]
}

// A band decodes some rows of a matrix: from one on, of those that it has.
type band struct{ decode func(dst []float32, row int) }

// bandBytes is about the memory of a band.
const bandBytes = 4 << 20

// read reads whole rows.
func (b *bands) read(dst []float32, row int) error {
	for len(dst) > 0 {
		first := row / b.step * b.step
		n := min(b.step, b.rows-first)
		some, err := b.band(first, n)
		if err != nil {
			return err
		}
		values := dst[:min(len(dst), (first+n-row)*b.cols)]
		some.decode(values, row-first)
		dst, row = dst[len(values):], first+n
	}
	return nil
}

func (b *bands) band(first, n int) (*band, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.last.Value(); last != nil && b.first == first {
		return last, nil
	}
	some, err := b.load(first, n)
	if err != nil {
		return nil, err
	}
	b.first, b.last = first, weak.Make(some)
	return some, nil
}

// A wordTable is a tensor of words of 32 bits, (rows, cols).
type wordTable struct {
	file       *checkpoint.File
	name       string
	rows, cols int
}

// step returns the number of columns in a band.
func (w *wordTable) step() int { return max(1, bandBytes/(4*w.rows)) }

// columns reads n columns as (rows, n).
func (w *wordTable) columns(first, n int) ([]byte, error) {
	r, err := w.file.Raw(w.name)
	if err != nil {
		return nil, err
	}
	b, width := make([]byte, 4*w.rows*n), 4*n
	if n == w.cols {
		width = len(b)
	}
	for at := 0; at < len(b); at += width {
		if err := readBytes(r, b[at:at+width], int64(at/width)*4*int64(w.cols)+4*int64(first)); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", w.name, err)
		}
	}
	return b, nil
}
