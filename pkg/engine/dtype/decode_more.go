package dtype

import (
	"encoding/binary"
	"math"
)

// decodeQ2K reads blocks of 256, sixteen sub-blocks of 16: s uint8[16], whose low nibbles
// are scales and high nibbles minima, q uint8[64], d, dmin. Each half of 128 values is four
// quarters of 32, two bits up each. y = d·scale·q - dmin·minimum.
func decodeQ2K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[84:] {
		s, q, d, dmin := src[:16], src[16:80], float16At(src[80:]), float16At(src[82:])
		for j := range 16 {
			half, quarter, from := j/8, j/2%4, j%2*16
			scale, minimum := d*float32(s[j]&15), dmin*float32(s[j]>>4)
			for i, v := range q[32*half+from:][:16] {
				dst[16*j+i] = scale*float32(v>>(2*quarter)&3) - minimum
			}
		}
	}
}

// decodeQ3K reads blocks of 256, sixteen sub-blocks of 16: h uint8[32], q uint8[64] as in
// Q2_K, s uint8[12], d. Bit j/2 of h[i] is 0 if 4 is subtracted from value i of the 32 to
// which sub-block j belongs. Scales have six bits: the low nibbles of s[0:8], then their high
// nibbles; s[8:12] has the upper two bits. y = d·(scale-32)·q.
func decodeQ3K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[110:] {
		h, q, s, d := src[:32], src[32:96], src[96:108], float16At(src[108:])
		for j := range 16 {
			half, quarter, from := j/8, j/2%4, j%2*16
			scale := d * float32(subScale3(s, j))
			for i, v := range q[32*half+from:][:16] {
				high := int(h[from+i]>>(j/2)&1) ^ 1
				dst[16*j+i] = scale * float32(int(v>>(2*quarter)&3)-high<<2)
			}
		}
	}
}

// subScale3 unpacks the multiplier of the scale of sub-block j of Q3_K.
func subScale3(s []byte, j int) int {
	return int(s[j%8]>>(4*(j/8))&15|s[8+j%4]>>(2*(j/4))&3<<4) - 32
}

// levels4 are the values of the nibbles of IQ4_NL and IQ4_XS.
var levels4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// decodeIQ4NL reads blocks of 32: d, then q as in Q4_0. y = d·levels4[nibble].
func decodeIQ4NL(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[18:] {
		decodeLevels(dst, src[2:18], float16At(src), &levels4)
	}
}

// decodeIQ4XS reads blocks of 256, eight sub-blocks of 32: d, high uint16, low uint8[4],
// q uint8[128]. The scale of sub-block j has four bits in low and two in high.
// y = d·(scale-32)·levels4[nibble].
func decodeIQ4XS(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[136:] {
		d, high, low, q := float16At(src), binary.LittleEndian.Uint16(src[2:]), src[4:8], src[8:136]
		for j := range 8 {
			decodeLevels(dst[32*j:], q[16*j:][:16], d*float32(subScale4(high, low, j)), &levels4)
		}
	}
}

// subScale4 unpacks the multiplier of the scale of sub-block j of IQ4_XS.
func subScale4(high uint16, low []byte, j int) int {
	return int(low[j/2]>>(4*(j%2))&15) | int(high>>(2*j)&3)<<4 - 32
}

// levelsE2M1 are the values of FP4 (OCP Microscaling Formats 1.0), doubled.
var levelsE2M1 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// decodeMXFP4 reads blocks of 32: an exponent, E8M0, then q as in Q4_0.
// y = 2^(exponent-128)·levelsE2M1[nibble].
func decodeMXFP4(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[17:] {
		decodeLevels(dst, src[1:17], float32(math.Ldexp(1, int(src[0])-128)), &levelsE2M1)
	}
}

// decodeLevels writes 32 values of 16 bytes: the low nibbles, then the high ones.
func decodeLevels(dst []float32, q []byte, d float32, levels *[16]int8) {
	for i, v := range q {
		dst[i] = d * float32(levels[v&15])
		dst[i+16] = d * float32(levels[v>>4])
	}
}
