package dtype

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Lengths of the quantised blocks that can be written: of 32 values, but for Q8W.
const (
	Q8Bytes    = 34 // a scale d in half precision, then 32 quants q of 8 bits; a value is d*q
	Q4Bytes    = 18 // a scale d, then 32 quants of 4 bits; a value is d*(q-8)
	WideValues = 128
	WideBytes  = 2 + WideValues // as Q8_0's
)

// QuantizeQ8 writes a block of Q8_0 by ggml's reference: d = max|x|/127, q = x/d rounded
// half away from zero. It returns d, which is rounded to half precision after the division.
// In a block with a NaN or an infinity, d is not finite and every q is 0, so that its
// values are NaN.
func QuantizeQ8(block *[Q8Bytes]byte, x *[32]float32) (d float32) { return quantize8(block[:], x[:]) }

// QuantizeQ8W is [QuantizeQ8] for a block of 128 values.
func QuantizeQ8W(block *[WideBytes]byte, x *[WideValues]float32) (d float32) {
	return quantize8(block[:], x[:])
}

// quantize8 writes a block of as many values as x has.
func quantize8(block []byte, x []float32) (d float32) {
	var top uint32 // magnitudes compare as their bits do
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	d = math.Float32frombits(top) / 127
	binary.LittleEndian.PutUint16(block, ToFloat16(d))
	inverse := reciprocal(d)
	if inverse == 0 {
		clear(block[2:])
		return d
	}
	for i, v := range x {
		twice := int32(v * inverse * 2)
		block[2+i] = byte((twice + 1 + twice>>31) >> 1) // to nearest, halves away from zero
	}
	return d
}

// QuantizeQ4 writes a block of Q4_0 by ggml's reference: d = x/-8 for the x of the largest
// magnitude, the first of equals, q = min(15, x/d+8.5) cut to a whole number. It returns d
// and treats NaN and infinities as [QuantizeQ8] does, with every q-8 zero.
func QuantizeQ4(block *[Q4Bytes]byte, x *[32]float32) (d float32) {
	var top uint32
	var extreme float32
	for _, v := range x {
		if m := math.Float32bits(v) &^ (1 << 31); m > top {
			top, extreme = m, v
		}
	}
	d = extreme / -8
	binary.LittleEndian.PutUint16(block[:], ToFloat16(d))
	inverse := reciprocal(d)
	if inverse == 0 {
		for i := range 16 {
			block[2+i] = 0x88
		}
		return d
	}
	for i := range 16 {
		low, high := float32(x[i]*inverse)+8.5, float32(x[i+16]*inverse)+8.5
		block[2+i] = byte(min(int32(low), 15) | min(int32(high), 15)<<4)
	}
	return d
}

// reciprocal returns 1/d, or 0 if that or d is not finite: for a block of zeros, for
// magnitudes whose scale is zero in half precision, and for a NaN or an infinity.
func reciprocal(d float32) float32 {
	if r := 1 / d; math.Abs(float64(r)) <= math.MaxFloat32 {
		return r
	}
	return 0
}

func encodeF32(dst []byte, src []float32) ([]byte, error) {
	for _, v := range src {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, nil
}

func encodeBF16(dst []byte, src []float32) ([]byte, error) {
	for _, v := range src {
		dst = binary.LittleEndian.AppendUint16(dst, ToBFloat16(v))
	}
	return dst, nil
}

func encodeF16(dst []byte, src []float32) ([]byte, error) {
	for _, v := range src {
		h := ToFloat16(v)
		if h&0x7fff == 0x7c00 && v-v == 0 {
			return nil, fmt.Errorf("%g is too large for F16", v)
		}
		dst = binary.LittleEndian.AppendUint16(dst, h)
	}
	return dst, nil
}

func encodeQ8_0(dst []byte, src []float32) ([]byte, error) {
	return encodeBlocks(dst, src, 32, Q8Bytes, func(block []byte, x []float32) error {
		return checkScale(block, QuantizeQ8((*[Q8Bytes]byte)(block), (*[32]float32)(x)))
	})
}

func encodeQ8W(dst []byte, src []float32) ([]byte, error) {
	return encodeBlocks(dst, src, WideValues, WideBytes, func(block []byte, x []float32) error {
		return checkScale(block, QuantizeQ8W((*[WideBytes]byte)(block), (*[WideValues]float32)(x)))
	})
}

func encodeQ4_0(dst []byte, src []float32) ([]byte, error) {
	return encodeBlocks(dst, src, 32, Q4Bytes, func(block []byte, x []float32) error {
		return checkScale(block, QuantizeQ4((*[Q4Bytes]byte)(block), (*[32]float32)(x)))
	})
}

// encodeBlocks appends blocks of size bytes, which quantize writes.
func encodeBlocks(dst []byte, src []float32, values, size int, quantize func(block []byte, x []float32) error) ([]byte, error) {
	at := len(dst)
	dst = slices.Grow(dst, len(src)/values*size)[:at+len(src)/values*size]
	for ; len(src) > 0; src, at = src[values:], at+size {
		if err := quantize(dst[at:at+size], src[:values]); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// checkScale rejects a block whose scale d is not finite in half precision.
func checkScale(block []byte, d float32) error {
	if binary.LittleEndian.Uint16(block)&0x7c00 == 0x7c00 {
		return fmt.Errorf("a block whose scale is %v, which half precision does not have", d)
	}
	return nil
}
