package kernel

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

// selectionSizes cover whole words and blocks, incomplete ones and 0.
var selectionSizes = []int{0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 200, 1023, 1024, 1025, 3001}

// odd are values that need special care.
var odd = []float32{
	float32(math.NaN()), math.Float32frombits(0x7f800001), math.Float32frombits(0xffc00000), // quiet, signalling, negative
	float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32, 0, float32(math.Copysign(0, -1)), 1e-45, -1e-45,
}

// logits returns n values of few different sizes, every eighth of them odd.
func logits(n int) []float32 {
	r, x := source(), make([]float32, n)
	for i := range x {
		x[i] = float32(math.Round(r.NormFloat64()*40) / 4)
		if r.IntN(8) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

func TestFinite(t *testing.T) {
	least, greatest := float32(-math.MaxFloat32), float32(math.MaxFloat32)
	for i, want := range []float32{least, least, least, greatest, least, greatest, least, 0, 0, 1e-45, -1e-45} {
		if got := Finite(odd[i]); got != want {
			t.Errorf("Finite(%g) = %g", odd[i], got)
		}
	}
}

// selects compares the selection of one implementation with the definitions, to the bit.
func selects(t *testing.T, k *Kernels, x []float32, bound float32) {
	t.Helper()
	top, at := float32(-math.MaxFloat32), 0
	for i, v := range x {
		if Finite(v) > top {
			top, at = Finite(v), i
		}
	}
	if got := k.Largest(x); math.Float32bits(got) != math.Float32bits(top+0) {
		t.Fatalf("%s: largest of %g is %g, want %g", k.Name(), x, got, top)
	}
	if len(x) > 0 {
		if got := k.ArgMax(x); got != at {
			t.Fatalf("%s: argmax of %g is %d, want %d", k.Name(), x, got, at)
		}
	}
	words := (len(x) + 63) / 64
	mask := slices.Repeat([]uint64{0x5555}, words+1)
	k.AtLeast(mask, x, bound)
	for i := range words * 64 {
		if got := mask[i/64]>>(i%64)&1 == 1; got != (i < len(x) && Finite(x[i]) >= bound) {
			t.Fatalf("%s: %d of %g at least %g: %v", k.Name(), i, x, bound, got)
		}
	}
	if mask[words] != 0x5555 {
		t.Fatalf("%s: wrote past the mask", k.Name())
	}
}

func TestSelection(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range selectionSizes {
			for _, bound := range append([]float32{3.25, -7}, odd[3:]...) {
				selects(t, k, logits(n), bound)
			}
			for _, v := range odd { // one value throughout, and one that is larger
				x := slices.Repeat([]float32{v}, n)
				selects(t, k, x, v)
				if n > 0 {
					x[n*2/3] = math.MaxFloat32 / 2
					selects(t, k, x, 1)
				}
			}
		}
	})
}

// TestWeights compares with math.Exp.
func TestWeights(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		for _, scale := range []float64{1, 0.37, 1 / 0.8, 3, 1e-3} {
			x := make([]float32, 4001)
			for i := range x {
				x[i] = float32(-r.ExpFloat64() * 100)
			}
			top := k.Largest(x)
			w := append(make([]float64, len(x)), 42)
			got, want := k.Weights(w, x, top, scale), 0.0
			for i, v := range x {
				e := math.Exp((float64(v) - float64(top)) * scale)
				if e < math.Exp(-708) {
					e = 0
				}
				if math.Abs(w[i]-e) > 1e-15*e {
					t.Fatalf("scale %g: weight of %g is %g, want %g", scale, v, w[i], e)
				}
				want += e
			}
			if math.Abs(got-want) > 1e-14*want || w[len(x)] != 42 {
				t.Errorf("scale %g: sum %g, want %g", scale, got, want)
			}
		}
	})
}

// weighs compares weights and their sum with the generic code, to the bit.
func weighs(t *testing.T, k *Kernels, x []float32, scale float64) {
	t.Helper()
	want, got := make([]float64, len(x)), make([]float64, len(x))
	top := k.Largest(x)
	sum := (&Kernels{}).Weights(want, x, top, scale)
	if s := k.Weights(got, x, top, scale); math.Float64bits(s) != math.Float64bits(sum) {
		t.Fatalf("%s: sum of the weights of %g is %v, generic %v", k.Name(), x, s, sum)
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s: weight %d of %g, scale %g, is %v, generic %v", k.Name(), i, x, scale, got[i], want[i])
		}
		if !(got[i] >= 0 && got[i] <= 1) || Finite(x[i]) == top && got[i] != 1 {
			t.Fatalf("%s: weight of %g under %g is %g", k.Name(), x[i], top, got[i])
		}
	}
}

// TestWeightsToTheBit: every tier gives the same bits, for all values.
func TestWeightsToTheBit(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range selectionSizes {
			for _, scale := range []float64{1, 1.25, 1e-38, 3e-39, 1e30, math.MaxFloat64, 5e-324} {
				weighs(t, k, logits(n), scale)
				weighs(t, k, values(source(), n), scale)
			}
		}
		// Around the floor of weights.
		x := make([]float32, 4000)
		for i := range x {
			x[i] = -float32(i) / 1000 * 200
		}
		weighs(t, k, x, 1)
	})
}

// TestWeightsEverywhere: all architectures give these bits.
func TestWeightsEverywhere(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		x, w := make([]float32, 2003), make([]float64, 2003)
		for i := range x {
			x[i] = float32(i*i%4093) / -32
		}
		sum := k.Weights(w, x, 0, 1.25)
		hash := math.Float64bits(sum)
		for _, v := range w {
			hash = bits.RotateLeft64(hash^math.Float64bits(v), 7) * 0x9e3779b97f4a7c15
		}
		if want := uint64(0x77d13fd584a4da29); hash != want {
			t.Errorf("%#x, want %#x", hash, want)
		}
	})
}

func TestSelectionAllocatesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		x, w, mask := logits(3001), make([]float64, 3001), make([]uint64, 47)
		if n := testing.AllocsPerRun(5, func() {
			k.Weights(w, x, k.Largest(x), 1)
			k.AtLeast(mask, x, 1)
			k.ArgMax(x)
		}); n > 0 {
			t.Errorf("%g allocations", n)
		}
	})
}

func TestSelectionShort(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		x := make([]float32, 130)
		for name, f := range map[string]func(){
			"mask":    func() { k.AtLeast(make([]uint64, 2), x, 0) },
			"weights": func() { k.Weights(make([]float64, 129), x, 0, 1) },
			"x":       func() { k.ArgMax(nil) },
		} {
			if !panics(f) {
				t.Errorf("no panic when %s is short", name)
			}
		}
	})
}

// FuzzSelection compares every tier with the definitions, on any values.
func FuzzSelection(f *testing.F) {
	f.Add(encode(odd...), float32(0), 1.0)
	f.Add(encode(logits(200)...), float32(2), 0.5)
	f.Add(encode(random(source(), 137)...), float32(-1), 1e9)
	f.Fuzz(func(t *testing.T, data []byte, bound float32, scale float64) {
		if scale = math.Abs(scale); !(scale > 0 && scale <= math.MaxFloat64) {
			scale = 1
		}
		x := floats(data)
		for _, k := range Implementations() {
			selects(t, k, x, bound)
			weighs(t, k, x, scale)
		}
	})
}

func BenchmarkSelection(b *testing.B) {
	x := random(source(), 50257)
	w, mask := make([]float64, len(x)), make([]uint64, len(x)/64+1)
	for _, k := range Implementations() {
		for name, op := range map[string]func(){
			"Largest": func() { k.Largest(x) },
			"AtLeast": func() { k.AtLeast(mask, x, 2) },
			"ArgMax":  func() { k.ArgMax(x) },
			"Weights": func() { k.Weights(w, x, 5, 1) },
			"Weights/blocks": func() {
				for at := 0; at < len(x); at += 256 {
					k.Weights(w, x[at:min(at+256, len(x))], 5, 1)
				}
			},
		} {
			b.Run(k.Name()+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(4 * len(x)))
				for b.Loop() {
					op()
				}
			})
		}
	}
}
