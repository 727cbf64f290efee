//go:build arm64 && !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// supported returns the instruction sets of this build and CPU, slowest first: every
// arm64 has the vector instructions.
func supported() []isa {
	list := []isa{isaGeneric, isaNEON}
	if cpu.ARM64.HasASIMDDP {
		list = append(list, isaDotprod)
		if cpu.ARM64.HasI8MM {
			list = append(list, isaI8MM)
		}
	}
	return list
}

// The functions below select the generic code or NEON. The caller has checked the
// lengths; they are not zero where the routine requires it.

func sd(s []float32) *float32 { return unsafe.SliceData(s) }

func add(i isa, dst, x []float32) {
	if i != isaGeneric {
		addNEON(sd(dst), sd(x), len(dst))
	} else {
		addGeneric(dst, x)
	}
}

func mul(i isa, dst, x []float32) {
	if i != isaGeneric {
		mulNEON(sd(dst), sd(x), len(dst))
	} else {
		mulGeneric(dst, x)
	}
}

func axpy(i isa, dst, x []float32, a float32) {
	if i != isaGeneric {
		axpyNEON(sd(dst), sd(x), len(dst), a)
	} else {
		axpyGeneric(dst, x, a)
	}
}

func mulAdd(i isa, dst, x, y []float32) {
	if i != isaGeneric {
		mulAddNEON(sd(dst), sd(x), sd(y), len(dst))
	} else {
		mulAddGeneric(dst, x, y)
	}
}

func scan(i isa, h, b, c, x, y []float32, decay float32) {
	n := len(b)
	for k, v := range x {
		row := h[k*n : (k+1)*n]
		scale(i, row, decay)
		axpy(i, row, b, v)
		y[k] = dot(i, row, c)
	}
}

func scale(i isa, x []float32, a float32) {
	if i != isaGeneric {
		scaleNEON(sd(x), len(x), a)
	} else {
		scaleGeneric(x, a)
	}
}

func relu(i isa, x []float32) {
	if i != isaGeneric {
		reluNEON(sd(x), len(x))
	} else {
		reluGeneric(x)
	}
}

func clamp(i isa, x []float32, limit float32) {
	if i != isaGeneric {
		clampNEON(sd(x), len(x), limit)
	} else {
		clampGeneric(x, limit)
	}
}

func tanhCap(i isa, x []float32, limit float32) {
	if i != isaGeneric {
		tanhCapNEON(sd(x), len(x), limit)
	} else {
		tanhCapGeneric(x, limit)
	}
}

func silu(i isa, x []float32) {
	if i != isaGeneric {
		siluNEON(sd(x), len(x))
	} else {
		siluGeneric(x)
	}
}

func gelu(i isa, x []float32) {
	if i != isaGeneric {
		geluNEON(sd(x), len(x))
	} else {
		geluGeneric(x)
	}
}

func geluErf(i isa, x []float32) {
	if i != isaGeneric {
		geluErfNEON(sd(x), len(x))
	} else {
		geluErfGeneric(x)
	}
}

func rotateHalves(i isa, a, b, cos, sin []float32) {
	if i != isaGeneric {
		rotateHalvesNEON(sd(a), sd(b), sd(cos), sd(sin), len(cos))
	} else {
		rotateHalvesGeneric(a, b, cos, sin)
	}
}

func rotatePairs(i isa, x, cos, sin []float32) {
	if i != isaGeneric {
		rotatePairsNEON(sd(x), sd(cos), sd(sin), len(cos))
	} else {
		rotatePairsGeneric(x, cos, sin)
	}
}

func geluBackward(i isa, dy, x []float32) {
	if i != isaGeneric {
		geluBackwardNEON(sd(dy), sd(x), len(x))
	} else {
		geluBackwardGeneric(dy, x)
	}
}

func softmaxBackward(i isa, dp, p []float32, inner, scale float32) {
	if i != isaGeneric {
		softmaxBackwardNEON(sd(dp), sd(p), len(p), inner, scale)
	} else {
		softmaxBackwardGeneric(dp, p, inner, scale)
	}
}

func normalize(i isa, dst, x, weight, bias []float32, mean, scale float32) {
	if i != isaGeneric {
		normalizeNEON(sd(dst), sd(x), sd(weight), sd(bias), len(x), mean, scale)
	} else {
		normalizeGeneric(dst, x, weight, bias, mean, scale)
	}
}

func normBackward(i isa, dx, dy, x, weight []float32, mean, scale, a, b float32) {
	if i != isaGeneric {
		normBackwardNEON(sd(dx), sd(dy), sd(x), sd(weight), len(x), mean, scale, a, b)
	} else {
		normBackwardGeneric(dx, dy, x, weight, mean, scale, a, b)
	}
}

// score computes products of queries and keys: see scoreGeneric.
func score(i isa, f KVFormat, dst, q, keys []float32, dim, panels, rows, _ int) {
	switch {
	case i == isaGeneric:
		scoreGeneric(f, dst, q, keys, dim, panels, rows)
	case f == KVQ8:
		scoreQ8NEON(sd(dst), sd(q), sd(keys), dim, panels, rows)
	case f == KVBF16:
		scoreBF16NEON(sd(dst), sd(q), sd(keys), dim, panels, rows)
	default:
		scoreNEON(sd(dst), sd(q), sd(keys), dim, panels, rows)
	}
}

// soften turns scores into exponentials: see softenGeneric.
func soften(i isa, scores []float32, counts []int, top, total, factors []float32) {
	if i != isaGeneric {
		softenNEON(sd(scores), unsafe.SliceData(counts), sd(top), sd(total), sd(factors), len(counts))
	} else {
		softenGeneric(scores, counts, top, total, factors)
	}
}

// weigh: see weighGeneric. The routine takes pointers to the last row, and nil factors if
// fresh.
func weigh(i isa, format KVFormat, sums, p, values, factors []float32, counts []int, stride, _ int, fresh bool) {
	if i == isaGeneric {
		weighGeneric(format, sums, p, values, factors, counts, stride, fresh)
		return
	}
	last := len(counts) - 1
	var f *float32
	if !fresh {
		f = &factors[last]
	}
	switch format {
	case KVQ8:
		weighQ8NEON(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], len(counts), stride)
	case KVBF16:
		weighBF16NEON(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], len(counts), stride)
	default:
		weighNEON(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], len(counts), stride)
	}
}

// narrowAll rounds a multiple of 16 numbers to bfloat16: see narrowGeneric.
func narrowAll(i isa, dst []uint16, x []float32) {
	if i == isaGeneric {
		narrowGeneric(dst, x)
	} else {
		narrowNEON(unsafe.SliceData(dst), sd(x), len(x))
	}
}

// shrinkAll rounds a multiple of 16 numbers, at least one, to bytes: see shrinkGeneric.
func shrinkAll(i isa, dst []int8, x []float32) (scale float32) {
	if i == isaGeneric {
		return shrinkGeneric(dst, x, 1)
	}
	shrinkNEON(unsafe.SliceData(dst), sd(x), len(x), &scale)
	return scale
}

func dot(i isa, a, b []float32) float32 {
	if i != isaGeneric {
		return dotNEON(sd(a), sd(b), len(a))
	}
	return dotGeneric(a, b)
}

func maxOf(i isa, x []float32) float32 {
	if i != isaGeneric {
		return maxOfNEON(sd(x), len(x))
	}
	return maxOfGeneric(x)
}

func expSum(i isa, x []float32, top float32) float32 {
	if i != isaGeneric {
		return expSumNEON(sd(x), len(x), top)
	}
	return expSumGeneric(x, top)
}

func moments(i isa, x []float32, eps float32) (mean, scale float32) {
	if i != isaGeneric {
		return momentsNEON(sd(x), len(x), eps)
	}
	return momentsGeneric(x, eps)
}

func rootMeanSquare(i isa, x []float32, eps float32) float32 {
	if i != isaGeneric {
		return rootMeanSquareNEON(sd(x), len(x), eps)
	}
	return rootMeanSquareGeneric(x, eps)
}

func normSums(i isa, dweight, dbias, dy, x, weight []float32, mean, scale float32) (a, b float32) {
	if i != isaGeneric {
		return normSumsNEON(sd(dweight), sd(dbias), sd(dy), sd(x), sd(weight), len(x), mean, scale)
	}
	return normSumsGeneric(dweight, dbias, dy, x, weight, mean, scale)
}

func adam(i isa, p, m, v, g []float32, a *AdamW) {
	if i != isaGeneric {
		adamNEON(sd(p), sd(m), sd(v), sd(g), len(p), a.GradScale, a.Beta1, a.Beta2, a.step(), a.Eps, a.root(), a.decay())
	} else {
		adamGeneric(p, m, v, g, a)
	}
}

// gemmTile computes one tile. It leaves bringing weights to the processor.
func gemmTile(i isa, t *floatTile) {
	acc := 0
	if t.accumulate {
		acc = 1
	}
	if i != isaGeneric {
		gemmNEON(sd(t.c), t.ldc, sd(t.a), sd(t.w), t.depth, t.rows, acc)
	} else {
		gemmTileGeneric(t)
	}
}

// gemv computes dst (panels, 32) = x · w (panels, k, 32).
func gemv(i isa, dst, x, w []float32, k, panels int) {
	if i != isaGeneric {
		gemvNEON(sd(dst), sd(x), sd(w), k, panels)
	} else {
		gemvGeneric(dst, x, w, k, panels)
	}
}

// lanes returns the block size of transpose: assembly handles multiples of it.
func lanes(i isa) int { return [...]int{isaGeneric: 1, isaNEON: 16, isaDotprod: 16, isaI8MM: 16}[i] }

// transpose writes dst (blocks*lanes, lanes) with stride ldd from rows rows of x with
// stride ldx.
func transpose(i isa, dst []float32, ldd int, x []float32, ldx, blocks, rows int) {
	if i != isaGeneric {
		transposeNEON(sd(dst), ldd, sd(x), ldx, blocks, rows)
	}
}

// copyBlock writes n rows of width floats.
func copyBlock(i isa, dst []float32, ldd int, x []float32, ldx, n, width int) {
	if i != isaGeneric {
		copyBlockNEON(sd(dst), ldd, sd(x), ldx, n, width)
	}
}
