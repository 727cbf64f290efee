package kernel

import (
	"math"
	"slices"
	"testing"
)

func rmsNormReference(x, w []float32, eps float32) []float64 {
	out, sum := make([]float64, len(x)), 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+float64(eps))
	for i, v := range x {
		out[i] = float64(v) * scale * float64(w[i])
	}
	return out
}

func TestRMSNorm(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range append(slices.Clone(sizes), 5120, 8192, 8195) {
			for _, size := range []float32{1e-3, 1, 1e25} {
				r := source()
				x, w := values(r, n), random(r, n)
				k.Scale(x, size)
				got := make([]float32, n+1)
				k.RMSNorm(got[:n], x, w, 1e-6)
				for i, want := range rmsNormReference(x, w, 1e-6) {
					if !closeTo(got[i], want, 3e-7*math.Abs(want)+1e-44) {
						t.Fatalf("n %d size %g: element %d = %g, want %g", n, size, i, got[i], want)
					}
				}
				if got[n] != 0 {
					t.Fatalf("n %d: wrote past the end", n)
				}
				k.RMSNorm(x, x, w, 1e-6)
				if !slices.Equal(x, got[:n]) {
					t.Fatalf("n %d: in place gives another result", n)
				}
			}
		}
	})
}

func TestRMSNormSpecial(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const n = 21
		w, got := slices.Repeat([]float32{1}, n), make([]float32, n)
		k.RMSNorm(got, make([]float32, n), w, 1e-6)
		if !slices.Equal(got, make([]float32, n)) {
			t.Errorf("zeros become %g", got)
		}
		for at := range n {
			x := random(source(), n)
			x[at] = float32(math.NaN())
			k.RMSNorm(got, x, w, 1e-6)
			for i, v := range got {
				if v == v {
					t.Fatalf("NaN at %d gave %g at %d", at, v, i)
				}
			}
		}
	})
}

// FuzzRMSNorm compares every tier with the generic code, on any values.
func FuzzRMSNorm(f *testing.F) {
	inf := float32(math.Inf(1))
	f.Add(encode(1, 2, -3, 4), float32(1e-5))
	f.Add(encode(0, 0, 1, 1), float32(0))
	f.Add(encode(inf, 1, 0, 3e38, 1e-45, 1, -1, float32(math.NaN())), float32(1e-6))
	f.Add(encode(random(source(), 2*37)...), float32(1e-6))
	f.Fuzz(func(t *testing.T, data []byte, eps float32) {
		n := len(data) / 8
		x := floats(data[:8*n])
		x, w := x[:n], x[n:]
		want, got := make([]float32, n), make([]float32, n)
		(&Kernels{}).RMSNorm(want, x, w, eps)
		for _, k := range Implementations()[1:] {
			k.RMSNorm(got, x, w, eps)
			for i, v := range want {
				// scale and x*scale may be subnormal, with only a few bits.
				slack := 1e-44 * (1 + math.Abs(float64(w[i]))*(1+math.Abs(float64(x[i]))))
				if near := math.Abs(float64(v)) > math.MaxFloat32*0.999999; near && !math.IsNaN(float64(got[i])) {
					continue // one tier may round to infinity
				}
				if !closeTo(got[i], float64(v), 3e-7*math.Abs(float64(v))+slack) {
					t.Fatalf("%s: element %d of %d: %g*%g gave %g, generic %g", k.Name(), i, n, x[i], w[i], got[i], v)
				}
			}
		}
	})
}
