package checkpoint

import (
	"encoding/binary"
	"math"
)

// half widens an IEEE 754 binary16.
func half(h uint16) float32 {
	bits := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // infinity or NaN
		bits |= 0x7f800000
	} else {
		// Read as binary32 the exponent is too small by 127-15. The product is exact,
		// for subnormals too.
		bits = math.Float32bits(math.Float32frombits(bits) * 0x1p112)
	}
	return math.Float32frombits(bits | uint32(h&0x8000)<<16)
}

// halfAt is the binary16 at the head of b.
func halfAt(b []byte) float32 { return half(binary.LittleEndian.Uint16(b)) }

// convertF64 rounds to nearest; what is beyond float32 becomes infinite.
func convertF64(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

func convertF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func convertF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = halfAt(src[2*i:])
	}
}

func convertBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}
