package kernel

import (
	"math"
	"slices"
	"testing"
)

func TestGELUBackward(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes {
			r := source()
			x, dy := values(r, n), append(random(r, n), 42)
			got := slices.Clone(dy)
			k.GELUBackward(got[:n], x)
			for i, v := range x {
				const h = 1e-5
				slope := (geluReference(float64(v)+h) - geluReference(float64(v)-h)) / (2 * h)
				if want := float64(dy[i]) * slope; !closeTo(got[i], want, 2e-6*(1+math.Abs(want))) {
					t.Fatalf("n %d: gelu'(%g)*%g = %g, want %g", n, v, dy[i], got[i], want)
				}
			}
			if got[n] != 42 {
				t.Fatalf("n %d: wrote past the end", n)
			}
		}
	})
}

func TestSoftmaxBackward(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes[1:] {
			r := source()
			p, dp := random(r, n), random(r, n)
			k.softmax(p)
			got, inner := slices.Clone(dp), 0.0
			k.SoftmaxBackward(got, p, 0.3)
			for i := range p {
				inner += float64(p[i]) * float64(dp[i])
			}
			for i := range p {
				if want := float64(p[i]) * (float64(dp[i]) - inner) * 0.3; !closeTo(got[i], want, 1e-6) {
					t.Fatalf("n %d: element %d = %g, want %g", n, i, got[i], want)
				}
			}
		}
	})
}

func TestLayerNormBackward(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes[3:] {
			r := source()
			x, w, b, dy := random(r, n), random(r, n), random(r, n), random(r, n)
			loss := func() float64 {
				sum := 0.0
				for i, y := range layerNormReference(x, w, b, 1e-5) {
					sum += y * float64(dy[i])
				}
				return sum
			}
			dx, dw, db := make([]float32, n), make([]float32, n), make([]float32, n)
			mean, scale := k.Moments(x, 1e-5)
			k.LayerNormBackward(dx, dw, db, dy, x, w, mean, scale)
			for name, pair := range map[string][2][]float32{"x": {x, dx}, "weight": {w, dw}, "bias": {b, db}} {
				for i := range n {
					p, old := &pair[0][i], pair[0][i]
					*p = old + 1e-3
					up, hi := loss(), float64(*p)
					*p = old - 1e-3
					down, lo := loss(), float64(*p)
					*p = old
					if want := (up - down) / (hi - lo); !closeTo(pair[1][i], want, 1e-3*(1+math.Abs(want))) {
						t.Fatalf("n %d: d%s[%d] = %g, want %g", n, name, i, pair[1][i], want)
					}
				}
			}
		}
	})
}

func TestCrossEntropy(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes[1:] {
			x := values(source(), n)
			got := slices.Clone(x)
			loss := k.CrossEntropy(got, n/2, 0.25)
			top, sum := float64(slices.Max(x)), 0.0
			for _, v := range x {
				sum += math.Exp(float64(v) - top)
			}
			want := math.Log(sum) + top - float64(x[n/2])
			if math.Abs(loss-want) > 1e-6*(1+want) {
				t.Fatalf("n %d: loss %g, want %g", n, loss, want)
			}
			for i, v := range x {
				p := math.Exp(float64(v)-top) / sum
				if i == n/2 {
					p--
				}
				if !closeTo(got[i], p*0.25, 2e-7) {
					t.Fatalf("n %d: gradient %d = %g, want %g", n, i, got[i], p*0.25)
				}
			}
		}
	})
}

func TestAdamW(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, n := range sizes {
			r := source()
			p, m, v := append(random(r, n), 42), random(r, n), random(r, n)
			for i := range v {
				v[i] *= v[i]
			}
			for step := 1; step < 4; step++ {
				a := AdamW{Rate: 0.01, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 0.1, GradScale: 0.5, T: step}
				g := random(r, n)
				p0, m0, v0 := slices.Clone(p), slices.Clone(m), slices.Clone(v)
				k.AdamW(p[:n], m, v, g, &a)
				for i := range n {
					d := float64(g[i]) * 0.5
					mw := 0.9*float64(m0[i]) + 0.1*d
					vw := 0.95*float64(v0[i]) + 0.05*d*d
					update := mw / (1 - math.Pow(0.9, float64(step))) / (math.Sqrt(vw/(1-math.Pow(0.95, float64(step)))) + 1e-8)
					pw := float64(p0[i])*(1-0.001) - 0.01*update
					if !closeTo(m[i], mw, 1e-6) || !closeTo(v[i], vw, 1e-6) || !closeTo(p[i], pw, 2e-6*(1+math.Abs(pw))) {
						t.Fatalf("n %d step %d: element %d: %g %g %g, want %g %g %g", n, step, i, m[i], v[i], p[i], mw, vw, pw)
					}
				}
			}
			if p[n] != 42 {
				t.Fatalf("n %d: wrote past the end", n)
			}
		}
	})
}
