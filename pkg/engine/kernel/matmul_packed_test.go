package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"testing"

	"glossa/pkg/engine/dtype"
)

// packedShapes are (n, rows, cols) that end within tiles, panels and superblocks.
var packedShapes = [][3]int{
	{1, 1, 1}, {1, 16, 64}, {1, 100, 200}, {2, 31, 33}, {3, 64, 96}, {4, 17, 65}, {5, 48, 320}, {6, 15, 31},
	{7, 33, 1100}, {8, 80, 128}, {9, 40, 2100}, {13, 65, 70}, {17, 33, 1100}, {33, 130, 300}, {40, 47, 65}, {6, 20, 2048},
	{27, 34, 1100}, {133, 40, 600}, {261, 17, 600}, // in several parts of panels, and groups of tiles
}

// dequantized returns all the values of w.
func dequantized(w *Packed) []float32 {
	out := make([]float32, w.Rows*w.Cols)
	for r := range w.Rows {
		w.Row(out[r*w.Cols:], r)
	}
	return out
}

// roundedInputs returns the values that the quantised activations represent.
func roundedInputs(kind Kind, x []float32, cols int) []float32 {
	block := kind.shared()
	out := make([]float32, len(x))
	for row := 0; row < len(x); row += cols {
		for c := 0; c < cols; c += block {
			in := x[row+c : row+min(c+block, cols)]
			top := float32(0)
			for _, v := range in {
				top = max(top, float32(math.Abs(float64(v))))
			}
			for i, v := range in {
				if d := float64(top) / 127; d > 0 {
					out[row+c+i] = float32(math.RoundToEven(float64(v)/d) * d)
				}
			}
		}
	}
	return out
}

func TestMatMulPacked(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, kind := range kinds {
			for _, s := range packedShapes {
				r := source()
				n, rows, cols := s[0], s[1], s[2]
				if testing.Short() && kind.coded() && n*rows*cols > 100_000 {
					continue
				}
				w := some(r, kind, rows, cols)
				x := random(r, n*cols)
				inputs := x
				if !kind.floating() {
					inputs = roundedInputs(kind, x, cols)
				}
				want, size := matMulReference(inputs, dequantized(w), n, rows, cols)
				for i, got := range multiply(k, x, n, w) {
					if !closeTo(got, want[i], 2e-6*size[i]+1e-30) {
						t.Fatalf("%v n %d rows %d cols %d: element %d is %g, want %g", kind, n, rows, cols, i, got, want[i])
					}
				}
			}
		}
	})
}

// TestMatMulPackedAgrees compares every tier with the generic code: to the bit if
// quantised.
func TestMatMulPackedAgrees(t *testing.T) {
	for _, kind := range kinds {
		for _, s := range packedShapes {
			r, run := source(), formats[kind].run
			n, rows, cols := s[0], s[1], (s[2]+run-1)/run*run
			if kind.floating() {
				continue
			}
			w := NewPacked(kind, rows, cols)
			w.LoadBlocks(0, rawBlocks(r, kind, rows, cols))
			x := random(r, n*cols)
			want := multiply(&Kernels{}, x, n, w)
			for _, k := range Implementations()[1:] {
				if got := multiply(k, x, n, w); !same(got, want) {
					t.Fatalf("%s %v n %d rows %d cols %d differs from the generic result", k.Name(), kind, n, rows, cols)
				}
			}
		}
	}
}

// TestMatMulFloats compares BF16 and F16 with float32 weights of the same values, to the bit.
func TestMatMulFloats(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, kind := range []Kind{BF16, F16} {
			for _, s := range packedShapes {
				r := source()
				n, rows, cols := s[0], s[1], s[2]
				w := some(r, kind, rows, cols)
				x, want := random(r, n*cols), make([]float32, n*rows)
				k.MatMul(want, x, n, Pack(dequantized(w), rows, cols))
				if got := multiply(k, x, n, w); !same(got, want) {
					t.Fatalf("%v n %d rows %d cols %d differs from the product with float32 weights", kind, n, rows, cols)
				}
			}
		}
	})
}

// TestMatMulF16Extremes: weights of all bits are what they stand for.
func TestMatMulF16Extremes(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const rows, cols = 1 << 10, 64
		raw := make([]byte, 2*rows*cols)
		for i := range rows * cols {
			binary.LittleEndian.PutUint16(raw[2*i:], uint16(i))
		}
		w := NewPacked(F16, rows, cols)
		w.LoadBlocks(0, raw)
		for at := range cols {
			x := make([]float32, cols)
			x[at] = 1
			for r, got := range multiply(k, x, 1, w) {
				bits := uint16(r*cols + at)
				want := dtype.FromFloat16(bits)
				if r*cols&0x7c00 == 0x7c00 { // the row has others that are not finite, and 0 times them is NaN
					want = float32(math.NaN())
				}
				if got != want && (got == got || want == want) {
					t.Fatalf("%#04x is %g, want %g", bits, got, want)
				}
			}
		}
	})
}

// TestMatMulPackedInvariant: a row's result depends neither on the number of rows nor on
// the range of panels.
func TestMatMulPackedInvariant(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const most, rows, cols = 40, 103, 330
		for _, kind := range kinds {
			r := source()
			x, w := random(r, most*cols), some(r, kind, rows, cols)
			var alone []float32
			for i := range most {
				alone = append(alone, multiply(k, x[i*cols:], 1, w)...)
			}
			for n := 1; n <= most; n++ {
				if kind.coded() && n > maxPackedTile && n < most { // kinds differ within a tile only
					continue
				}
				if got := multiply(k, x, n, w); !same(got, alone[:n*rows]) {
					t.Fatalf("%v: %d rows differ from one at a time", kind, n)
				}
			}
			for _, n := range []int{1, 3, 11, 33} {
				testRanges(t, k, x, n, w, alone)
			}
		}
	})
}

// TestMatMulPackedGroups uses weights that a tile must process in groups of panels.
func TestMatMulPackedGroups(t *testing.T) {
	const n, rows, cols = 26, 210, 2100
	for _, k := range Implementations()[1:] {
		for _, kind := range kinds {
			r := source()
			x, w := random(r, n*cols), some(r, kind, rows, cols)
			got := multiply(k, x, n, w)
			for i := range n {
				if !same(multiply(k, x[i*cols:], 1, w), got[i*rows:(i+1)*rows]) {
					t.Fatalf("%s %v: row %d differs from itself alone", k.Name(), kind, i)
				}
			}
		}
	}
}

// testRanges computes a product range by range, concurrently, in the activations of a
// larger one.
func testRanges(t *testing.T, k *Kernels, x []float32, n int, w *Packed, want []float32) {
	t.Helper()
	a := k.NewActivations(w.Kind, n+20, w.Cols)
	var wg sync.WaitGroup
	for i := range a.Tiles(n) {
		wg.Go(func() { k.QuantizeActivations(a, x, n, i, i+1) })
	}
	wg.Wait()
	got := make([]float32, n*w.Rows)
	for p := 0; p < w.Panels(); p += 3 {
		wg.Go(func() { k.MatMulPacked(got, a, n, w, p, min(p+3, w.Panels())) })
	}
	wg.Wait()
	if !same(got, want[:n*w.Rows]) {
		t.Fatalf("%v: panel by panel, %d rows differ", w.Kind, n)
	}
	clear(got)
	k.MatMulPacked(got, a, n, w, 2, 4)
	for r := range n {
		for i, v := range got[r*w.Rows : (r+1)*w.Rows] {
			if inside := i >= 2*packedRows && i < 4*packedRows; inside != (v != 0) {
				t.Fatalf("%v: panels 2 and 3: column %d is %g", w.Kind, i, v)
			}
		}
	}
	k.MatMulPacked(nil, a, 0, w, 0, w.Panels())
	k.MatMulPacked(got[:n*w.Rows], a, n, w, 3, 3)
}

func TestQuantizeActivations(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	special := []float32{0, 1, -1, 0.5, 127, -127, 63.5, 1e-40, 3e38, -3e38, 0x1p-100, 0x1p-101, inf, -inf, nan}
	r := source()
	for trial := range 200 {
		n, cols := 1+trial%19, 1+r.IntN(200)
		x := random(r, n*cols)
		for range r.IntN(6) {
			x[r.IntN(len(x))] = special[r.IntN(len(special))]
		}
		for _, kind := range []Kind{Q4_0, Q8W} {
			want := recorded(&Kernels{}, kind, x, n, cols)
			for _, k := range Implementations()[1:] {
				if got := recorded(k, kind, x, n, cols); !same(got, want) {
					t.Fatalf("%s %v n %d cols %d: %v, want %v", k.Name(), kind, n, cols, got, want)
				}
			}
		}
	}
}

// recorded quantises x (n, cols) and returns the words of each row in order.
func recorded(k *Kernels, kind Kind, x []float32, n, cols int) []float32 {
	a := k.NewActivations(kind, n, cols)
	k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
	var out []float32
	if a.hasSquares(k, n) {
		for r := range n {
			for s := range a.slices {
				out = append(out, squared(a.square(r)[s*squareWords:], r%squareRows)...)
			}
		}
		return out
	}
	for t := range a.Tiles(n) {
		first, end := a.bounds(n, t)
		for r := range end - first {
			for i := range a.slices * a.words {
				out = append(out, a.at(t)[i*(end-first)+r])
			}
		}
	}
	return out
}

// squared returns the words of a row of a square, which has no sums, as other tiles have them.
func squared(square []float32, row int) []float32 {
	words := slices.Concat(square[16*row:][:16], square[16*(squareRows+row):][:16])
	sum := int32(0)
	for i := 0; i < len(words); i += 4 {
		sum += sum16((*[4]float32)(words[i:]))
	}
	return append(words, square[squareScale+row], math.Float32frombits(uint32(-128*sum)))
}

// TestMatMulPackedNotFinite: a NaN or an infinity makes only its row NaN.
func TestMatMulPackedNotFinite(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const n, rows, cols = 33, 40, 150
		for _, kind := range kinds {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				x, w := random(source(), n*cols), some(source(), kind, rows, cols)
				x[3*cols+100] = float32(v)
				for i, got := range multiply(k, x, n, w) {
					if finite := got-got == 0; finite != (i/rows != 3) || !finite && !kind.floating() && got == got {
						t.Fatalf("%v with %g: element %d is %g", kind, v, i, got)
					}
				}
			}
		}
	})
}

func TestMatMulPackedExtremes(t *testing.T) {
	for _, kind := range kinds {
		const n, rows, cols = 33, 16, 256
		if kind.floating() {
			continue
		}
		raw, f := rawBlocks(source(), kind, rows, cols), formats[kind]
		for i := range raw {
			if at := i % f.raw; kind == MXFP4 && at == 0 || slices.Contains(f.stored.Halves(), at) || slices.Contains(f.stored.Halves(), at-1) {
				continue
			}
			raw[i] = [...]byte{0x80, 0xff, 0x7f, 0x00}[i/7%4]
			if i < len(raw)/2 {
				raw[i] = 0xff
			}
		}
		w := NewPacked(kind, rows, cols)
		w.LoadBlocks(0, raw)
		x := make([]float32, n*cols)
		for i := range x {
			x[i] = float32(1 - i/cols%2*2)
		}
		want, size := matMulReference(x, fromBlocks(kind, raw), n, rows, cols)
		each(t, func(t *testing.T, k *Kernels) {
			for i, got := range multiply(k, x, n, w) {
				if !closeTo(got, want[i], 1e-6*size[i]) {
					t.Fatalf("%v: element %d is %g, want %g", kind, i, got, want[i])
				}
			}
		})
	}
}

func TestMatMulPackedAllocatesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, kind := range kinds {
			const n, rows, cols = 30, 40, 100
			w, x := some(source(), kind, rows, cols), random(source(), n*cols)
			a, dst := k.NewActivations(kind, n, cols), make([]float32, n*rows)
			if got := testing.AllocsPerRun(10, func() {
				k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
				k.MatMulPacked(dst, a, n, w, 0, w.Panels())
			}); got != 0 {
				t.Errorf("%v: %g allocations", kind, got)
			}
		}
	})
}

// FuzzMatMulPacked tries shapes and any blocks, including scales that are not finite.
func FuzzMatMulPacked(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint8(1), []byte{1})
	f.Add(uint8(13), uint8(33), uint8(37), []byte("any bytes make blocks of weights and inputs"))
	f.Add(uint8(4), uint8(20), uint8(2), []byte{0, 0x7c, 0x80, 0xff, 0, 0x7e, 1, 0})
	f.Add(uint8(17), uint8(33), uint8(8), []byte{0, 0x7c, 0x80, 0xff})
	f.Fuzz(func(t *testing.T, n, rows, blocks uint8, data []byte) {
		high, wide := max(int(rows)%40, 1), max(int(blocks)%12, 1)*quantCols
		count := max(int(n)%20, 1)
		for _, kind := range kinds {
			run := formats[kind].run
			cols := (wide + run - 1) / run * run
			x := random(source(), count*cols)
			copy(x, floats(data))
			raw := rawBlocks(source(), kind, high, cols)
			copy(raw, data)
			w := NewPacked(kind, high, cols)
			w.LoadBlocks(0, raw)
			agree(t, x, count, w)
		}
	})
}

// agree compares the tiers with each other, and the last row with itself alone.
func agree(t *testing.T, x []float32, n int, w *Packed) {
	t.Helper()
	want := multiply(&Kernels{}, x, n, w)
	for _, k := range Implementations() {
		got := multiply(k, x, n, w)
		if !w.Kind.floating() && !same(got, want) {
			t.Fatalf("%s %v n %d (%d, %d): differs from the generic result", k.Name(), w.Kind, n, w.Rows, w.Cols)
		}
		alone := multiply(k, x[(n-1)*w.Cols:], 1, w)
		if !same(alone, got[(n-1)*w.Rows:]) {
			t.Fatalf("%s %v n %d (%d, %d): the last row differs from itself alone", k.Name(), w.Kind, n, w.Rows, w.Cols)
		}
	}
}

// TestQuantizedError bounds the error relative to weights and inputs before rounding.
func TestQuantizedError(t *testing.T) {
	const n, rows, cols = 4, 256, 768
	r := source()
	plain, x := random(r, rows*cols), random(r, n*cols)
	want, _ := matMulReference(x, plain, n, rows, cols)
	for kind, most := range map[Kind]float64{Q8_0: 0.009, Q8W: 0.012, Q4_0: 0.1, BF16: 0.0025, F16: 0.0003, Q4K: 0.075, Q6K: 0.021} {
		var off, size float64
		for i, got := range multiply(Best(), x, n, Quantize(kind, plain, rows, cols)) {
			off += (float64(got) - want[i]) * (float64(got) - want[i])
			size += want[i] * want[i]
		}
		if rms := math.Sqrt(off / size); rms > most {
			t.Errorf("%v: relative error %.4f, want at most %g", kind, rms, most)
		}
	}
}

func TestPackedPaddingStaysZero(t *testing.T) {
	for _, kind := range rounding {
		w := Quantize(kind, random(source(), 17*33), 17, 33)
		for r := 17; r < 32; r++ {
			row := slices.Repeat([]float32{1}, 33)
			if w.Row(row, r); slices.ContainsFunc(row, func(v float32) bool { return v != 0 }) {
				t.Fatalf("%v: row %d of the padding is %g", kind, r, row)
			}
		}
	}
}
