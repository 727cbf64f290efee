package kernel

import (
	"math"
	"slices"
	"testing"
)

// dotsOf returns the implementation that attends to bfloat16 with products of pairs, or skips the test.
func dotsOf(t *testing.T) *Kernels {
	for _, k := range Implementations() {
		if k.dots {
			return k
		}
	}
	t.Skip("no implementation has products of bfloat16")
	return nil
}

// paired returns numbers rounded to bfloat16, and as pairUp leaves them, in as many words.
func paired(x []float32) (rounded, pairs []float32) {
	rounded = KVBF16.rounded(x, len(x), len(x))
	pairs = append(slices.Clone(x), make([]float32, -len(x)&(keyPanel-1))...)
	pairUp(pairs)
	return rounded, pairs[:len(x)]
}

// plusPair is the specification of VDPBF16PS.
func plusPair(sum, a0, b0, a1, b1 float32) float32 { return fma32(a0, b0, fma32(a1, b1, sum)) }

// TestScoreDots: a score is the sum of two chains of pairs of dimensions, to the bit.
func TestScoreDots(t *testing.T) {
	k, r := dotsOf(t), source()
	for _, dim := range []int{16, 32, 80, 128, 256} {
		for rows := 1; rows <= 13; rows++ {
			for panels := 1; panels <= 4; panels++ {
				keys := random(r, panels*keyPanel*dim)
				kv := newKV(k, KVBF16, keys, keys, panels*keyPanel, dim)
				keys = KVBF16.rounded(keys, dim, dim)
				var queries, q []float32
				for range rows {
					rounded, pairs := paired(random(r, dim))
					queries, q = append(queries, rounded...), append(q, pairs...)
				}
				dst := make([]float32, rows*attendBlock)
				scoreDots(dst, q, kv.panels(0, panels), dim, panels, rows, nearKeys)
				for i := range rows * panels * keyPanel {
					row, token := i/(panels*keyPanel), i%(panels*keyPanel)
					a, b, sum := queries[row*dim:], keys[token*dim:], [chains]float32{}
					for j := 0; j < dim; j += 2 {
						c := &sum[j/2%chains]
						*c = plusPair(*c, a[j], b[j], a[j+1], b[j+1])
					}
					if got := dst[row*attendBlock+token]; got != sum[0]+sum[1] {
						t.Fatalf("dim %d, %d rows, %d panels: row %d, token %d is %g, want %g", dim, rows, panels, row, token, got, sum[0]+sum[1])
					}
				}
			}
		}
	}
}

const chains = 2 // as in gen

// TestWeighDots: values are added in pairs of tokens, to the bit, and the last of an odd number alone:
// the next value may be anything.
func TestWeighDots(t *testing.T) {
	k, r := dotsOf(t), source()
	for _, counts := range [][]int{{1}, {2}, {7}, {1, 2}, {3, 3}, {4, 5}, {5, 5, 6}, {1, 2, 3, 4, 5, 6}, {2, 2, 9, 9, 9, 30}, {127, 128}} {
		for _, dim := range []int{16, 48, 64, 80, 128, 144} {
			for _, fresh := range []bool{false, true} {
				most := counts[len(counts)-1]
				all := random(r, (most+1)*dim)
				for i := range dim {
					all[most*dim+i] = float32(math.NaN())
				}
				kv := newKV(k, KVBF16, all, all, most+1, dim)
				values := KVBF16.rounded(all, dim, dim)
				sums, factors := random(r, len(counts)*dim), random(r, len(counts))
				var p, want []float32
				for i, n := range counts {
					weights, pairs := paired(append(random(r, n), 0))
					p = append(p, append(pairs, make([]float32, attendBlock-len(pairs)+keyPanel)...)[:attendBlock]...)
					for d := range dim {
						sum := sums[i*dim+d] * factors[i]
						if fresh {
							sum = 0
						}
						for j := 0; j < n; j += 2 {
							second := float32(0)
							if j+1 < n {
								second = values[(j+1)*dim+d]
							}
							sum = plusPair(sum, weights[j], values[j*dim+d], weights[j+1], second)
						}
						want = append(want, sum)
					}
				}
				weighDots(sums, narrowed(p), kv.Values, factors, counts, dim, nearKeys, fresh)
				if !slices.Equal(sums, want) {
					t.Fatalf("counts %v, dim %d, fresh %v: %g, want %g", counts, dim, fresh, sums, want)
				}
			}
		}
	}
}

// TestSoftenDots: exponentials are those of float32, rounded to bfloat16, with an error of 1e-5 before, and
// sums have that of float32's. A row does not depend on the others.
func TestSoftenDots(t *testing.T) {
	dotsOf(t)
	r := source()
	for range 200 {
		rows := 1 + r.IntN(attendTile)
		scores, counts := make([]float32, rows*attendBlock+keyPanel), make([]int, rows)
		top, total, factors := random(r, rows), random(r, rows), make([]float32, rows)
		for i := range counts {
			if counts[i] = attendBlock; i < rows/2 {
				counts[i] = 1 + i*attendBlock/rows
			}
			total[i] = max(total[i], -total[i])
			copy(scores[i*attendBlock:], random(r, counts[i]))
			scale(isaGeneric, scores[i*attendBlock:][:counts[i]], float32(math.Exp(5*r.Float64())))
		}
		want, wantTop, wantTotal, wantFactors := slices.Clone(scores), slices.Clone(top), slices.Clone(total), slices.Clone(factors)
		alone, aloneTop, aloneTotal, aloneFactors := slices.Clone(scores), slices.Clone(top), slices.Clone(total), slices.Clone(factors)
		softenDots(scores, counts, top, total, factors)
		softenGeneric(want, counts, wantTop, wantTotal, wantFactors)
		for i, n := range counts {
			if top[i] != wantTop[i] || !closeTo(total[i], float64(wantTotal[i]), 1e-5*float64(wantTotal[i])) || !closeTo(factors[i], float64(wantFactors[i]), 1e-5) {
				t.Fatalf("row %d of %v: %g, %g, %g; want %g, %g, %g", i, counts, top[i], total[i], factors[i], wantTop[i], wantTotal[i], wantFactors[i])
			}
			got := narrowed(scores[i*attendBlock:])[:n]
			for j, bits := range got {
				if e := float64(want[i*attendBlock+j]); !closeTo(math.Float32frombits(uint32(bits)<<16), e, e/256+1e-5*e+2e-38) {
					t.Fatalf("row %d, token %d is %g, want %g", i, j, math.Float32frombits(uint32(bits)<<16), e)
				}
			}
			softenDots(alone[i*attendBlock:], counts[i:i+1], aloneTop[i:], aloneTotal[i:], aloneFactors[i:])
			if !slices.Equal(got, narrowed(alone[i*attendBlock:])[:n]) || aloneTotal[i] != total[i] || aloneFactors[i] != factors[i] {
				t.Fatalf("row %d of %v is another one alone", i, counts)
			}
		}
	}
}

// TestSoftenDotsExtremes: no score is as if there were none, and what is not a number stays so.
func TestSoftenDotsExtremes(t *testing.T) {
	dotsOf(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name         string
		fill, one    float32
		total        float64 // of exponentials
		first, other float64
	}{
		{"equal", 3, 3, attendBlock, 1, 1},
		{"one of them", -inf, 2, 1, 1, 0},
		{"one far above", -1e30, 1e30, 1, 1, 0},
		{"none", -inf, -inf, 0, 0, 0},
		{"infinite", 1, inf, math.NaN(), math.NaN(), 0},
		{"not a number", 1, nan, math.NaN(), math.NaN(), 1},
	} {
		scores := slices.Repeat([]float32{c.fill}, attendBlock)
		scores[0] = c.one
		top, total, factors := []float32{-inf}, []float32{0}, []float32{0}
		softenDots(scores, []int{attendBlock}, top, total, factors)
		value := func(i int) float32 { return math.Float32frombits(uint32(narrowed(scores)[i]) << 16) }
		if !closeTo(total[0], c.total, 1e-3) || !closeTo(value(0), c.first, 0) || !closeTo(value(1), c.other, 0) {
			t.Errorf("%s: total %g, exponentials %g and %g; want %g, %g, %g", c.name, total[0], value(0), value(1), c.total, c.first, c.other)
		}
	}
}

// TestAttendDots: rounding queries and exponentials to bfloat16 changes results as little as it does
// keys and values, and a row does not depend, to the bit, on what is computed with it.
func TestAttendDots(t *testing.T) {
	k, n := dotsOf(t), 0
	for _, c := range append(storedCases(), windowCases(source(), 64)...) {
		if c.format = KVBF16; !k.usesDots(KV{Dim: c.dim, Format: c.format}) {
			continue
		}
		n++
		before := slices.Clone(c.q.Out)
		c.run(k)
		c.checkAlone(t, k)
		c.keys, c.values = KVBF16.rounded(c.keys, c.dim, c.dim), KVBF16.rounded(c.values, c.dim, c.dim)
		c.check(t, before, 8e-3)
	}
	if n < 100 {
		t.Errorf("%d cases", n)
	}
}
