package kernel

import (
	"math"
	"math/bits"
)

// The operations that choose among logits read a NaN as the least float32 and an infinity
// as the greatest of its sign ([Finite]), and give the same bits on every instruction set.

// Finite returns the value that the choosing operations use for x.
func Finite(x float32) float32 {
	switch {
	case x > math.MaxFloat32:
		return math.MaxFloat32
	case x > -math.MaxFloat32:
		return x
	}
	return -math.MaxFloat32 // NaN too
}

// Largest returns the largest value, the least float32 if x is empty; never -0.
func (k *Kernels) Largest(x []float32) float32 {
	whole := len(x) &^ (word - 1)
	top := float32(-math.MaxFloat32)
	if whole > 0 {
		top = largest(k.isa, x[:whole])
	}
	top = largestGeneric(x[whole:], top)
	if top == 0 {
		return 0
	}
	return min(top, math.MaxFloat32)
}

// word is the number of values whose bits fill a word of a mask.
const word = 64

// AtLeast sets bit i%64 of mask[i/64] where x[i] >= bound and clears the other bits of
// the first len(x)/64 words, rounded up.
func (k *Kernels) AtLeast(mask []uint64, x []float32, bound float32) {
	mask = mask[:(len(x)+word-1)/word]
	whole := len(x) &^ (word - 1)
	if whole > 0 {
		atLeast(k.isa, mask, x[:whole], bound)
	}
	if whole < len(x) {
		atLeastGeneric(mask[whole/word:], x[whole:], bound)
	}
}

// ArgMax returns the index of the largest value, the lowest among equals. x must not be
// empty.
func (k *Kernels) ArgMax(x []float32) int {
	const block = 1024
	var mask [block / word]uint64
	top := k.Largest(x)
	for at := 0; ; at += block {
		part := x[at:min(at+block, len(x))]
		k.AtLeast(mask[:], part, top)
		for i, m := range mask[:(len(part)+word-1)/word] {
			if m != 0 {
				return at + i*word + bits.TrailingZeros64(m)
			}
		}
	}
}

// sumLanes is the number of partial sums of Weights.
const sumLanes = 8

// Weights computes w = exp((x-top)*scale) in float64 and returns the sum of w. top is at
// least Largest(x), scale is positive and finite; len(w) is at least len(x). The relative
// difference of a weight from the exponential of the rounded exponent is below 1e-15;
// weights below exp(-708) are zero.
func (k *Kernels) Weights(w []float64, x []float32, top float32, scale float64) float64 {
	w = w[:len(x)]
	whole, sum := len(x)&^(sumLanes-1), 0.0
	if whole > 0 {
		sum = weights(k.isa, w, x[:whole], float64(top), scale)
	}
	for i, v := range x[whole:] {
		w[whole+i] = weight(v, float64(top), scale)
		sum += w[whole+i]
	}
	return sum
}
