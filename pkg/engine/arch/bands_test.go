package arch

import (
	"errors"
	"slices"
	"testing"
)

// Rows are read from the bands that they lie in, in any order.
func TestBands(t *testing.T) {
	const rows, cols = 10, 2
	var first, count []int
	b := &bands{rows: rows, cols: cols, step: 4, load: func(from, n int) (*band, error) {
		if first, count = append(first, from), append(count, n); len(first) > 20 {
			return nil, errors.New("too many")
		}
		return &band{func(dst []float32, row int) {
			for i := range dst {
				dst[i] = float32((from+row)*cols + i)
			}
		}}, nil
	}}
	for _, part := range [][2]int{{0, 10}, {3, 2}, {9, 1}, {5, 5}, {0, 1}} {
		got, want := make([]float32, part[1]*cols), []float32(nil)
		for i := range got {
			want = append(want, float32(part[0]*cols+i))
		}
		if err := b.read(got, part[0]); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d rows from %d: %v (%v)", part[1], part[0], got, err)
		}
	}
	for i, from := range first {
		if from%4 != 0 || count[i] != min(4, rows-from) {
			t.Errorf("a band has %d rows from %d", count[i], from)
		}
	}
}
