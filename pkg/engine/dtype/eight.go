package dtype

import "math"

// float8 has the values of E4M3 without infinities, as torch's float8_e4m3fn: a sign, four bits
// of an exponent whose bias is 7, three bits of a fraction.
//
// Source: Micikevicius et al. 2022, "FP8 Formats for Deep Learning".
var float8 = func() (values [256]float32) {
	for i := range values {
		exponent, fraction := i>>3&15, i&7
		v := math.Ldexp(float64(8+fraction), exponent-10)
		switch {
		case i&127 == 127:
			v = math.NaN()
		case exponent == 0:
			v = math.Ldexp(float64(fraction), -9)
		}
		if i >= 128 {
			v = math.Copysign(v, -1)
		}
		values[i] = float32(v)
	}
	return values
}()

func decodeF8E4M3(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float8[src[i]]
	}
}
