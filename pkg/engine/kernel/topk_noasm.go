//go:build !(amd64 || arm64) || purego

package kernel

import "math"

func largest(_ isa, x []float32) float32 { return largestGeneric(x, -math.MaxFloat32) }

func atLeast(_ isa, mask []uint64, x []float32, bound float32) { atLeastGeneric(mask, x, bound) }

func weights(_ isa, w []float64, x []float32, top, scale float64) float64 {
	return weightsGeneric(w, x, top, scale)
}
