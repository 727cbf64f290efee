//go:build amd64 && !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// supported returns the instruction sets of this build and CPU, slowest first.
func supported() []isa {
	list := []isa{isaGeneric}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C {
		list = append(list, isaAVX2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI {
			list = append(list, isaAVX512)
		}
	}
	return list
}

// hasVNNI reports whether AVX2 can have AVX-VNNI's products.
func hasVNNI() bool { return cpu.X86.HasAVXVNNI }

// The functions below select the routine of an instruction set. The caller has checked
// the lengths; they are not zero where the routine requires it.

func sd(s []float32) *float32 { return unsafe.SliceData(s) }

func add(i isa, dst, x []float32) {
	switch i {
	case isaAVX512:
		addAVX512(sd(dst), sd(x), len(dst))
	case isaAVX2:
		addAVX2(sd(dst), sd(x), len(dst))
	default:
		addGeneric(dst, x)
	}
}

func mul(i isa, dst, x []float32) {
	switch i {
	case isaAVX512:
		mulAVX512(sd(dst), sd(x), len(dst))
	case isaAVX2:
		mulAVX2(sd(dst), sd(x), len(dst))
	default:
		mulGeneric(dst, x)
	}
}

func axpy(i isa, dst, x []float32, a float32) {
	switch i {
	case isaAVX512:
		axpyAVX512(sd(dst), sd(x), len(dst), a)
	case isaAVX2:
		axpyAVX2(sd(dst), sd(x), len(dst), a)
	default:
		axpyGeneric(dst, x, a)
	}
}

func mulAdd(i isa, dst, x, y []float32) {
	switch i {
	case isaAVX512:
		mulAddAVX512(sd(dst), sd(x), sd(y), len(dst))
	case isaAVX2:
		mulAddAVX2(sd(dst), sd(x), sd(y), len(dst))
	default:
		mulAddGeneric(dst, x, y)
	}
}

func scan(i isa, h, b, c, x, y []float32, decay float32) {
	switch i {
	case isaAVX512:
		scanAVX512(sd(h), sd(b), sd(c), sd(x), sd(y), len(x), len(b), decay)
	case isaAVX2:
		scanAVX2(sd(h), sd(b), sd(c), sd(x), sd(y), len(x), len(b), decay)
	default:
		scanGeneric(h, b, c, x, y, decay)
	}
}

func scale(i isa, x []float32, a float32) {
	switch i {
	case isaAVX512:
		scaleAVX512(sd(x), len(x), a)
	case isaAVX2:
		scaleAVX2(sd(x), len(x), a)
	default:
		scaleGeneric(x, a)
	}
}

func relu(i isa, x []float32) {
	switch i {
	case isaAVX512:
		reluAVX512(sd(x), len(x))
	case isaAVX2:
		reluAVX2(sd(x), len(x))
	default:
		reluGeneric(x)
	}
}

func clamp(i isa, x []float32, limit float32) {
	switch i {
	case isaAVX512:
		clampAVX512(sd(x), len(x), limit)
	case isaAVX2:
		clampAVX2(sd(x), len(x), limit)
	default:
		clampGeneric(x, limit)
	}
}

func tanhCap(i isa, x []float32, limit float32) {
	switch i {
	case isaAVX512:
		tanhCapAVX512(sd(x), len(x), limit)
	case isaAVX2:
		tanhCapAVX2(sd(x), len(x), limit)
	default:
		tanhCapGeneric(x, limit)
	}
}

func silu(i isa, x []float32) {
	switch i {
	case isaAVX512:
		siluAVX512(sd(x), len(x))
	case isaAVX2:
		siluAVX2(sd(x), len(x))
	default:
		siluGeneric(x)
	}
}

func gelu(i isa, x []float32) {
	switch i {
	case isaAVX512:
		geluAVX512(sd(x), len(x))
	case isaAVX2:
		geluAVX2(sd(x), len(x))
	default:
		geluGeneric(x)
	}
}

func geluErf(i isa, x []float32) {
	switch i {
	case isaAVX512:
		geluErfAVX512(sd(x), len(x))
	case isaAVX2:
		geluErfAVX2(sd(x), len(x))
	default:
		geluErfGeneric(x)
	}
}

func rotateHalves(i isa, a, b, cos, sin []float32) {
	switch i {
	case isaAVX512:
		rotateHalvesAVX512(sd(a), sd(b), sd(cos), sd(sin), len(cos))
	case isaAVX2:
		rotateHalvesAVX2(sd(a), sd(b), sd(cos), sd(sin), len(cos))
	default:
		rotateHalvesGeneric(a, b, cos, sin)
	}
}

func rotatePairs(i isa, x, cos, sin []float32) {
	switch i {
	case isaAVX512:
		rotatePairsAVX512(sd(x), sd(cos), sd(sin), len(cos))
	case isaAVX2:
		rotatePairsAVX2(sd(x), sd(cos), sd(sin), len(cos))
	default:
		rotatePairsGeneric(x, cos, sin)
	}
}

func geluBackward(i isa, dy, x []float32) {
	switch i {
	case isaAVX512:
		geluBackwardAVX512(sd(dy), sd(x), len(x))
	case isaAVX2:
		geluBackwardAVX2(sd(dy), sd(x), len(x))
	default:
		geluBackwardGeneric(dy, x)
	}
}

func softmaxBackward(i isa, dp, p []float32, inner, scale float32) {
	switch i {
	case isaAVX512:
		softmaxBackwardAVX512(sd(dp), sd(p), len(p), inner, scale)
	case isaAVX2:
		softmaxBackwardAVX2(sd(dp), sd(p), len(p), inner, scale)
	default:
		softmaxBackwardGeneric(dp, p, inner, scale)
	}
}

func normalize(i isa, dst, x, weight, bias []float32, mean, scale float32) {
	switch i {
	case isaAVX512:
		normalizeAVX512(sd(dst), sd(x), sd(weight), sd(bias), len(x), mean, scale)
	case isaAVX2:
		normalizeAVX2(sd(dst), sd(x), sd(weight), sd(bias), len(x), mean, scale)
	default:
		normalizeGeneric(dst, x, weight, bias, mean, scale)
	}
}

func normBackward(i isa, dx, dy, x, weight []float32, mean, scale, a, b float32) {
	switch i {
	case isaAVX512:
		normBackwardAVX512(sd(dx), sd(dy), sd(x), sd(weight), len(x), mean, scale, a, b)
	case isaAVX2:
		normBackwardAVX2(sd(dx), sd(dy), sd(x), sd(weight), len(x), mean, scale, a, b)
	default:
		normBackwardGeneric(dx, dy, x, weight, mean, scale, a, b)
	}
}

// score computes products of queries and keys: see scoreGeneric.
func score(i isa, f KVFormat, dst, q, keys []float32, dim, panels, rows, ahead int) {
	switch {
	case i == isaGeneric:
		scoreGeneric(f, dst, q, keys, dim, panels, rows)
	case i == isaAVX512 && f == KVQ8:
		scoreQ8AVX512(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
	case i == isaAVX512 && f == KVBF16:
		scoreBF16AVX512(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
	case i == isaAVX512:
		scoreAVX512(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
	case f == KVQ8:
		scoreQ8AVX2(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
	case f == KVBF16:
		scoreBF16AVX2(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
	default:
		scoreAVX2(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
	}
}

// soften turns scores into exponentials: see softenGeneric.
func soften(i isa, scores []float32, counts []int, top, total, factors []float32) {
	switch i {
	case isaAVX512:
		softenAVX512(sd(scores), unsafe.SliceData(counts), sd(top), sd(total), sd(factors), len(counts))
	case isaAVX2:
		softenAVX2(sd(scores), unsafe.SliceData(counts), sd(top), sd(total), sd(factors), len(counts))
	default:
		softenGeneric(scores, counts, top, total, factors)
	}
}

// weigh: see weighGeneric. The routines take pointers to the last row, and nil factors if
// fresh.
func weigh(i isa, format KVFormat, sums, p, values, factors []float32, counts []int, stride, ahead int, fresh bool) {
	rows := len(counts)
	last := rows - 1
	var f *float32
	if !fresh {
		f = &factors[last]
	}
	switch {
	case i == isaGeneric:
		weighGeneric(format, sums, p, values, factors, counts, stride, fresh)
	case i == isaAVX512 && format == KVQ8:
		weighQ8AVX512(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], rows, stride, ahead)
	case i == isaAVX512 && format == KVBF16:
		weighBF16AVX512(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], rows, stride, ahead)
	case i == isaAVX512:
		weighAVX512(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], rows, stride, ahead)
	case format == KVQ8:
		weighQ8AVX2(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], rows, stride, ahead)
	case format == KVBF16:
		weighBF16AVX2(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], rows, stride, ahead)
	default:
		weighAVX2(&sums[last*stride], &p[last*attendBlock], sd(values), f, &counts[last], rows, stride, ahead)
	}
}

// narrowAll rounds a multiple of 16 numbers to bfloat16: see narrowGeneric.
func narrowAll(i isa, dst []uint16, x []float32) {
	if i == isaGeneric {
		narrowGeneric(dst, x)
	} else {
		narrowAVX2(unsafe.SliceData(dst), sd(x), len(x))
	}
}

// shrinkAll rounds a multiple of 16 numbers, at least one, to bytes: see shrinkGeneric.
func shrinkAll(i isa, dst []int8, x []float32) (scale float32) {
	if i == isaGeneric {
		return shrinkGeneric(dst, x, 1)
	}
	shrinkAVX2(unsafe.SliceData(dst), sd(x), len(x), &scale)
	return scale
}

func dot(i isa, a, b []float32) float32 {
	switch i {
	case isaAVX512:
		return dotAVX512(sd(a), sd(b), len(a))
	case isaAVX2:
		return dotAVX2(sd(a), sd(b), len(a))
	}
	return dotGeneric(a, b)
}

func maxOf(i isa, x []float32) float32 {
	switch i {
	case isaAVX512:
		return maxOfAVX512(sd(x), len(x))
	case isaAVX2:
		return maxOfAVX2(sd(x), len(x))
	}
	return maxOfGeneric(x)
}

func expSum(i isa, x []float32, top float32) float32 {
	switch i {
	case isaAVX512:
		return expSumAVX512(sd(x), len(x), top)
	case isaAVX2:
		return expSumAVX2(sd(x), len(x), top)
	}
	return expSumGeneric(x, top)
}

func moments(i isa, x []float32, eps float32) (mean, scale float32) {
	switch i {
	case isaAVX512:
		return momentsAVX512(sd(x), len(x), eps)
	case isaAVX2:
		return momentsAVX2(sd(x), len(x), eps)
	}
	return momentsGeneric(x, eps)
}

func rootMeanSquare(i isa, x []float32, eps float32) float32 {
	switch i {
	case isaAVX512:
		return rootMeanSquareAVX512(sd(x), len(x), eps)
	case isaAVX2:
		return rootMeanSquareAVX2(sd(x), len(x), eps)
	}
	return rootMeanSquareGeneric(x, eps)
}

func normSums(i isa, dweight, dbias, dy, x, weight []float32, mean, scale float32) (a, b float32) {
	switch i {
	case isaAVX512:
		return normSumsAVX512(sd(dweight), sd(dbias), sd(dy), sd(x), sd(weight), len(x), mean, scale)
	case isaAVX2:
		return normSumsAVX2(sd(dweight), sd(dbias), sd(dy), sd(x), sd(weight), len(x), mean, scale)
	}
	return normSumsGeneric(dweight, dbias, dy, x, weight, mean, scale)
}

func adam(i isa, p, m, v, g []float32, a *AdamW) {
	switch i {
	case isaAVX512:
		adamAVX512(sd(p), sd(m), sd(v), sd(g), len(p), a.GradScale, a.Beta1, a.Beta2, a.step(), a.Eps, a.root(), a.decay())
	case isaAVX2:
		adamAVX2(sd(p), sd(m), sd(v), sd(g), len(p), a.GradScale, a.Beta1, a.Beta2, a.step(), a.Eps, a.root(), a.decay())
	default:
		adamGeneric(p, m, v, g, a)
	}
}

// gemmTile computes one tile.
func gemmTile(i isa, t *floatTile) {
	acc := 0
	if t.accumulate {
		acc = 1
	}
	switch i {
	case isaAVX512:
		gemmAVX512(sd(t.c), t.ldc, sd(t.a), sd(t.w), t.depth, t.rows, acc, t.ahead, t.step)
	case isaAVX2:
		gemmAVX2(sd(t.c), t.ldc, sd(t.a), sd(t.w), t.depth, t.rows, acc, t.ahead, t.step)
	default:
		gemmTileGeneric(t)
	}
}

// gemv computes dst (panels, 32) = x · w (panels, k, 32).
func gemv(i isa, dst, x, w []float32, k, panels int) {
	switch i {
	case isaAVX512:
		gemvAVX512(sd(dst), sd(x), sd(w), k, panels)
	case isaAVX2:
		gemvAVX2(sd(dst), sd(x), sd(w), k, panels)
	default:
		gemvGeneric(dst, x, w, k, panels)
	}
}

// lanes returns the block size of transpose: assembly handles multiples of it.
func lanes(i isa) int { return [...]int{isaGeneric: 1, isaAVX2: 8, isaAVX512: 16}[i] }

// transpose writes dst (blocks*lanes, lanes) with stride ldd from rows rows of x with
// stride ldx.
func transpose(i isa, dst []float32, ldd int, x []float32, ldx, blocks, rows int) {
	switch i {
	case isaAVX512:
		transposeAVX512(sd(dst), ldd, sd(x), ldx, blocks, rows)
	case isaAVX2:
		transposeAVX2(sd(dst), ldd, sd(x), ldx, blocks, rows)
	}
}

// copyBlock writes n rows of lanes floats: width of x, then zeros.
func copyBlock(i isa, dst []float32, ldd int, x []float32, ldx, n, width int) {
	switch i {
	case isaAVX512:
		copyBlockAVX512(sd(dst), ldd, sd(x), ldx, n, width)
	case isaAVX2:
		copyBlockAVX2(sd(dst), ldd, sd(x), ldx, n, width)
	}
}
