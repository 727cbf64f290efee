package kernel

import (
	"fmt"
	"testing"
)

// The calls for a group of panels bring all bytes of the next group, and hardly more.
func TestSpread(t *testing.T) {
	for _, kind := range Kinds() {
		for calls := 1; calls <= 70; calls++ {
			const superblocks = 48
			pieces := superblocks * kind.pieces()
			bytes := superblocks * formats[kind].bytes
			each := formats[kind].bytes / kind.pieces()
			brought, end := 0, bytes
			for i := range calls {
				r := spread(i, calls, bytes, bytes, each)
				if r.ahead > end {
					t.Fatalf("%v: call %d of %d begins at %d, the one before ended at %d", kind, i, calls, r.ahead, end)
				}
				end = r.ahead + r.step*pieces
				brought += r.step * pieces
			}
			if what := fmt.Sprintf("%v: %d calls", kind, calls); end < 2*bytes-calls {
				t.Errorf("%s end at %d of %d bytes", what, end, 2*bytes)
			} else if brought > bytes+calls*pieces {
				t.Errorf("%s bring %d of %d bytes", what, brought, bytes)
			}
		}
	}
}

// Weights that few rows fetch from near or from afar give the same results.
func TestFetching(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, kind := range kinds {
			r := source()
			const blocks, panels = 4, 3
			cols := blocks * formats[kind].cols
			w := some(r, kind, panels*packedRows, cols)
			for rows := 1; rows < busyRows(k.isa, kind); rows++ {
				x := random(r, rows*cols)
				want := multiply(k, x, rows, w)
				a := k.NewActivations(kind, rows, cols)
				k.QuantizeActivations(a, x, rows, 0, 1)
				for ahead := range 2 {
					got := make([]float32, rows*w.Rows)
					tilePacked(k, kind, &span{dst: got, ldd: w.Rows, w: w.data, act: a.at(0), blocks: blocks, panels: panels, rows: rows, readahead: readahead{ahead: ahead}})
					if !same(got, want) {
						t.Fatalf("%v, %d rows, ahead %d: differs from the whole product", kind, rows, ahead)
					}
				}
			}
		}
	})
}

func TestFewRows(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, kind := range kinds {
			if busy := busyRows(k.isa, kind); busy > fewRows+1 || busy > packedTile(k.isa)+1 {
				t.Errorf("%v: %d rows wait for weights", kind, busy-1)
			}
		}
	})
}

// What follows in memory is brought if the caller multiplies it next.
func TestFollows(t *testing.T) {
	w := blank(Q8_0, 10*packedRows, superCols)
	for _, c := range []struct {
		end, from, until int
		want             bool
	}{
		{5, 0, 10, true}, {10, 0, 10, true}, // the next matrix
		{5, 0, 5, false}, {5, 2, 5, false}, {5, 2, 8, true}, {10, 2, 10, false},
	} {
		if got := w.follows(c.end, c.from, c.until); got != c.want {
			t.Errorf("panels that follow %d, from %d, until %d: %t", c.end, c.from, c.until, got)
		}
	}
}

// Parts are as many as a limit needs, and alike.
func TestEvenly(t *testing.T) {
	for _, c := range [][3]int{{16, 15, 8}, {15, 15, 15}, {1, 15, 1}, {31, 15, 11}, {72, 15, 15}, {7, 1, 1}, {0, 15, 0}} {
		if got := evenly(c[0], c[1]); got != c[2] {
			t.Errorf("parts of %d, at most %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
