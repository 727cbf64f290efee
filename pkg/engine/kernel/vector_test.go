package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes cover whole vectors, incomplete ones and 0.
var sizes = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 129}

// values returns n numbers of very different magnitudes.
func values(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Exp(2*r.NormFloat64()))
	}
	return x
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func geluReference(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func geluErfReference(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }

// unaryCases: tolerance relative to max(|x|, |want|) times 1e-7.
var unaryCases = []struct {
	name      string
	run       func(k *Kernels, x []float32)
	want      func(x float64) float64
	tolerance float64
}{
	{"ReLU", (*Kernels).ReLU, func(x float64) float64 { return max(x, 0) }, 0},
	{"SiLU", (*Kernels).SiLU, func(x float64) float64 { return x * sigmoid(x) }, 5},
	{"GELU", (*Kernels).GELU, geluReference, 5},
	{"GELUErf", (*Kernels).GELUErf, geluErfReference, 3},
	{"Scale", func(k *Kernels, x []float32) { k.Scale(x, 3) }, func(x float64) float64 { return 3 * x }, 1},
	{"clamp", func(k *Kernels, x []float32) { k.Bound(x, Cap{CapClamp, 1.5}) }, func(x float64) float64 { return min(max(x, -1.5), 1.5) }, 0},
	{"tanhCap", func(k *Kernels, x []float32) { k.Bound(x, Cap{CapTanh, 2}) }, func(x float64) float64 { return 2 * math.Tanh(x/2) }, 5},
}

func TestUnary(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, c := range unaryCases {
			for _, n := range sizes {
				x := append(values(source(), n), 42)
				got := slices.Clone(x)
				c.run(k, got[:n])
				for i, v := range x[:n] {
					want := c.want(float64(v))
					if !closeTo(got[i], want, c.tolerance*1e-7*max(math.Abs(want), math.Abs(float64(v)))) {
						t.Fatalf("%s n %d: f(%g) = %g, want %g", c.name, n, v, got[i], want)
					}
				}
				if got[n] != 42 {
					t.Fatalf("%s n %d: wrote past the end", c.name, n)
				}
			}
		}
	})
}

func TestUnaryNaN(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, c := range unaryCases {
			for at := range 20 {
				x := make([]float32, 20)
				x[at] = float32(math.NaN())
				c.run(k, x)
				for i, v := range x {
					if (v != v) != (i == at) {
						t.Fatalf("%s: NaN at %d gave %g at %d", c.name, at, v, i)
					}
				}
			}
		}
	})
}

func TestBinary(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes {
			r := source()
			a, b := values(r, n), values(r, n)
			sum, product, axpy, both := append(slices.Clone(a), 42), append(slices.Clone(a), 42), append(slices.Clone(a), 42), append(slices.Clone(b), 42)
			k.Add(sum[:n], b)
			k.Mul(product[:n], b)
			k.Axpy(axpy[:n], -0.7, b)
			k.MulAdd(both[:n], a, b)
			dot, size := 0.0, 0.0
			for i := range n {
				x, y := float64(a[i]), float64(b[i])
				dot, size = dot+x*y, size+math.Abs(x*y)
				if sum[i] != a[i]+b[i] || product[i] != a[i]*b[i] || !closeTo(axpy[i], x-float64(float32(0.7))*y, 2e-7*(math.Abs(x)+math.Abs(y))) {
					t.Fatalf("n %d: element %d of %g, %g: %g %g %g", n, i, x, y, sum[i], product[i], axpy[i])
				}
				if !closeTo(both[i], y+x*y, 2e-7*(math.Abs(y)+math.Abs(x*y))) {
					t.Fatalf("n %d: element %d of %g, %g: MulAdd gives %g", n, i, x, y, both[i])
				}
			}
			if got := k.Dot(a, b); !closeTo(got, dot, 3e-7*size) {
				t.Fatalf("n %d: dot %g, want %g", n, got, dot)
			}
			if sum[n] != 42 || product[n] != 42 || axpy[n] != 42 || both[n] != 42 {
				t.Fatalf("n %d: wrote past the end", n)
			}
		}
	})
}

func TestScan(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes[1:] {
			for _, rows := range []int{0, 1, 3, 64} {
				r := source()
				h, b, c, x := append(values(r, rows*n), 42), values(r, n), values(r, n), values(r, rows)
				got, y := slices.Clone(h), append(make([]float32, rows), 42)
				k.Scan(got[:rows*n], b, c, x, y[:rows], 0.75)
				for i := range rows {
					sum, size := 0.0, 0.0
					for j := range n {
						old, new := float64(h[i*n+j])*0.75, float64(x[i])*float64(b[j])
						if !closeTo(got[i*n+j], old+new, 2e-7*(math.Abs(old)+math.Abs(new))) {
							t.Fatalf("n %d, row %d: state %d is %g, want %g", n, i, j, got[i*n+j], old+new)
						}
						sum, size = sum+float64(got[i*n+j])*float64(c[j]), size+math.Abs(float64(got[i*n+j])*float64(c[j]))
					}
					if !closeTo(y[i], sum, 1e-6*size) {
						t.Fatalf("n %d, row %d: %g, want %g", n, i, y[i], sum)
					}
				}
				if got[rows*n] != 42 || y[rows] != 42 {
					t.Fatalf("n %d, %d rows: wrote past the end", n, rows)
				}
			}
		}
	})
}

func TestExp(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for x := float32(-110); x < 90; x += 0.0137 {
			got := []float32{x}
			expSum(k.isa, got, 0)
			want := math.Exp(float64(x))
			if !closeTo(got[0], want, 2e-7*want+2e-45) {
				t.Fatalf("exp(%g) = %g, want %g", x, got[0], want)
			}
		}
		got := []float32{float32(math.Inf(-1)), float32(math.Inf(1)), float32(math.NaN()), 0}
		expSum(k.isa, got, 0)
		if got[0] != 0 || !math.IsInf(float64(got[1]), 1) || got[2] == got[2] || got[3] != 1 {
			t.Errorf("exp of -Inf, +Inf, NaN, 0 = %v", got)
		}
	})
}

func TestTanh(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for x := float32(-12); x < 12; x += 0.00137 {
			got := []float32{x}
			tanhCap(k.isa, got, 1)
			want := math.Tanh(float64(x))
			if !closeTo(got[0], want, 2e-7*math.Abs(want)) {
				t.Fatalf("tanh(%g) = %g, want %g", x, got[0], want)
			}
		}
	})
}

// TestGELUErf also bounds the relative error of the left tail, which grows with the
// rounding of x².
func TestGELUErf(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for x := float32(-14); x < 14; x += 0.00137 {
			got := []float32{x}
			k.GELUErf(got)
			want := geluErfReference(float64(x))
			tolerance := 5e-7 * math.Abs(want)
			if x < 0 {
				tolerance *= 1 + 0.1*float64(x*x)
			}
			if !closeTo(got[0], want, tolerance+1e-43) {
				t.Fatalf("gelu(%g) = %g, want %g", x, got[0], want)
			}
		}
		inf := float32(math.Inf(1))
		got := []float32{inf, -inf, 3e38, -3e38, 0}
		k.GELUErf(got)
		if got[0] != inf || got[1] == got[1] || got[2] != 3e38 || got[3] != 0 || got[4] != 0 {
			t.Errorf("gelu of +Inf, -Inf, 3e38, -3e38, 0 = %g", got)
		}
	})
}

func TestSoftmax(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes[1:] {
			x := values(source(), n)
			got := slices.Clone(x)
			k.softmax(got)
			top, sum := float64(slices.Max(x)), 0.0
			for _, v := range x {
				sum += math.Exp(float64(v) - top)
			}
			for i, v := range x {
				d := float64(v) - top // rounded to float32 before exp
				if want := math.Exp(d) / sum; !closeTo(got[i], want, (5e-7-1.2e-7*d)*want+1e-44) {
					t.Fatalf("n %d: element %d = %g, want %g", n, i, got[i], want)
				}
			}
		}
	})
}

func TestSoftmaxSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range []int{3, 16, 21} {
			for at := range n {
				x := make([]float32, n)
				for i := range x {
					x[i] = -inf
				}
				x[at] = -3
				k.softmax(x)
				for i, v := range x {
					if v != map[bool]float32{true: 1}[i == at] {
						t.Fatalf("n %d: one finite value at %d gave %g at %d", n, at, v, i)
					}
				}
				for _, bad := range []float32{nan, inf} {
					clear(x)
					x[at] = bad
					k.softmax(x)
					if x[at] == x[at] {
						t.Fatalf("n %d: %g at %d gave %g", n, bad, at, x[at])
					}
				}
			}
		}
		k.softmax(nil)
	})
}

func layerNormReference(x, w, b []float32, eps float64) []float64 {
	out, n := make([]float64, len(x)), float64(len(x))
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / n
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / n
	}
	for i, v := range x {
		out[i] = (float64(v)-mean)/math.Sqrt(variance+eps)*float64(w[i]) + float64(b[i])
	}
	return out
}

func TestLayerNorm(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes {
			r := source()
			x, w, b := random(r, n), random(r, n), random(r, n)
			for i := range x {
				x[i] += 3
			}
			got, plain := make([]float32, n+1), make([]float32, n)
			k.LayerNorm(got[:n], x, w, b, 1e-5)
			k.LayerNorm(plain, x, w, nil, 1e-5)
			for i, want := range layerNormReference(x, w, b, 1e-5) {
				if !closeTo(got[i], want, 4e-6*(1+math.Abs(want))) {
					t.Fatalf("n %d: element %d = %g, want %g", n, i, got[i], want)
				}
				if want -= float64(b[i]); !closeTo(plain[i], want, 4e-6*(1+math.Abs(want))) {
					t.Fatalf("n %d without bias: element %d = %g, want %g", n, i, plain[i], want)
				}
			}
			if got[n] != 0 {
				t.Fatalf("n %d: wrote past the end", n)
			}
		}
	})
}

func TestNoAllocation(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		w, x, dst := Pack(random(r, 100*70), 100, 70), random(r, 20*70), make([]float32, 20*100)
		scratch, c := NewScratch(), make([]float32, 20*20)
		attention, kv := NewAttention(10), newKV(k, KVF32, random(r, 40*10), random(r, 40*10), 40, 10)
		q := Queries{In: x, Out: dst, InStride: 40, OutStride: 30, Tokens: 7, Heads: 3, Seen: 30, Causal: true, Scale: 1, Cap: Cap{CapTanh, 30}}
		if n := testing.AllocsPerRun(5, func() {
			k.MatMul(dst, x, 1, w)
			k.MatMul(dst, x, 5, w)
			k.MatMul(dst, x, 20, w)
			k.GEMM(scratch, c, 20, View{x, 70, false}, View{x, 70, true}, 20, 20, 70, false)
			k.Store(kv, 0, x, x, 20, 30)
			k.Attend(attention, &q, kv)
			k.GELU(dst)
			k.GELUErf(dst)
			k.LayerNorm(dst[:70], x[:70], x, x, 1e-5)
			k.RMSNorm(dst[:70], x[:70], x, 1e-5)
			k.Rotate(dst, x[:32], x[32:64], true)
			k.Rotate(dst, x[:32], x[32:64], false)
			k.LoadRows(w, 3, x)
			k.LoadColumns(w, 3, dst[:1500])
		}); n > 0 {
			t.Errorf("%g allocations", n)
		}
	})
}

// A NaN of either sign is found at every place; infinities and other numbers are not NaN, nor are
// sums that overflow.
func TestHasNaN(t *testing.T) {
	quiet, signalling := math.Float32frombits(0xffc00001), math.Float32frombits(0x7f800001)
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range []int{0, 1, 9, 67} {
			for at := range n {
				for _, v := range []float32{0, float32(math.Copysign(0, -1)), -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), quiet, signalling, float32(math.NaN())} {
					for _, rest := range []float32{0, math.MaxFloat32, float32(math.Inf(-1))} {
						x := slices.Repeat([]float32{rest}, n)
						x[at] = v
						if got := k.HasNaN(x); got != (v != v) {
							t.Errorf("%v at %d of %d, beside %v: %v", v, at, n, rest, got)
						}
					}
				}
			}
		}
	})
}
