package dtype

import "math"

// DecodeE2M1 reads values of FP4, of which a byte has two: the first is in its lower half.
//
// Source: OCP Microscaling Formats 1.0.
func DecodeE2M1(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(levelsE2M1[src[i/2]>>(i%2*4)&15]) / 2
	}
}

// DecodeE8M0 reads powers of 2, the scales of the same formats: 2^(byte-127). 255 is NaN.
func DecodeE8M0(dst []float32, src []byte) {
	for i, exponent := range src {
		if dst[i] = float32(math.Ldexp(1, int(exponent)-127)); exponent == 255 {
			dst[i] = float32(math.NaN())
		}
	}
}
