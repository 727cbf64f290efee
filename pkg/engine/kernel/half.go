package kernel

import "math"

// halfFloat widens an IEEE 754 half-precision number.
func halfFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&0x3ff
	switch exponent {
	case 0: // zero or subnormal: fraction * 2**-24, exactly
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31: // infinity or NaN, which becomes quiet
		if fraction > 0 {
			fraction |= 0x200
		}
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// floatHalf rounds to half precision, to nearest even, as F16C does.
func floatHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign, magnitude := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00 | uint16(magnitude>>13)&0x3ff
	case magnitude >= 0x477ff000: // 65520, which is halfway to 2**16
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2**-14: a multiple of 2**-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*0x1p24))
	}
	return sign | uint16((magnitude-112<<23+0xfff+magnitude>>13&1)>>13)
}

// bfloatFloat widens a bfloat16, which is the upper half of a float32.
func bfloatFloat(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// floatBfloat rounds to bfloat16, to nearest even; a NaN becomes quiet.
func floatBfloat(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// fma32 returns a*b+c, rounded once. The product is exact in float64; their sum is
// rounded to odd there, which makes the second rounding harmless (Boldo and
// Melquiond 2008).
func fma32(a, b, c float32) float32 {
	p, q := float64(float64(a)*float64(b)), float64(c)
	s := p + q
	t := s - p
	e := (p - (s - t)) + (q - t) // s+e is the exact sum (Knuth's two-sum)
	if e > 0 || e < 0 {
		if bits := math.Float64bits(s); bits&1 == 0 {
			if (e > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
			s = math.Float64frombits(bits)
		}
	}
	return float32(s)
}
