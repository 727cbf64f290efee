package kernel

import (
	"math"
	"slices"
	"testing"
)

func TestLoadRowsAndColumns(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {5, 40}, {31, 16}, {32, 7}, {33, 33}, {70, 45}, {129, 17}} {
		rows, cols := shape[0], shape[1]
		for _, from := range []int{0, 1, 7, 8, 16, 31, 32, 40, 64, 127} {
			for _, n := range []int{0, 1, 8, 15, 16, 17, 32, 33, 129} {
				testLoad(t, rows, cols, from, n)
			}
		}
	}
}

// testLoad replaces at most n rows, then columns, beginning with from.
func testLoad(t *testing.T, rows, cols, from, n int) {
	t.Helper()
	r := source()
	plain := random(r, rows*cols)
	first, count := min(from, rows), min(n, rows-min(from, rows))
	below := random(r, count*cols)
	left, wide := min(from, cols), min(n, cols-min(from, cols))
	beside := random(r, wide*rows)
	byRows, byColumns := slices.Clone(plain), slices.Clone(plain)
	copy(byRows[first*cols:], below)
	for i := range wide {
		for j := range rows {
			byColumns[j*cols+left+i] = beside[i*rows+j]
		}
	}
	for _, k := range Implementations() {
		a, b := Pack(plain, rows, cols), Pack(plain, rows, cols)
		k.LoadRows(a, first, below)
		k.LoadColumns(b, left, beside)
		if !slices.Equal(a.data, Pack(byRows, rows, cols).data) {
			t.Fatalf("%s (%d, %d): rows %d to %d are wrong", k.Name(), rows, cols, first, first+count)
		}
		if !slices.Equal(b.data, Pack(byColumns, rows, cols).data) {
			t.Fatalf("%s (%d, %d): columns %d to %d are wrong", k.Name(), rows, cols, left, left+wide)
		}
	}
}

func TestPadding(t *testing.T) {
	m := Pack(random(source(), 35*3), 35, 3)
	for r := 35; r < 64; r++ {
		row := []float32{1, 1, 1}
		m.Row(row, r)
		if !slices.Equal(row, make([]float32, 3)) {
			t.Fatalf("row %d of the padding is %g", r, row)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		m := NewMatrix(40, 10)
		for _, c := range []struct{ from, values int }{{0, 11}, {-1, 10}, {40, 10}, {41, 0}, {39, 20}, {math.MaxInt, 10}} {
			if !panics(func() { k.LoadRows(m, c.from, make([]float32, c.values)) }) {
				t.Errorf("no panic for %d values as rows from %d", c.values, c.from)
			}
		}
		for _, c := range []struct{ from, values int }{{0, 41}, {-1, 40}, {10, 40}, {11, 0}, {9, 80}, {math.MaxInt, 40}} {
			if !panics(func() { k.LoadColumns(m, c.from, make([]float32, c.values)) }) {
				t.Errorf("no panic for %d values as columns from %d", c.values, c.from)
			}
		}
		if !panics(func() { k.Load(m, make([]float32, 399)) }) || !panics(func() { k.LoadTransposed(m, make([]float32, 399)) }) {
			t.Error("no panic when the weights are short")
		}
	})
}

func TestMatrixBytes(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {32, 5}, {33, 5}, {100, 70}} {
		if got, want := MatrixBytes(s[0], s[1]), 4*int64(len(NewMatrix(s[0], s[1]).data)); got != want {
			t.Errorf("(%d, %d): %d bytes foretold, %d taken", s[0], s[1], got, want)
		}
	}
	for _, c := range []struct {
		rows, cols int
		want       int64
	}{
		{1, 1, 128},
		{50257, 768, 4 * 50272 * 768},
		{0, 5, 0},
		{5, -1, 0},
		{1 << 31, 1 << 29, 1 << 62},
		{1 << 31, 1 << 30, math.MaxInt64},
		{math.MaxInt, 1, math.MaxInt64},
		{math.MaxInt, math.MaxInt, math.MaxInt64},
	} {
		if got := MatrixBytes(c.rows, c.cols); got != c.want {
			t.Errorf("(%d, %d): %d bytes, want %d", c.rows, c.cols, got, c.want)
		}
	}
}

// FuzzLoad loads rows and columns anywhere into a matrix.
func FuzzLoad(f *testing.F) {
	f.Add(uint8(70), uint8(45), uint8(32), uint8(38))
	f.Add(uint8(33), uint8(1), uint8(5), uint8(27))
	f.Add(uint8(1), uint8(17), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, rows, cols, from, n uint8) {
		testLoad(t, max(int(rows), 1), max(int(cols), 1), int(from), int(n))
	})
}
