//go:build !(amd64 || arm64) || purego

package kernel

// supported returns the instruction sets of this build and CPU, slowest first.
func supported() []isa { return []isa{isaGeneric} }

func add(_ isa, dst, x []float32) { addGeneric(dst, x) }

func mul(_ isa, dst, x []float32) { mulGeneric(dst, x) }

func axpy(_ isa, dst, x []float32, a float32) { axpyGeneric(dst, x, a) }

func mulAdd(_ isa, dst, x, y []float32) { mulAddGeneric(dst, x, y) }

func scan(_ isa, h, b, c, x, y []float32, decay float32) { scanGeneric(h, b, c, x, y, decay) }

func scale(_ isa, x []float32, a float32) { scaleGeneric(x, a) }

func relu(_ isa, x []float32) { reluGeneric(x) }

func clamp(_ isa, x []float32, limit float32) { clampGeneric(x, limit) }

func tanhCap(_ isa, x []float32, limit float32) { tanhCapGeneric(x, limit) }

func silu(_ isa, x []float32) { siluGeneric(x) }

func gelu(_ isa, x []float32) { geluGeneric(x) }

func geluErf(_ isa, x []float32) { geluErfGeneric(x) }

func rotateHalves(_ isa, a, b, cos, sin []float32) { rotateHalvesGeneric(a, b, cos, sin) }

func rotatePairs(_ isa, x, cos, sin []float32) { rotatePairsGeneric(x, cos, sin) }

func geluBackward(_ isa, dy, x []float32) { geluBackwardGeneric(dy, x) }

func softmaxBackward(_ isa, dp, p []float32, inner, scale float32) {
	softmaxBackwardGeneric(dp, p, inner, scale)
}

func normalize(_ isa, dst, x, weight, bias []float32, mean, scale float32) {
	normalizeGeneric(dst, x, weight, bias, mean, scale)
}

func normBackward(_ isa, dx, dy, x, weight []float32, mean, scale, a, b float32) {
	normBackwardGeneric(dx, dy, x, weight, mean, scale, a, b)
}

func score(_ isa, f KVFormat, dst, q, keys []float32, dim, panels, rows, _ int) {
	scoreGeneric(f, dst, q, keys, dim, panels, rows)
}

func soften(_ isa, scores []float32, counts []int, top, total, factors []float32) {
	softenGeneric(scores, counts, top, total, factors)
}

func narrowAll(_ isa, dst []uint16, x []float32) { narrowGeneric(dst, x) }

func shrinkAll(_ isa, dst []int8, x []float32) float32 { return shrinkGeneric(dst, x, 1) }

func weigh(_ isa, f KVFormat, sums, p, values, factors []float32, counts []int, stride, _ int, fresh bool) {
	weighGeneric(f, sums, p, values, factors, counts, stride, fresh)
}

func dot(_ isa, a, b []float32) float32 {
	return dotGeneric(a, b)
}

func maxOf(_ isa, x []float32) float32 {
	return maxOfGeneric(x)
}

func expSum(_ isa, x []float32, top float32) float32 {
	return expSumGeneric(x, top)
}

func moments(_ isa, x []float32, eps float32) (mean, scale float32) {
	return momentsGeneric(x, eps)
}

func rootMeanSquare(_ isa, x []float32, eps float32) float32 {
	return rootMeanSquareGeneric(x, eps)
}

func normSums(_ isa, dweight, dbias, dy, x, weight []float32, mean, scale float32) (a, b float32) {
	return normSumsGeneric(dweight, dbias, dy, x, weight, mean, scale)
}

func adam(_ isa, p, m, v, g []float32, a *AdamW) { adamGeneric(p, m, v, g, a) }

func gemmTile(_ isa, t *floatTile) { gemmTileGeneric(t) }

func gemv(_ isa, dst, x, w []float32, k, panels int) { gemvGeneric(dst, x, w, k, panels) }

func lanes(isa) int { return 1 }

func transpose(isa, []float32, int, []float32, int, int, int) {}

func copyBlock(isa, []float32, int, []float32, int, int, int) {}
