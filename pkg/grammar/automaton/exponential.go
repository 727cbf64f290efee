package automaton

import (
	"strconv"
	"strings"
)

// longDigits is the magnitude from which on numbers are written with an exponent: from 1e21
// on, as by ECMAScript (ECMA-262, Number::toString), and below 1e-21.
const longDigits = 21

// topExponent is the largest exponent with which every number of one digit before the point
// is finite as a float64. Its negative is the least with which they all have full precision.
const topExponent = 307

// Exponential returns the spelling with an exponent of a number without one, as 15e299. It
// returns a number that is not longer than that as it is, and so integers of at most 21 digits
// and fractions with less than 21 zeros after the point. Numbers have no redundant zeros.
func Exponential(plain string) string {
	magnitude, negative := strings.CutPrefix(plain, "-")
	whole, part, _ := strings.Cut(magnitude, ".")
	all := strings.TrimLeft(whole+part, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" || len(all)-len(part) <= longDigits && len(all)-len(part) > -longDigits {
		return plain
	}
	text := digits + "e" + strconv.Itoa(len(all)-len(digits)-len(part))
	if negative {
		text = "-" + text
	}
	if len(text) >= len(plain) {
		return plain
	}
	return text
}

// exponentials returns spellings with exponents of the numbers on one side of zero, if all
// numbers of r are long. There are none of the power of ten in which a bound is, unless that
// is the bound.
func (r Range) exponentials(l Limits) (e Expr, ok bool) {
	low, high, open, sign := r.Min, r.Max, r.OpenMin, ""
	if r.Max != nil && r.Max.Sign() <= 0 {
		low, high, open, sign = r.Max, r.Min, r.OpenMax, "-"
	}
	if low == nil || low.Sign() == 0 && !open || sign == "" && low.Sign() < 0 || r.Plain || l.Significant == 0 {
		return Expr{}, false
	}
	from, to := -topExponent, topExponent
	if b, _ := newBound(low, open); low.Sign() != 0 {
		power, exact := b.power()
		if from = max(from, power); !exact || open {
			from = max(from, power+1)
		}
	}
	if b, _ := newBound(high, false); b != nil {
		power, _ := b.power()
		to = min(to, power-1)
	}
	if from > to || from < longDigits && to > -longDigits {
		return Expr{}, false
	}
	var powers []Expr
	for i := from; i <= to; i++ {
		powers = append(powers, Bytes("e"+strconv.Itoa(i)))
	}
	digit := Class([]rune{'0', '9'}, UTF8)
	return Concat(Bytes(sign), Class([]rune{'1', '9'}, UTF8),
		Repeat(Concat(Bytes("."), Repeat(digit, 1, max(1, l.Significant-1))), 0, 1), Alternate(powers...)), true
}

// power returns the greatest power of ten up to the bound, which is not zero, and whether it is
// the bound.
func (b *bound) power() (exponent int, exact bool) {
	all := strings.TrimLeft(b.whole+b.part, "0")
	return len(all) - len(b.part) - 1, strings.TrimRight(all, "0") == "1"
}
