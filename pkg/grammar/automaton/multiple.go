package automaton

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// A multiple is the decimals k·modulus/10^scale of integers k.
type multiple struct {
	modulus uint64
	scale   int
	powers  []uint64         // 10^i mod modulus, up to the larger of scale and digits
	same    map[string]int64 // by what makes values before the point equivalent: one of them
}

// A remainder is the state of a multiple after some digits. Before the point, value is
// theirs mod modulus. After it, value is that of the next left digits mod modulus.
type remainder struct {
	value int64
	left  int32
}

// maxModulus keeps a remainder times ten within 64 bits.
const maxModulus = 1 << 59

// newMultiple returns nil if the modulus is too large.
func newMultiple(modulus *big.Int, scale int) *multiple {
	if !modulus.IsUint64() || modulus.Uint64() > maxModulus || scale > maxStates {
		return nil
	}
	m := &multiple{modulus: modulus.Uint64(), scale: scale, same: map[string]int64{}}
	p := 1 % m.modulus
	for i := 0; i <= scale || i <= 18; i++ { // 10^18 > maxModulus
		m.powers = append(m.powers, p)
		p = 10 * p % m.modulus
	}
	return m
}

// powerOfTen returns 10^i, or a number larger than any modulus.
func powerOfTen(i int) uint64 {
	if i > 18 {
		return math.MaxUint64
	}
	p := uint64(1)
	for ; i > 0; i-- {
		p *= 10
	}
	return p
}

// target returns the value mod modulus that the next digits must have after value, and
// false if so few digits cannot have it.
func (m *multiple) target(value uint64, digits int) (uint64, bool) {
	hi, lo := bits.Mul64(value, m.powers[digits])
	v := bits.Rem64(hi, lo, m.modulus)
	if v > 0 {
		v = m.modulus - v
	}
	return v, v < powerOfTen(digits)
}

// integer reads a digit before the point. It merges values after which the same digits
// make a multiple: those with equal targets, up to the number of digits that can make any.
func (m *multiple) integer(r remainder, digit byte) remainder {
	if m == nil {
		return r
	}
	value := (10*uint64(r.value) + uint64(digit-'0')) % m.modulus
	var key []byte
	for i := m.scale; ; i++ {
		v, ok := m.target(value, i)
		if !ok {
			v = math.MaxUint64
		}
		key = binary.AppendUvarint(key, v)
		if powerOfTen(i) >= m.modulus {
			break
		}
	}
	same, ok := m.same[string(key)]
	if !ok {
		same = int64(value)
		m.same[string(key)] = same
	}
	return remainder{value: same}
}

func (m *multiple) point(r remainder) (remainder, bool) {
	if m == nil {
		return r, true
	}
	v, ok := m.target(uint64(r.value), m.scale)
	return remainder{int64(v), int32(m.scale)}, ok
}

// fraction reads a digit after the point. After scale digits it accepts only zeros.
func (m *multiple) fraction(r remainder, digit byte) (remainder, bool) {
	switch {
	case m == nil:
		return r, true
	case r.left == 0:
		return r, digit == '0'
	}
	r.left--
	less := uint64(digit-'0') * m.powers[r.left] % m.modulus
	v := (uint64(r.value) + m.modulus - less) % m.modulus
	r.value = int64(v)
	return r, v < powerOfTen(int(r.left))
}

// admits reports whether a number that ends here is a multiple.
func (m *multiple) admits(r remainder, fraction bool) bool {
	if m == nil || fraction {
		return m == nil || r.value == 0
	}
	v, _ := m.target(uint64(r.value), m.scale)
	return v == 0
}
