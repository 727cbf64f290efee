package kernel

import (
	"math"
	"slices"
	"testing"
)

// pairOf returns the indices of pair j of n.
func pairOf(j, n int, interleaved bool) (a, b int) {
	if interleaved {
		return 2 * j, 2*j + 1
	}
	return j, j + n
}

func TestRotate(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes {
			for _, interleaved := range []bool{false, true} {
				r := source()
				x, cos, sin := append(values(r, 2*n), 42, 43, 44), values(r, n), values(r, n)
				got := slices.Clone(x)
				k.Rotate(got, cos, sin, interleaved)
				for j := range n {
					a, b := pairOf(j, n, interleaved)
					va, vb, c, s := float64(x[a]), float64(x[b]), float64(cos[j]), float64(sin[j])
					if !closeTo(got[a], va*c-vb*s, 1.2e-7*(math.Abs(va*c)+math.Abs(vb*s))) || !closeTo(got[b], vb*c+va*s, 1.2e-7*(math.Abs(vb*c)+math.Abs(va*s))) {
						t.Fatalf("n %d interleaved %v: pair %d (%g, %g) by (%g, %g) = (%g, %g)", n, interleaved, j, va, vb, c, s, got[a], got[b])
					}
				}
				if !slices.Equal(got[2*n:], x[2*n:]) {
					t.Fatalf("n %d interleaved %v: wrote past the pairs: %g", n, interleaved, got[2*n:])
				}
			}
		}
	})
}

// TestRotateIdentity: the angle 0 changes no bit, and a NaN stays within its pair.
func TestRotateIdentity(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const n = 21
		for _, interleaved := range []bool{false, true} {
			x, cos, sin := random(source(), 2*n), slices.Repeat([]float32{1}, n), make([]float32, n)
			for j := range n {
				for side := range 2 {
					got := slices.Clone(x)
					a, b := pairOf(j, n, interleaved)
					got[[2]int{a, b}[side]] = float32(math.NaN())
					k.Rotate(got, cos, sin, interleaved)
					for i, v := range got {
						if bad := i == a || i == b; (v != v) != bad || !bad && v != x[i] {
							t.Fatalf("interleaved %v: NaN in (%d, %d) gave %g at %d", interleaved, a, b, v, i)
						}
					}
				}
			}
		}
	})
}

func TestRotateShort(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for name, f := range map[string]func(){
			"x":   func() { k.Rotate(make([]float32, 15), make([]float32, 8), make([]float32, 8), true) },
			"sin": func() { k.Rotate(make([]float32, 16), make([]float32, 8), make([]float32, 7), false) },
		} {
			if !panics(f) {
				t.Errorf("no panic when %s is short", name)
			}
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// FuzzRotate compares every tier with the generic code, on any values.
func FuzzRotate(f *testing.F) {
	inf := float32(math.Inf(1))
	f.Add(encode(1, 2, 3, 4, 0.6, 0.6, 0.8, 0.8), true)
	f.Add(encode(inf, -inf, 0, float32(math.NaN()), 3e38, 1e-40, 1, 0), false)
	f.Add(encode(-inf, 1, 3e38, 1e11, 1, 1, 1, 1), false)
	f.Add(encode(random(source(), 4*37)...), true)
	f.Fuzz(func(t *testing.T, data []byte, interleaved bool) {
		n := len(data) / 16
		x := floats(data[:16*n])
		x, cos, sin := x[:2*n], x[2*n:3*n], x[3*n:]
		want := slices.Clone(x)
		(&Kernels{}).Rotate(want, cos, sin, interleaved)
		for _, k := range Implementations()[1:] {
			got := slices.Clone(x)
			k.Rotate(got, cos, sin, interleaved)
			for j := range n {
				a, b := pairOf(j, n, interleaved)
				va, vb, c, s := float64(x[a]), float64(x[b]), float64(cos[j]), float64(sin[j])
				rotated(t, k, got[a], want[a], va*c, vb*s)
				rotated(t, k, got[b], want[b], vb*c, va*s)
			}
		}
	})
}

// rotated compares sums of two products. If a finite one is near the end of the range, a
// fused addition may stay inside it: then nothing is compared.
func rotated(t *testing.T, k *Kernels, got, want float32, p, q float64) {
	t.Helper()
	for _, v := range []float64{p, q} {
		if math.Abs(v) > math.MaxFloat32/2 && !math.IsInf(v, 0) {
			return
		}
	}
	if !closeTo(got, float64(want), 2.4e-7*(math.Abs(p)+math.Abs(q))+1e-44) {
		t.Fatalf("%s: sum of %g and %g is %g, generic %g", k.Name(), p, q, got, want)
	}
}
