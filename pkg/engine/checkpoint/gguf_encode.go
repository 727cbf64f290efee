package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
)

// An encoder appends values as a type stores them: whole blocks. What the type cannot
// hold is an error.
type encoder func(dst []byte, src []float32) ([]byte, error)

// encoder returns how values of d are written; nil if they cannot be.
func (d DType) encoder() encoder {
	switch d {
	case F32:
		return encodeF32
	case BF16:
		return encodeBF16
	case Q8_0:
		return encodeQ8_0
	case Q4_0:
		return encodeQ4_0
	}
	return nil
}

func encodeF32(dst []byte, src []float32) ([]byte, error) {
	for _, v := range src {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

// encodeBF16 rounds to nearest even; a NaN becomes quiet.
func encodeBF16(dst []byte, src []float32) ([]byte, error) {
	for _, v := range src {
		bits := math.Float32bits(v)
		if v != v {
			bits |= 1 << 22
		} else {
			bits += 0x7fff + bits>>16&1
		}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(bits>>16))
	}
	return dst, nil
}

// encodeQ8_0 is ggml's reference quantisation: d = max|x|/127, q = x/d rounded half away
// from zero. d is rounded to half precision after the division.
func encodeQ8_0(dst []byte, src []float32) ([]byte, error) {
	for ; len(src) > 0; src = src[32:] {
		top := float32(0)
		for _, v := range src[:32] {
			top = max(top, float32(math.Abs(float64(v)))) // a NaN stays
		}
		d := top / 127
		inverse, err := appendScale(&dst, d)
		if err != nil {
			return nil, err
		}
		for _, v := range src[:32] {
			dst = append(dst, byte(int8(math.Round(float64(v*inverse)))))
		}
	}
	return dst, nil
}

// encodeQ4_0 is ggml's reference quantisation: d = x/-8 for the x of the largest
// magnitude, the first of equals, q = min(15, x/d + 8.5) cut to a whole number.
func encodeQ4_0(dst []byte, src []float32) ([]byte, error) {
	for ; len(src) > 0; src = src[32:] {
		top, extreme := float32(0), float32(0)
		for _, v := range src[:32] {
			if m := float32(math.Abs(float64(v))); m > top || m != m {
				top, extreme = m, v
			}
		}
		inverse, err := appendScale(&dst, extreme/-8)
		if err != nil {
			return nil, err
		}
		for i := range 16 {
			low, high := float32(src[i]*inverse)+8.5, float32(src[i+16]*inverse)+8.5
			dst = append(dst, byte(min(int(low), 15)|min(int(high), 15)<<4))
		}
	}
	return dst, nil
}

// appendScale appends d in half precision and returns 1/d, or 0 for a block of zeros.
func appendScale(dst *[]byte, d float32) (inverse float32, err error) {
	h := toHalf(d)
	if h&0x7c00 == 0x7c00 {
		return 0, fmt.Errorf("a block whose scale is %v, which half precision does not have", d)
	}
	*dst = binary.LittleEndian.AppendUint16(*dst, h)
	if inverse = 1 / d; h&0x7fff == 0 && math.IsInf(float64(inverse), 0) {
		inverse = 0
	}
	return inverse, nil
}

// toHalf rounds to half precision, to nearest even.
func toHalf(f float32) uint16 {
	bits := math.Float32bits(f)
	sign, magnitude := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // 65520, which is halfway to 2**16
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2**-14: a multiple of 2**-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*0x1p24))
	}
	return sign | uint16((magnitude-112<<23+0xfff+magnitude>>13&1)>>13)
}
