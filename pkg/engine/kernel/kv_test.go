package kernel

import (
	"math"
	"slices"
	"testing"

	"glossa/pkg/engine/dtype"
)

// formatsKV are the formats of keys and values.
var formatsKV = []KVFormat{KVF32, KVBF16}

// rounded returns x as the format stores it.
func (f KVFormat) rounded(x []float32) []float32 {
	out := slices.Clone(x)
	if f == KVBF16 {
		for i, v := range out {
			out[i] = dtype.FromBFloat16(dtype.ToBFloat16(v))
		}
	}
	return out
}

// number returns a number of a KV's keys or values.
func (kv KV) number(x []float32, at int) float32 {
	if kv.Format == KVBF16 {
		return dtype.FromBFloat16(narrowed(x)[at])
	}
	return x[at]
}

// TestNarrow: numbers are rounded to the nearest bfloat16, of two that are as near to the even one,
// and a NaN stays one.
func TestNarrow(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		var x []float32
		for high := range uint32(1 << 16) {
			for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
				x = append(x, math.Float32frombits(high<<16|low))
			}
		}
		for _, n := range []int{len(x), 1, 15, 16, 17, 50} {
			got := make([]uint16, n+1)
			k.narrow(got, x[len(x)/7:][:n%len(x)])
			if n == len(x) {
				k.narrow(got, x)
			}
			from := x
			if n < len(x) {
				from = x[len(x)/7:]
			}
			for i, b := range got[:n] {
				if y := dtype.FromBFloat16(b); !isNearest(from[i], y) {
					t.Fatalf("%g (%#08x) becomes %g", from[i], math.Float32bits(from[i]), y)
				}
			}
			if got[n] != 0 {
				t.Fatalf("%d numbers are one more", n)
			}
		}
	})
}

// isNearest reports whether y, a bfloat16, is the one to which x is rounded.
func isNearest(x, y float32) bool {
	if x != x {
		return y != y
	}
	below := math.Float32bits(x) &^ 0xffff // towards zero
	distance := func(b uint32) float64 {
		if v := math.Float32frombits(b); !math.IsInf(float64(v), 0) {
			return math.Abs(float64(v) - float64(x))
		}
		return math.Abs(math.Ldexp(1, 128) - math.Abs(float64(x))) // infinity is where the next number would be
	}
	switch math.Float32bits(y) {
	case below:
		return math.Float32bits(x) == below || distance(below) < distance(below+1<<16) || distance(below) == distance(below+1<<16) && below>>16&1 == 0
	case below + 1<<16:
		return distance(below+1<<16) < distance(below) || distance(below+1<<16) == distance(below) && below>>16&1 == 1
	}
	return false
}

// TestAttendBF16: attention to keys and values in bfloat16 equals to the bit attention to the same
// numbers in float32.
func TestAttendBF16(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		check := func(c *attendCase) {
			t.Helper()
			c.format = KVBF16
			c.run(k)
			got := slices.Clone(c.q.Out)
			c.format, c.keys, c.values = KVF32, KVBF16.rounded(c.keys), KVBF16.rounded(c.values)
			c.run(k)
			if !slices.Equal(got, c.q.Out) {
				t.Fatalf("%v: %g, in float32 %g", c, got, c.q.Out)
			}
		}
		for _, dim := range []int{1, 4, 16, 21, 32, 64, 80, 128, 200, 256} {
			for _, s := range [][3]int{ // tokens, heads, seen
				{1, 1, 1}, {1, 1, 31}, {1, 1, 64}, {1, 1, 128}, {1, 1, 129}, {1, 3, 300}, {1, 8, 127}, {2, 7, 130}, {4, 1, 77}, {5, 1, 125}, {17, 3, 120}, {140, 1, 1},
			} {
				check(newAttendCase(r, s[0], s[1], s[2], dim, true, Cap{}))
				check(newAttendCase(r, s[0], s[1], s[2], dim, false, Cap{CapTanh, 0.5}))
			}
		}
		for _, c := range windowCases(r, 21) {
			check(c)
		}
	})
}

// TestStore: keys and values are stored at their tokens in runs of any length, and a copy
// of the first tokens has only those.
func TestStore(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, f := range formatsKV {
			for _, dim := range []int{1, 7, 16, 40, 64, 70, 130} {
				testStore(t, k, f, dim)
			}
		}
	})
}

func testStore(t *testing.T, k *Kernels, f KVFormat, dim int) {
	const n, pad = 103, 3
	stride := dim + pad
	keys, values := random(source(), n*stride), random(source(), n*stride)
	a, b := KVLen(f, n, dim)
	kv := KV{Keys: make([]float32, a), Values: make([]float32, b), Dim: dim, Format: f}
	for at, run := 0, 1; at < n; run++ {
		m := min(7*run, n-at)
		k.Store(kv, at, keys[at*stride:(at+m)*stride-pad], values[at*stride:(at+m)*stride-pad], m, stride)
		at += m
	}
	keys, values = f.rounded(keys), f.rounded(values)
	for _, m := range []int{0, 1, 15, 16, 17, 32, 33, 64, n} {
		short := KV{Keys: make([]float32, a+keyPanel*dim), Values: make([]float32, b), Dim: dim, Format: f}
		short.Copy(kv, 0, m)
		for i := range n {
			want := make([]float32, 2*dim)
			if i < m {
				want = slices.Concat(keys[i*stride:][:dim], values[i*stride:][:dim])
			}
			if got := short.token(i); !slices.Equal(got, want) {
				t.Fatalf("format %d, dim %d, %d copied: token %d is %g, want %g", f, dim, m, i, got, want)
			}
		}
	}
}
