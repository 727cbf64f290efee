package dtype

import (
	"encoding/binary"
	"math"
)

// FromFloat16 widens an IEEE 754 binary16.
func FromFloat16(h uint16) float32 {
	bits := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // infinity or NaN
		if bits |= 0x7f800000; bits > 0x7f800000 {
			bits |= 1 << 22
		}
	} else {
		// Read as binary32 the exponent is too small by 127-15. The product is exact,
		// for subnormals too.
		bits = math.Float32bits(math.Float32frombits(bits) * 0x1p112)
	}
	return math.Float32frombits(bits | uint32(h&0x8000)<<16)
}

// ToFloat16 rounds to binary16, to nearest even.
func ToFloat16(f float32) uint16 {
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

// FromBFloat16 widens a bfloat16, which is the upper half of a binary32.
func FromBFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBFloat16 rounds to bfloat16, to nearest even.
func ToBFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// float16At returns the binary16 at the beginning of b.
func float16At(b []byte) float32 { return FromFloat16(binary.LittleEndian.Uint16(b)) }

// decodeF64 rounds to nearest; values beyond float32 become infinite.
func decodeF64(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float16At(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for ; len(dst) >= 4; dst, src = dst[4:], src[8:] {
		four := binary.LittleEndian.Uint64(src)
		d := (*[4]float32)(dst)
		d[0], d[1] = FromBFloat16(uint16(four)), FromBFloat16(uint16(four>>16))
		d[2], d[3] = FromBFloat16(uint16(four>>32)), FromBFloat16(uint16(four>>48))
	}
	for i := range dst {
		dst[i] = FromBFloat16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}
