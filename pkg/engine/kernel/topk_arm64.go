//go:build arm64 && !purego

package kernel

import (
	"math"
	"unsafe"
)

// The functions below select the generic code or NEON. Lengths are multiples of the
// routine's step, and not zero.

func largest(i isa, x []float32) float32 {
	if i != isaGeneric {
		return largestNEON(sd(x), len(x))
	}
	return largestGeneric(x, -math.MaxFloat32)
}

// laneBits are the mask bits of the lanes of four vectors.
var laneBits = [16]uint32{
	1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7,
	1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15,
}

func atLeast(i isa, mask []uint64, x []float32, bound float32) {
	if i != isaGeneric {
		atLeastNEON(unsafe.SliceData(mask), sd(x), &laneBits[0], len(x), bound)
	} else {
		atLeastGeneric(mask, x, bound)
	}
}

func weights(i isa, w []float64, x []float32, top, scale float64) (sum float64) {
	if i != isaGeneric {
		weightsNEON(unsafe.SliceData(w), sd(x), len(x), top, scale, &weightRows[0][0], &sum)
		return sum
	}
	return weightsGeneric(w, x, top, scale)
}
