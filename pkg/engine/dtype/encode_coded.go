package dtype

import (
	"encoding/binary"
	"errors"
	"math"
)

// Blocks of Q4_K and Q6_K have two levels of scales. First, each sub-block gets the scale, and
// in Q4_K the minimum, that bring it nearest to its values: candidates around the range of the
// values round them to codes, for which least squares give the best scale in closed form. Then
// those numbers are rounded to multiples of one for the block, and the values to the codes that
// are nearest with what is left. Products are rounded before they are added, so that blocks
// are the same on processors that fuse the two.

// Blocks of Q4_K and Q6_K.
const (
	Coarse   = 256 // values
	Q4KBytes = 144 // see [decodeQ4K]
	Q6KBytes = 210 // see [decodeQ6K]
)

const (
	candidates = 8   // on either side of the range of the values
	apart      = 0.2 // steps of a code at the end of the range
)

// QuantizeQ4K writes a block of Q4_K. It returns false for a block with a scale or a minimum that
// half precision does not have, whose values decode as NaN.
func QuantizeQ4K(block *[Q4KBytes]byte, x *[Coarse]float32) bool {
	var scale, minimum [8]float32
	var topScale, topMinimum float32
	for j := range scale {
		scale[j], minimum[j] = fitAffine((*[32]float32)(x[32*j:]))
		topScale, topMinimum = max(topScale, scale[j]), max(topMinimum, minimum[j])
	}
	d, dmin := putHalf(block[:], topScale/63), putHalf(block[2:], topMinimum/63)
	clear(block[4:])
	if !finite(d) || !finite(dmin) {
		return false
	}
	for j := range scale {
		s, m := multiple(scale[j], d, 63), multiple(minimum[j], dmin, 63)
		setSubScale(block[4:16], j, byte(s), byte(m))
		step, low := float32(d*float32(s)), float32(dmin*float32(m))
		inverse := reciprocal(step)
		for i, v := range x[32*j:][:32] {
			q := nearest(float32((v+low)*inverse), 15)
			block[16+32*(j/2)+i] |= byte(q << (4 * (j % 2)))
		}
	}
	return true
}

// QuantizeQ6K writes a block of Q6_K, see [QuantizeQ4K].
func QuantizeQ6K(block *[Q6KBytes]byte, x *[Coarse]float32) bool {
	var scale [16]float32
	var extreme float32
	for j := range scale {
		scale[j] = fitSymmetric((*[16]float32)(x[16*j:]))
		if abs(scale[j]) > abs(extreme) || scale[j] != scale[j] {
			extreme = scale[j]
		}
	}
	clear(block[:])
	d := putHalf(block[208:], extreme/-128)
	if !finite(d) {
		return false
	}
	inverse := reciprocal(d)
	for j := range scale {
		s := nearest(float32(scale[j]*inverse)+128, 255) - 128
		block[192+j] = byte(int8(s))
		part := reciprocal(float32(d * float32(s)))
		for i, v := range x[16*j:][:16] {
			q := nearest(float32(v*part)+32, 63)
			at := 16*j%128 + i // in a half of the block
			low, high := block[64*(j/8):][:64], block[128+32*(j/8):][:32]
			low[at%64] |= byte(q & 15 << (4 * (at / 64)))
			high[at%32] |= byte(q >> 4 << (2 * (at / 32)))
		}
	}
	return true
}

// fitAffine returns s and m >= 0 for which s*q - m, with codes q of 0 to 15, is near to all
// values. Both are NaN if a value is not finite.
func fitAffine(x *[32]float32) (scale, minimum float32) {
	var low, high, sum float32
	for _, v := range x {
		low, high = min(low, v), max(high, v)
		sum += v
	}
	span := high - low
	if !finite(sum) || !finite(span) {
		return float32(math.NaN()), float32(math.NaN())
	}
	inverse, best := reciprocal(span), float32(math.MaxFloat32)
	scale, minimum = span/15, -low
	for c := -candidates; c <= candidates; c++ {
		factor := float32(inverse * (15 + float32(apart*float32(c))))
		var q1, q2, qx float32 // sums of q, q*q and q*x
		for _, v := range x {
			q := float32(nearest(float32((v-low)*factor), 15))
			q1 += q
			q2 += float32(q * q)
			qx += float32(q * v)
		}
		s, offset := fitLine(32, q1, q2, sum, qx)
		// The squared error, but for the sum of squares of the values.
		e := float32(s*(float32(s*q2)+float32(2*float32(offset*q1))-float32(2*qx))) + float32(offset*(float32(32*offset)-float32(2*sum)))
		if e < best {
			best, scale, minimum = e, s, -offset
		}
	}
	return scale, minimum
}

// fitLine returns the s >= 0 and the offset <= 0 that bring s*q + offset nearest to x, for n
// values and sums of q, q*q, x and q*x.
func fitLine(n, q1, q2, x, qx float32) (s, offset float32) {
	if det := float32(n*q2) - float32(q1*q1); det > 0 {
		s = (float32(n*qx) - float32(q1*x)) / det
		offset = (x - float32(s*q1)) / n
	}
	if offset > 0 || s <= 0 {
		s, offset = max(0, qx/max(q2, 1)), 0
	}
	return s, offset
}

// fitSymmetric returns the s for which s*q, with codes q of -32 to 31, is near to all values,
// NaN if a value is not finite.
func fitSymmetric(x *[16]float32) (scale float32) {
	var extreme, sum float32
	for _, v := range x {
		sum += v
		if abs(v) > abs(extreme) {
			extreme = v
		}
	}
	if !finite(sum) || !finite(extreme) {
		return float32(math.NaN())
	}
	inverse := reciprocal(extreme)
	var best float32
	for c := -candidates; c <= candidates; c++ {
		factor := float32(inverse * (float32(apart*float32(c)) - 32))
		var q2, qx float32 // sums of q*q and q*x
		for _, v := range x {
			q := float32(nearest(float32(v*factor)+32, 63) - 32)
			q2 += float32(q * q)
			qx += float32(q * v)
		}
		if gain := qx / max(q2, 1) * qx; gain > best {
			best, scale = gain, qx/q2
		}
	}
	return scale
}

// multiple returns how often a scale holds d, from 0 to most.
func multiple(scale, d float32, most int32) int32 { return nearest(float32(scale*reciprocal(d)), most) }

// nearest rounds v to one of 0 to most.
func nearest(v float32, most int32) int32 { return min(max(int32(v+0.5), 0), most) }

// putHalf writes a number in half precision and returns what it has become.
func putHalf(b []byte, v float32) float32 {
	binary.LittleEndian.PutUint16(b, ToFloat16(v))
	return float16At(b)
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

func finite(v float32) bool { return abs(v) <= math.MaxFloat32 }

func encodeQ4K(dst []byte, src []float32) ([]byte, error) {
	return encodeBlocks(dst, src, Coarse, Q4KBytes, func(block []byte, x []float32) error {
		return checkScales(QuantizeQ4K((*[Q4KBytes]byte)(block), (*[Coarse]float32)(x)))
	})
}

func encodeQ6K(dst []byte, src []float32) ([]byte, error) {
	return encodeBlocks(dst, src, Coarse, Q6KBytes, func(block []byte, x []float32) error {
		return checkScales(QuantizeQ6K((*[Q6KBytes]byte)(block), (*[Coarse]float32)(x)))
	})
}

func checkScales(good bool) error {
	if !good {
		return errors.New("a block of 256 with NaN, an infinity, or values too large for scales in half precision")
	}
	return nil
}
