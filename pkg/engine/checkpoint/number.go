package checkpoint

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// numberSlack is the number of readable bytes that parseFloat needs from the first byte
// of a number: it loads eight at a time.
const numberSlack = maxNumber + 8

// maxNumber bounds the length of a number, bytes. A double printed by JavaScript
// has at most 25.
const maxNumber = 1024

var errNumber = errors.New("not a JSON number")

// powers10[k] is 10^k, rounded to nearest above 22.
var powers10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29,
	1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43,
	1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57,
}

// shift10[n] is 10^n; a mantissa below room10[n] = 10^(19-n) has room for n more
// digits in 64 bits.
var (
	shift10 = [9]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}
	room10  = [9]uint64{1e19, 1e18, 1e17, 1e16, 1e15, 1e14, 1e13, 1e12, 1e11}
)

// parseFloat parses the JSON number at b[i:] and returns it as JavaScript stores a number
// in a Float32Array: rounded to float64, then to float32. It also returns the index after
// the number. b must have numberSlack bytes from i on; the byte after the text may be
// anything except a digit.
//
// The mantissa, at most 19 digits, is exact in 64 bits. Converting it to float64, the
// power of ten and the division each err by at most half a unit in the last place,
// together less than four units; so the result rounds to the same float32 as the exact
// one unless it lies within eight units of the middle between two float32s. Those,
// float32 subnormals, huge numbers and longer mantissas are left to strconv.
func parseFloat(b []byte, i int) (float32, int, error) {
	start := i
	neg := b[i] == '-'
	if neg {
		i++
	}
	first := b[i]
	m, j, fits := uint64(first-'0'), i+1, true
	if first-'0' > 9 || b[j] != '.' { // most numbers have one digit before the point
		m, j, fits = digits(b, i, 0)
	}
	if j == i || first == '0' && j > i+1 {
		return 0, i, errNumber
	}
	i = j
	exp := 0
	if b[i] == '.' {
		i++
		if fits {
			m, j, fits = digits(b, i, m)
		} else {
			j = skipDigits(b, i)
		}
		if j == i {
			return 0, i, errNumber
		}
		exp = i - j
		i = j
	}
	if b[i]|0x20 == 'e' {
		e, j, err := exponent(b, i+1)
		if err != nil {
			return 0, i, err
		}
		exp += e
		i = j
	}
	if i-start > maxNumber {
		return 0, i, errNumber
	}
	var d float64
	switch {
	case m == 0 && fits:
	case exp == 0:
		d = float64(m)
	case exp < 0 && exp > -len(powers10):
		d = float64(m) / powers10[-exp]
	case exp > 0 && exp < len(powers10):
		d = float64(m) * powers10[exp]
	default:
		fits = false
	}
	// The middle of two float32s has the low 29 bits 1<<28.
	low := math.Float64bits(d) & (1<<29 - 1)
	if !fits || low-(1<<28-8) <= 16 || d > 1e38 || d < 1e-37 && m != 0 {
		d = math.Abs(exactFloat(b[start:i]))
	}
	if neg {
		d = -d
	}
	return float32(d), i, nil
}

// exactFloat returns strconv's result for a well-formed number: infinite if it is out of
// range.
func exactFloat(b []byte) float64 {
	d, _ := strconv.ParseFloat(string(b), 64)
	return d
}

// digits appends the run of digits at b[i:] to the mantissa m, eight at a time. fits is
// false if they do not fit; m is then meaningless.
func digits(b []byte, i int, m uint64) (mantissa uint64, end int, fits bool) {
	for {
		if len(b)-i < 8 {
			return 0, i, false
		}
		// Each byte of v becomes its digit; n is the number of leading digits.
		v := binary.LittleEndian.Uint64(b[i:]) ^ 0x3030303030303030
		n := firstNonDigit(v)
		if m >= room10[n] {
			return 0, skipDigits(b, i), false
		}
		if n < 8 {
			return m*shift10[n] + eightDigits(v<<(64-8*n)), i + int(n), true
		}
		m = m*1e8 + eightDigits(v)
		i += 8 // independent of n: the next load need not wait for it
	}
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}

// exponent parses the part after an "e". It stops counting beyond 9999: all such numbers
// are zero or infinite, as no mantissa has that many digits.
func exponent(b []byte, i int) (exp, end int, err error) {
	neg := b[i] == '-'
	if neg || b[i] == '+' {
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' < 10 {
		if exp < 10000 {
			exp = exp*10 + int(b[i]-'0')
		}
		i++
	}
	if i == start {
		return 0, i, errNumber
	}
	if neg {
		exp = -exp
	}
	return exp, i, nil
}
