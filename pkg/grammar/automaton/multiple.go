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
	same    map[string]int64 // a value of each kind of values before the point
}

// A remainder is what a multiple knows of the digits so far: before the point their
// value mod modulus, after it what the next left digits have to be mod modulus.
type remainder struct {
	value int64
	left  int32
}

// maxModulus keeps ten times a remainder within 64 bits.
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

// ten returns 10^i, or what is as large as any.
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

// wanted returns what the next digits have to be mod modulus, for a value of those
// before them, and false if that many digits cannot.
func (m *multiple) target(value uint64, digits int) (uint64, bool) {
	hi, lo := bits.Mul64(value, m.powers[digits])
	v := bits.Rem64(hi, lo, m.modulus)
	if v > 0 {
		v = m.modulus - v
	}
	return v, v < powerOfTen(digits)
}

// integer reads a digit before the point. Values after which the same digits make a
// multiple become one: there are as many as the wanted digits tell apart, up to the
// count of digits that can make any.
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

// fraction reads a digit after the point. After scale of them there are only zeros.
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
