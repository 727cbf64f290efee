//go:build amd64 && !purego

package kernel

import (
	"math"
	"unsafe"
)

// The functions below select the routine of an instruction set. Lengths are multiples of
// the routine's step, and not zero.

func largest(i isa, x []float32) float32 {
	switch i {
	case isaAVX512:
		return largestAVX512(sd(x), len(x))
	case isaAVX2:
		return largestAVX2(sd(x), len(x))
	}
	return largestGeneric(x, -math.MaxFloat32)
}

func atLeast(i isa, mask []uint64, x []float32, bound float32) {
	switch i {
	case isaAVX512:
		atLeastAVX512(unsafe.SliceData(mask), sd(x), len(x), bound)
	case isaAVX2:
		atLeastAVX2(unsafe.SliceData(mask), sd(x), len(x), bound)
	default:
		atLeastGeneric(mask, x, bound)
	}
}

func weights(i isa, w []float64, x []float32, top, scale float64) (sum float64) {
	switch i {
	case isaAVX512:
		weightsAVX512(unsafe.SliceData(w), sd(x), len(x), top, scale, &weightRows[0][0], &sum)
	case isaAVX2:
		weightsAVX2(unsafe.SliceData(w), sd(x), len(x), top, scale, &weightRows[0][0], &sum)
	default:
		sum = weightsGeneric(w, x, top, scale)
	}
	return sum
}
