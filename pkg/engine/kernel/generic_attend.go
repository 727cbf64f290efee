package kernel

import (
	"math"

	"glossa/pkg/engine/dtype"
)

// scoreGeneric: dst[r][t] = q[r]·key t, over whole panels of keys. dst (rows,
// attendBlock), q (rows, dim), keys (panels, dim, 16) in a format. With KVQ8 the sums are those of
// bytes, and a key's scale multiplies them.
func scoreGeneric(f KVFormat, dst, q, keys []float32, dim, panels, rows int) {
	var wide [keyPanel]float32
	for p := range panels {
		for r := range rows {
			var sum [keyPanel]float32
			for j, v := range q[r*dim : (r+1)*dim] {
				column := (*[keyPanel]float32)(f.row(wide[:], keys[p*f.panel(dim):], j*keyPanel))
				for i := range sum {
					sum[i] += float32(v * column[i])
				}
			}
			if f == KVQ8 {
				mulGeneric(sum[:], keys[p*f.panel(dim)+f.words(keyPanel*dim):][:keyPanel])
			}
			copy(dst[r*attendBlock+p*keyPanel:], sum[:])
		}
	}
}

// row returns len(wide) numbers of x, beginning with number at, which may be in wide.
func (f KVFormat) row(wide, x []float32, at int) []float32 {
	switch f {
	case KVF32:
		return x[at : at+len(wide)]
	case KVBF16:
		for i, b := range narrowed(x)[at : at+len(wide)] {
			wide[i] = dtype.FromBFloat16(b)
		}
	case KVQ8:
		for i, b := range bytesOf(x)[at : at+len(wide)] {
			wide[i] = float32(b)
		}
	}
	return wide
}

// narrowGeneric rounds numbers to bfloat16.
func narrowGeneric(dst []uint16, x []float32) {
	for i, v := range x {
		dst[i] = dtype.ToBFloat16(v)
	}
}

// expSmall bounds exponentials: those below exp(expSmall), 2e-38, are treated as zero.
// This avoids denormal numbers, with which processors are slow.
const expSmall = -87

// softExp returns e**x of x <= 0, or zero.
func softExp(x float32) float32 {
	if x < expSmall {
		return 0
	}
	return exp(x)
}

// softenGeneric: in each row, the first counts[r] scores become softExp(score-top), where
// top increases to the largest; total[r] = total[r]*factors[r] + Σ softExp(score-top),
// factors[r] = softExp(top before - top). While all scores are -Inf, their exponentials
// are 0. The values after the scores of a row are overwritten. scores (rows,
// attendBlock).
func softenGeneric(scores []float32, counts []int, top, total, factors []float32) {
	for r, n := range counts {
		x := scores[r*attendBlock:][:n]
		before := top[r]
		top[r] = max(before, maxOfGeneric(x))
		shift := max(top[r], -math.MaxFloat32)
		factors[r] = softExp(before - shift)
		var sum float64
		for i, v := range x {
			x[i] = softExp(v - shift)
			sum += float64(x[i])
		}
		total[r] = float32(total[r]*factors[r]) + float32(sum)
	}
}

// weighGeneric: sums[r] = sums[r]*factors[r] + Σ p[r][i]*values[i] over i < counts[r], in
// the order of i; if fresh, sums begin with zero. sums (rows, stride), p (rows,
// attendBlock), values (most counts, stride) in a format, stride a multiple of 16. Counts do
// not decrease.
func weighGeneric(f KVFormat, sums, p, values, factors []float32, counts []int, stride int, fresh bool) {
	var wide [valueAlign]float32
	for r, n := range counts {
		sum := sums[r*stride : (r+1)*stride]
		if fresh {
			clear(sum)
		} else {
			scaleGeneric(sum, factors[r])
		}
		for i, v := range p[r*attendBlock:][:n] {
			for at := 0; at < stride; at += valueAlign {
				axpyGeneric(sum[at:at+valueAlign], f.row(wide[:], values, i*stride+at), v)
			}
		}
	}
}
