package kernel

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/dtype"
)

var kinds = Kinds()

// rounding lists the kinds that weights can be rounded to.
var rounding = slices.DeleteFunc(Kinds(), func(k Kind) bool { return !k.Rounds() })

// some returns weights of random values, rounded or of random blocks.
func some(r *rand.Rand, kind Kind, rows, cols int) *Packed {
	if kind.Rounds() {
		return Quantize(kind, random(r, rows*cols), rows, cols)
	}
	p, run := NewPacked(kind, rows, cols), formats[kind].run
	whole := NewPacked(kind, rows, (cols+run-1)/run*run)
	whole.LoadBlocks(0, rawBlocks(r, kind, rows, whole.Cols))
	copy(p.data, whole.data)
	return p
}

// multiply quantises x (n, w.Cols) and multiplies all of it with w.
func multiply(k *Kernels, x []float32, n int, w *Packed) []float32 {
	a := k.NewActivations(w.Kind, n, w.Cols)
	k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
	dst := make([]float32, n*w.Rows)
	for i := range dst {
		dst[i] = 42
	}
	k.MatMulPacked(dst, a, n, w, 0, w.Panels())
	return dst
}

// same reports whether two results are the same to the bit; all NaNs are the same.
func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	})
}

// rawBlocks returns rows of random blocks: any codes, scales of ordinary size.
func rawBlocks(r *rand.Rand, kind Kind, rows, cols int) []byte {
	f := formats[kind]
	raw := make([]byte, rows*cols/f.run*f.raw)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	for at := 0; at < len(raw); at += f.raw {
		for _, half := range f.stored.Halves() {
			binary.LittleEndian.PutUint16(raw[at+half:], dtype.ToFloat16(float32(r.NormFloat64()*0.01)))
		}
		switch kind {
		case BF16:
			binary.LittleEndian.PutUint16(raw[at:], dtype.ToBFloat16(float32(r.NormFloat64())))
		case F16:
			small := float32(math.Exp2(-20 * float64(r.IntN(2)))) // half of them are not normal
			binary.LittleEndian.PutUint16(raw[at:], dtype.ToFloat16(small*float32(r.NormFloat64())))
		case MXFP4:
			raw[at] = byte(115 + r.IntN(8))
		}
	}
	return raw
}

// fromBlocks dequantises blocks as GGUF defines them.
func fromBlocks(kind Kind, raw []byte) []float32 {
	f := formats[kind]
	x := make([]float32, len(raw)/f.raw*f.run)
	f.stored.Decoder()(x, raw)
	return x
}

func TestLoadBlocksKeepsValues(t *testing.T) {
	for _, kind := range kinds {
		for _, shape := range [][2]int{{1, 1}, {16, 2}, {37, 3}, {50, 10}} {
			rows, cols := shape[0], shape[1]*max(formats[kind].run, quantCols)
			raw := rawBlocks(source(), kind, rows, cols)
			p, parts := NewPacked(kind, rows, cols), NewPacked(kind, rows, cols)
			p.LoadBlocks(0, raw)
			size := len(raw) / rows
			for r := 0; r < rows; r += 7 {
				parts.LoadBlocks(r, raw[r*size:min(r+7, rows)*size])
			}
			if !bytes.Equal(p.Data(), parts.Data()) {
				t.Errorf("%v (%d, %d): rows in parts differ", kind, rows, cols)
			}
			want := fromBlocks(kind, raw)
			row := make([]float32, cols)
			for r := range rows {
				if p.Row(row, r); !same(row, want[r*cols:(r+1)*cols]) {
					t.Fatalf("%v (%d, %d): row %d is\n%g, want\n%g", kind, rows, cols, r, row, want[r*cols:(r+1)*cols])
				}
			}
		}
	}
}

func TestQuantizeRows(t *testing.T) {
	for _, kind := range rounding {
		for _, shape := range [][2]int{{1, 1}, {5, 40}, {16, 64}, {33, 100}, {17, 65}} {
			rows, cols := shape[0], shape[1]
			w := random(source(), rows*cols)
			p, parts := Quantize(kind, w, rows, cols), NewPacked(kind, rows, cols)
			for r := 0; r < rows; r += 3 {
				parts.LoadRows(r, w[r*cols:min(r+3, rows)*cols])
			}
			if !bytes.Equal(p.Data(), parts.Data()) {
				t.Errorf("%v (%d, %d): rows in parts differ", kind, rows, cols)
			}
			row := make([]float32, cols)
			for r := range rows {
				p.Row(row, r)
				for i, v := range row {
					x := w[r*cols+i]
					if off := math.Abs(float64(v - x)); off > tolerance(kind, w[r*cols:(r+1)*cols], i) {
						t.Fatalf("%v (%d, %d): row %d input %d is %g, want %g", kind, rows, cols, r, i, v, x)
					}
				}
			}
		}
	}
}

// shared returns the number of inputs whose scales depend on each other.
func shared(kind Kind) int {
	if kind.coded() {
		return dtype.Coarse
	}
	return kind.shared()
}

// tolerance returns the maximum rounding error of weight i of a row: half a step and the rounding
// of d; for Q4_0 a step at the end of the range that lacks one; for Q4_K, with steps of 2/15, and
// Q6_K, with 1/32, the 1.2 that the best fit may cut off, and the rounding of scales.
func tolerance(kind Kind, row []float32, i int) float64 {
	switch kind {
	case BF16:
		return math.Abs(float64(row[i])) / 256
	case F16:
		return math.Abs(float64(row[i]))/2048 + 1.0/(1<<25)
	}
	top := 0.0
	block := shared(kind)
	for _, v := range row[i/block*block : min(i/block*block+block, len(row))] {
		top = max(top, math.Abs(float64(v)))
	}
	switch kind {
	case Q4_0:
		return top * (1.0/8 + 1.0/2048)
	case Q4K:
		return top * 1.4 * 2 / 15
	case Q6K:
		return top * 1.4 / 32
	}
	return top * (0.5/127 + 1.0/2048)
}

func TestPackedSizes(t *testing.T) {
	for _, c := range []struct {
		kind       Kind
		rows, cols int
		want       int64
	}{
		{Q8_0, 1, 1, 1088}, {Q8W, 1, 1, 2112}, {Q8W, 17, 129, 8448}, {Q4_0, 16, 64, 576}, {BF16, 17, 65, 8192}, {Q8_0, 50257, 768, 3142 * 12 * 1088},
		{Q4K, 17, 257, 4 * 2368}, {Q6K, 16, 256, 3392},
		{0, 1, 1, 0}, {99, 1, 1, 0}, {Q8_0, 0, 1, 0}, {Q4_0, 1, -1, 0},
		{Q8_0, math.MaxInt, math.MaxInt, math.MaxInt64}, {BF16, math.MaxInt, 1, math.MaxInt64}, {Q4_0, 1 << 31, 1 << 31, 1 << 52 * 576},
	} {
		if got := c.kind.Bytes(c.rows, c.cols); got != c.want {
			t.Errorf("%v (%d, %d): %d bytes, want %d", c.kind, c.rows, c.cols, got, c.want)
		}
	}
	for _, kind := range kinds {
		if p := NewPacked(kind, 33, 70); p.Bytes() != kind.Bytes(33, 70) || int64(len(p.Data())) != p.Bytes() || p.Panels() != 3 {
			t.Errorf("%v: %d bytes, %d panels", kind, p.Bytes(), p.Panels())
		}
	}
}

func TestOpenPacked(t *testing.T) {
	for _, kind := range kinds {
		p := some(source(), kind, 20, 70)
		q, err := OpenPacked(kind, 20, 70, p.Data())
		if err != nil {
			t.Fatal(err)
		}
		if &q.Data()[0] != &p.Data()[0] {
			t.Errorf("%v: the bytes were copied", kind)
		}
		moved := Allocate(len(p.data) + 64)[32:]
		for _, c := range []struct {
			kind       Kind
			rows, cols int
			data       []byte
			want       string
		}{
			{kind, 20, 70, moved[:len(p.data)], "32 bytes after a multiple of 64"},
			{kind, 20, 70, p.data[:len(p.data)-1], "take"},
			{kind, 49, 70, p.data, "take"},
			{kind, 0, 70, nil, "shape (0, 70)"},
			{kind, 20, -1, nil, "shape (20, -1)"},
			{kind, math.MaxInt, math.MaxInt, p.data, "take 9223372036854775807"},
			{77, 20, 70, p.data, "kind 77"},
			{0, 20, 70, p.data, "kind 0"},
		} {
			if _, err := OpenPacked(c.kind, c.rows, c.cols, c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v (%d, %d), %d bytes: error %v, want %q", c.kind, c.rows, c.cols, len(c.data), err, c.want)
			}
		}
	}
}

func TestPackedRefuses(t *testing.T) {
	for _, kind := range kinds {
		p, size := NewPacked(kind, 40, 256), 256/formats[kind].run*formats[kind].raw
		for _, c := range []struct{ from, n int }{{0, 1}, {-1, 256}, {40, 256}, {41, 0}, {39, 512}, {math.MaxInt, 256}} {
			if !panics(func() { p.LoadRows(c.from, make([]float32, c.n)) }) {
				t.Errorf("%v: no panic for %d values at row %d", kind, c.n, c.from)
			}
			if !panics(func() { p.LoadBlocks(c.from, make([]byte, c.n*size/256+c.n%256)) }) {
				t.Errorf("%v: no panic for %d of blocks at row %d", kind, c.n, c.from)
			}
		}
		if !panics(func() { NewPacked(kind, 0, 5) }) || !panics(func() { NewPacked(kind, math.MaxInt, 5) }) {
			t.Errorf("%v: no panic for a shape that is none", kind)
		}
	}
	for _, kind := range kinds {
		if !kind.Rounds() && !panics(func() { NewPacked(kind, 4, 256).LoadRows(0, make([]float32, 256)) }) {
			t.Errorf("%v: no panic for weights to be rounded", kind)
		}
	}
	if !panics(func() { NewPacked(Q4K, 4, 128).LoadBlocks(0, nil) }) {
		t.Error("no panic for blocks of rows that are not a multiple of 256")
	}
	if !panics(func() { NewPacked(Q8_0, 4, 40).LoadBlocks(0, nil) }) {
		t.Error("no panic for blocks of rows that are not a multiple of 32")
	}
	if !panics(func() { NewPacked(0, 4, 40) }) {
		t.Error("no panic for weights of no kind")
	}
}

func TestMatMulPackedRefuses(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		a, w, dst, x := k.NewActivations(Q8_0, 3, 64), NewPacked(Q4_0, 40, 64), make([]float32, 400), make([]float32, 400)
		k.QuantizeActivations(a, x, 3, 0, 1)
		for name, f := range map[string]func(){
			"more rows":        func() { k.MatMulPacked(dst, a, 4, w, 0, 3) },
			"negative rows":    func() { k.MatMulPacked(dst, a, -1, w, 0, 3) },
			"more panels":      func() { k.MatMulPacked(dst, a, 3, w, 0, 4) },
			"a negative panel": func() { k.MatMulPacked(dst, a, 3, w, -1, 3) },
			"a short result":   func() { k.MatMulPacked(dst[:119:119], a, 3, w, 0, 3) },
			"other inputs":     func() { k.MatMulPacked(dst, a, 3, NewPacked(Q4_0, 40, 65), 0, 3) },
			"another kind":     func() { k.MatMulPacked(dst, a, 3, NewPacked(BF16, 40, 64), 0, 3) },
			"codes":            func() { k.MatMulPacked(dst, a, 3, NewPacked(Q5_0, 40, 64), 0, 3) },
			"more tiles":       func() { k.QuantizeActivations(a, x, 3, 0, 2) },
			"a negative tile":  func() { k.QuantizeActivations(a, x, 3, -1, 1) },
			"short inputs":     func() { k.QuantizeActivations(a, x[:191:191], 3, 0, 1) },
			"many inputs":      func() { k.QuantizeActivations(a, x, 4, 0, 1) },
			"no rows":          func() { k.NewActivations(Q8_0, 0, 5) },
			"no inputs":        func() { k.NewActivations(Q8_0, 5, 0) },
			"no kind":          func() { k.NewActivations(0, 5, 5) },
		} {
			if !panics(f) {
				t.Errorf("no panic for %s", name)
			}
		}
	})
}
