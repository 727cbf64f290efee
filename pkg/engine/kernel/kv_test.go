package kernel

import (
	"math"
	"slices"
	"testing"

	"glossa/pkg/engine/dtype"
)

// formatsKV are the formats of keys and values.
var formatsKV = []KVFormat{KVF32, KVBF16, KVQ8}

// rounded returns x, rows of dim numbers a stride apart, as the format stores it.
func (f KVFormat) rounded(x []float32, dim, stride int) []float32 {
	out := slices.Clone(x)
	for at := 0; at < len(out); at += stride {
		f.round(out[at : at+dim])
	}
	return out
}

func (f KVFormat) round(x []float32) {
	var most float64
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	scale, inverse := float32(most)/127, 127/float32(most)
	for i, v := range x {
		switch f {
		case KVBF16:
			x[i] = dtype.FromBFloat16(dtype.ToBFloat16(v))
		case KVQ8:
			x[i] = float32(math.RoundToEven(float64(float32(v*inverse)))) * scale
		}
	}
}

// number returns a number of a token's keys or values.
func (kv KV) number(x []float32, token, at int) float32 {
	switch kv.Format {
	case KVBF16:
		return dtype.FromBFloat16(narrowed(x)[at])
	case KVQ8:
		panel := kv.Keys[token/keyPanel*(4*kv.Dim+32):][4*kv.Dim:]
		if &x[0] == &kv.Keys[0] {
			return float32(bytesOf(x)[at+token/keyPanel*128]) * panel[token%keyPanel]
		}
		return float32(bytesOf(x)[at]) * panel[16+token%keyPanel]
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

// storedCases returns queries of keys and values that are stored in fewer bits.
func storedCases() (list []*attendCase) {
	r := source()
	for _, dim := range []int{1, 4, 16, 21, 32, 64, 80, 128, 200, 256} {
		for _, s := range [][3]int{ // tokens, heads, seen
			{1, 1, 1}, {1, 1, 31}, {1, 1, 64}, {1, 1, 128}, {1, 1, 129}, {1, 3, 300}, {1, 8, 127}, {2, 7, 130}, {4, 1, 77}, {5, 1, 125}, {17, 3, 120}, {140, 1, 1},
		} {
			list = append(list, newAttendCase(r, s[0], s[1], s[2], dim, true, Cap{}), newAttendCase(r, s[0], s[1], s[2], dim, false, Cap{CapTanh, 0.5}))
		}
	}
	return append(list, windowCases(r, 21)...)
}

// TestAttendBF16: attention to keys and values in bfloat16 equals to the bit attention to the same
// numbers in float32, unless queries and exponentials are bfloat16 too.
func TestAttendBF16(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, c := range storedCases() {
			if c.format = KVBF16; k.usesDots(KV{Dim: c.dim, Format: c.format}) {
				continue
			}
			c.run(k)
			got := slices.Clone(c.q.Out)
			c.format, c.keys, c.values = KVF32, KVBF16.rounded(c.keys, c.dim, c.dim), KVBF16.rounded(c.values, c.dim, c.dim)
			c.run(k)
			if !slices.Equal(got, c.q.Out) {
				t.Fatalf("%v: %g, in float32 %g", c, got, c.q.Out)
			}
		}
	})
}

// TestAttendQ8: attention to keys and values in bytes is that to the same numbers in float32, but
// for the order of a product's factors, and does not depend, to the bit, on what is computed with it.
func TestAttendQ8(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, c := range storedCases() {
			before := slices.Clone(c.q.Out)
			c.format = KVQ8
			c.run(k)
			c.checkAlone(t, k)
			c.keys, c.values = KVQ8.rounded(c.keys, c.dim, c.dim), KVQ8.rounded(c.values, c.dim, c.dim)
			c.check(t, before, 2e-6)
		}
	})
}

// checkAlone compares each row with itself alone.
func (c *attendCase) checkAlone(t *testing.T, k *Kernels) {
	t.Helper()
	for i := range c.q.Tokens * c.q.Heads {
		if got := c.alone(k, i); !slices.Equal(got, c.out(i)) {
			t.Fatalf("%v: row %d is %g, beside others %g", c, i, got, c.out(i))
		}
	}
}

// TestAttendQ8Extremes: heads of tiny numbers are zero, and one that is not finite makes what sees
// it NaN, as it does in other formats.
func TestAttendQ8Extremes(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for n, x := range []float64{0, 0x1p-101, math.Inf(1), math.Inf(-1), math.NaN(), 0, 0x1p-101, math.Inf(1), math.Inf(-1), math.NaN()} {
			c := newAttendCase(source(), 2, 1, 20, 24+8*(n/5), true, Cap{})
			for i := range c.dim {
				c.keys[20*c.dim+i], c.values[20*c.dim+i] = float32(x), float32(x) // of the token that the second row sees
			}
			c.format = KVQ8
			c.run(k)
			finite := !math.IsNaN(x) && !math.IsInf(x, 0)
			for i, v := range c.out(0) {
				if w := c.out(1)[i]; v != v || (w == w) != finite {
					t.Fatalf("%g: %g, %g", x, v, w)
				}
			}
			if !finite {
				continue
			}
			kv := newKV(k, KVQ8, c.keys, c.values, c.n, c.dim)
			for _, v := range kv.token(20) {
				if v != 0 {
					t.Fatalf("%g is stored as %g", x, v)
				}
			}
		}
	})
}

// TestStore: keys and values are stored at their tokens in runs of any length, and a copy
// of the first tokens has only those.
func TestStore(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, f := range formatsKV {
			for _, dim := range []int{1, 7, 16, 40, 64, 70, 130, 528} {
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
	keys, values = f.rounded(keys, dim, stride), f.rounded(values, dim, stride)
	for _, m := range []int{0, 1, 15, 16, 17, 32, 33, 64, n} {
		short := KV{Keys: make([]float32, a+f.panel(dim)), Values: make([]float32, b), Dim: dim, Format: f}
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
