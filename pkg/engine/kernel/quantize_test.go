package kernel

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"
)

//go:embed testdata/blocks.json
var blocksJSON []byte

// TestQuantizesAsGGML compares packed values with the blocks of ggml's own code.
func TestQuantizesAsGGML(t *testing.T) {
	var golden map[string][]string
	if err := json.Unmarshal(blocksJSON, &golden); err != nil {
		t.Fatal(err)
	}
	decode := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, kind := range rounding {
		if kind == Q8W || kind == F16 || kind.coded() {
			continue // not in this file; see TestQuantizesAsStored
		}
		if len(golden["values"]) != 32 || len(golden[kind.String()]) != 32 {
			t.Fatalf("%v: %d blocks of %d", kind, len(golden[kind.String()]), len(golden["values"]))
		}
		for i, block := range golden["values"] {
			x := floats(decode(block))
			want := NewPacked(kind, 1, 32)
			want.LoadBlocks(0, decode(golden[kind.String()][i]))
			if got := Quantize(kind, x, 1, 32); !bytes.Equal(got.Data(), want.Data()) {
				a, b := make([]float32, 32), make([]float32, 32)
				got.Row(a, 0)
				want.Row(b, 0)
				t.Errorf("%v: %g becomes\n%g, want\n%g", kind, x, a, b)
			}
		}
	}
}

// Rows become the blocks that the stored type's encoder makes of them.
func TestQuantizesAsStored(t *testing.T) {
	for _, kind := range rounding {
		const rows, cols = 21, 768
		x := random(source(), rows*cols)
		raw, err := formats[kind].stored.Encoder()(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		want := NewPacked(kind, rows, cols)
		want.LoadBlocks(0, raw)
		if got := Quantize(kind, x, rows, cols); !bytes.Equal(got.Data(), want.Data()) {
			t.Errorf("%v: other blocks than the encoder's", kind)
		}
	}
}

// FuzzQuantize quantises any values: a block that is not finite gives NaN, others are
// close.
func FuzzQuantize(f *testing.F) {
	f.Add(encode(1, -2, 3))
	f.Add(encode(float32(math.NaN()), 1))
	f.Add(encode(float32(math.Inf(-1)), 1e-42, 3e38))
	f.Add(encode(1e-44, -1e-40))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := floats(data)
		if len(x) == 0 || len(x) > 300 {
			return
		}
		row := make([]float32, len(x))
		for kind := range steps {
			Quantize(kind, x, 1, len(x)).Row(row, 0)
			for i, v := range row {
				checkValue(t, kind, x, i, float64(v))
			}
		}
	})
}

// steps has the largest multiplier of d, or in Q4_K of d and dmin, of kinds that round to halves.
var steps = map[Kind]float64{Q8_0: 127, Q8W: 127, Q4_0: 8, Q4K: 63 * 16, Q6K: 128 * 32}

func checkValue(t *testing.T, kind Kind, x []float32, i int, got float64) {
	t.Helper()
	top, finite, block := 0.0, true, shared(kind)
	for _, v := range x[i/block*block : min(i/block*block+block, len(x))] {
		top = max(top, math.Abs(float64(v)))
		finite = finite && v-v == 0
	}
	switch steps := steps[kind]; {
	case !finite || top/steps >= 65520: // the scale is infinite, or the values are
		if !finite && !math.IsNaN(got) && !math.IsInf(got, 0) {
			t.Fatalf("%v: %g of %g becomes %g", kind, x[i], x, got)
		}
	case math.Abs(got-float64(x[i])) > tolerance(kind, x, i)+steps*0x1p-25:
		t.Fatalf("%v: %g of %g becomes %g", kind, x[i], x, got)
	}
}

// The kinds' blocks equal those of the stored types.
func TestStoredBlocks(t *testing.T) {
	for _, kind := range kinds {
		f := formats[kind]
		if values, bytes := f.stored.Block(); f.run != values || f.raw != bytes {
			t.Errorf("%v: blocks of %d inputs and %d bytes, %s has %d and %d", kind, f.run, f.raw, f.stored, values, bytes)
		}
	}
}
