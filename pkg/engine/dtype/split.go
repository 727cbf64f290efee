package dtype

import (
	"encoding/binary"
	"math"
)

// A Split is a quantised block taken apart, without rounding. Value i of sub-block j is
//
//	scale(j)·(Codes[i] - offset) - minimum(j)
//
// or scale(j)·level of Codes[i], see [Type.Levels]. The scale is D·Scales[j] in types with
// blocks of 256 values, and a number of its own in the others.
type Split struct {
	Codes   [256]uint8 // as many as the block has values
	D, DMin uint16     // half precision, of blocks of 256 values

	// Scales and Minima of the sub-blocks: multipliers of D and DMin; or, of blocks of 32
	// values, half precision, or bfloat16 for the scales of MXFP4. Signed multipliers are
	// two's complement. The minimum of Q4_1 and Q5_1, which their files add, is negated.
	Scales, Minima [16]uint16
}

// Levels returns the values that the codes of IQ4_NL, IQ4_XS and MXFP4 select; ok is false
// for other types.
func (t Type) Levels() (levels [16]int8, ok bool) {
	switch t {
	case IQ4NL, IQ4XS:
		return levels4, true
	case MXFP4:
		return levelsE2M1, true
	}
	return levels, false
}

// A Splitter takes a block apart. It leaves the fields of s that the type does not have.
type Splitter func(s *Split, block []byte)

// Splitter returns the function that takes blocks of t apart, or nil if there is none.
func (t Type) Splitter() Splitter { return t.row().split }

func splitQ2K(s *Split, b []byte) {
	for j, v := range b[:16] {
		s.Scales[j], s.Minima[j] = uint16(v&15), uint16(v>>4)
	}
	s.D, s.DMin = binary.LittleEndian.Uint16(b[80:]), binary.LittleEndian.Uint16(b[82:])
	splitQuarters(&s.Codes, b[16:80])
}

// splitQuarters reads two halves of 128 codes: four quarters of 32, two bits up each.
func splitQuarters(codes *[256]uint8, q []byte) {
	const mask = 0x0303030303030303
	for half := range 2 {
		to, from := codes[128*half:][:128], q[32*half:][:32]
		for i := 0; i < 32; i += 8 {
			v := binary.LittleEndian.Uint64(from[i:])
			for quarter := range 4 {
				binary.LittleEndian.PutUint64(to[32*quarter+i:], v>>(2*quarter)&mask)
			}
		}
	}
}

func splitQ3K(s *Split, b []byte) {
	h, scales := b[:32], b[96:108]
	for j := range 16 {
		s.Scales[j] = uint16(subScale3(scales, j))
	}
	s.D = binary.LittleEndian.Uint16(b[108:])
	splitQuarters(&s.Codes, b[32:96])
	for k := range 8 {
		addBit(s.Codes[32*k:][:32], h, k, 2)
	}
}

func splitQ4K(s *Split, b []byte) {
	s.setScales(b)
	splitNibbles(&s.Codes, b[16:144])
}

// setScales reads what Q4_K and Q5_K begin with.
func (s *Split) setScales(b []byte) {
	s.D, s.DMin = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
	for j := range 8 {
		scale, minimum := subScale(b[4:16], j)
		s.Scales[j], s.Minima[j] = uint16(scale), uint16(minimum)
	}
}

// splitNibbles reads four runs of 32 bytes: the low nibbles are one sub-block, the high
// ones the next.
func splitNibbles(codes *[256]uint8, q []byte) {
	for j := range 4 {
		setNibbles(codes[64*j:][:32], codes[64*j+32:][:32], q[32*j:])
	}
}

// setNibbles writes the low and the high nibbles of len(low) bytes, a multiple of 8.
func setNibbles(low, high, q []byte) {
	const mask = 0x0f0f0f0f0f0f0f0f
	for i := 0; i < len(low); i += 8 {
		v := binary.LittleEndian.Uint64(q[i:])
		binary.LittleEndian.PutUint64(low[i:], v&mask)
		binary.LittleEndian.PutUint64(high[i:], v>>4&mask)
	}
}

// addBit adds bit from of each byte of h to the codes, as bit to.
func addBit(codes, h []byte, from, to int) {
	const mask = 0x0101010101010101
	for i := 0; i < len(codes); i += 8 {
		v := binary.LittleEndian.Uint64(h[i:]) >> from & mask << to
		binary.LittleEndian.PutUint64(codes[i:], binary.LittleEndian.Uint64(codes[i:])|v)
	}
}

func splitQ5K(s *Split, b []byte) {
	s.setScales(b)
	splitNibbles(&s.Codes, b[48:176])
	for j := range 8 {
		addBit(s.Codes[32*j:][:32], b[16:48], j, 4)
	}
}

func splitQ6K(s *Split, b []byte) {
	for j, v := range b[192:208] {
		s.Scales[j] = uint16(int8(v))
	}
	s.D = binary.LittleEndian.Uint16(b[208:])
	for n := range 2 {
		low, high, to := b[64*n:][:64], b[128+32*n:][:32], s.Codes[128*n:][:128]
		for i := 0; i < 32; i += 8 {
			const four, two = 0x0f0f0f0f0f0f0f0f, 0x0303030303030303
			v, more, h := binary.LittleEndian.Uint64(low[i:]), binary.LittleEndian.Uint64(low[i+32:]), binary.LittleEndian.Uint64(high[i:])
			binary.LittleEndian.PutUint64(to[i:], v&four|h&two<<4)
			binary.LittleEndian.PutUint64(to[i+32:], more&four|h>>2&two<<4)
			binary.LittleEndian.PutUint64(to[i+64:], v>>4&four|h>>4&two<<4)
			binary.LittleEndian.PutUint64(to[i+96:], more>>4&four|h>>6&two<<4)
		}
	}
}

// splitHalves reads 32 codes of 16 bytes: the low nibbles, then the high ones.
func splitHalves(codes []uint8, q []byte) { setNibbles(codes[:16], codes[16:32], q) }

// splitFifth adds the fifth bit of 32 codes.
func splitFifth(codes []uint8, h uint32) {
	for i := range codes[:32] {
		codes[i] |= uint8(h>>i&1) << 4
	}
}

// negative flips the sign of a half-precision number.
const negative = 0x8000

func splitQ4_1(s *Split, b []byte) {
	s.Scales[0], s.Minima[0] = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])^negative
	splitHalves(s.Codes[:], b[4:])
}

func splitQ5_0(s *Split, b []byte) {
	s.Scales[0] = binary.LittleEndian.Uint16(b)
	splitHalves(s.Codes[:], b[6:])
	splitFifth(s.Codes[:], binary.LittleEndian.Uint32(b[2:]))
}

func splitQ5_1(s *Split, b []byte) {
	s.Scales[0], s.Minima[0] = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])^negative
	splitHalves(s.Codes[:], b[8:])
	splitFifth(s.Codes[:], binary.LittleEndian.Uint32(b[4:]))
}

func splitIQ4NL(s *Split, b []byte) {
	s.Scales[0] = binary.LittleEndian.Uint16(b)
	splitHalves(s.Codes[:], b[2:])
}

func splitIQ4XS(s *Split, b []byte) {
	s.D = binary.LittleEndian.Uint16(b)
	high := binary.LittleEndian.Uint16(b[2:])
	for j := range 8 {
		s.Scales[j] = uint16(subScale4(high, b[4:8], j))
		splitHalves(s.Codes[32*j:], b[8+16*j:])
	}
}

// splitMXFP4: bfloat16 has every power of two that an exponent stands for.
func splitMXFP4(s *Split, b []byte) {
	s.Scales[0] = uint16(math.Float32bits(float32(math.Ldexp(1, int(b[0])-128))) >> 16)
	splitHalves(s.Codes[:], b[1:])
}

// Halves returns the offsets of the half-precision numbers of a quantised block, which
// are its scales and minima.
func (t Type) Halves() []int {
	switch t {
	case Q4_0, Q8_0, Q8W, Q5_0, IQ4NL, IQ4XS:
		return []int{0}
	case Q4_1, Q5_1, Q4K, Q5K:
		return []int{0, 2}
	case Q2K:
		return []int{80, 82}
	case Q3K:
		return []int{108}
	case Q6K:
		return []int{208}
	}
	return nil
}

// maxExponent is the largest exponent of MXFP4 for which all values are finite in float32.
const maxExponent = 252

// NotFinite returns the index of the first block of raw, whole blocks, that has a value
// which is not finite, or a scale that allows one, and what it is; the index is -1 if there
// is none. The type is BF16, F16 or quantised.
func (t Type) NotFinite(raw []byte) (block int, v float32) {
	switch t {
	case BF16:
		if i := onesIn(raw, 0x7f80); i >= 0 {
			return i, FromBFloat16(binary.LittleEndian.Uint16(raw[2*i:]))
		}
		return -1, 0
	case F16:
		if i := onesIn(raw, 0x7c00); i >= 0 {
			return i, FromFloat16(binary.LittleEndian.Uint16(raw[2*i:]))
		}
		return -1, 0
	}
	_, size := t.Block()
	halves, exponents := t.Halves(), t == MXFP4
	for i := 0; i < len(raw); i += size {
		for _, at := range halves {
			if bits := binary.LittleEndian.Uint16(raw[i+at:]); bits&0x7c00 == 0x7c00 {
				return i / size, FromFloat16(bits)
			}
		}
		if exponents && raw[i] > maxExponent {
			return i / size, float32(math.Inf(1))
		}
	}
	return -1, 0
}

// onesIn returns the index of the first number of 16 bits whose exponent, below the sign, is all ones,
// or -1.
func onesIn(raw []byte, exponent uint16) int {
	const each = 0x0001_0001_0001_0001
	exponents, one, i := uint64(exponent)*each, uint64(exponent&-exponent)*each, 0
	for ; i+8 <= len(raw); i += 8 { // an exponent of ones carries into the sign
		if (binary.LittleEndian.Uint64(raw[i:])&exponents+one)&(0x8000*each) != 0 {
			break
		}
	}
	for ; i < len(raw); i += 2 {
		if binary.LittleEndian.Uint16(raw[i:])&exponent == exponent {
			return i / 2
		}
	}
	return -1
}
