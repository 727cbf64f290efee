package automaton

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
)

// Limits bound the digits of a number. The zero value bounds nothing.
type Limits struct {
	Integer     int // before the point
	Significant int // in all, without the exponent
	Exponent    int
}

// Generating returns the limits of generated numbers: they end, each is finite as a float64,
// and different ones differ as float64, which have 15 decimal digits.
func Generating() Limits { return Limits{15, 15, 2} }

// A Range is a set of numbers. A nil bound means no bound.
type Range struct {
	Min, Max         *big.Rat
	OpenMin, OpenMax bool       // the bound itself is excluded
	MultipleOf       []*big.Rat // the numbers are multiples of each; all are positive
	Plain            bool       // without exponents
}

func (r Range) bounded() bool {
	return r.Plain || r.Min != nil || r.Max != nil || len(r.MultipleOf) > 0
}

// syntax returns the numbers of RFC 8259, section 6, within l.
func syntax(l Limits, whole bool) *DFA {
	n := number{integer: l.Integer, digits: l.Significant, exponent: l.Exponent, whole: whole, top: infinite}
	if l.Exponent > 2 && l.Integer > 0 {
		n.top = max(0, 308-l.Integer) // as many digits and zeros are below 1e308
	}
	n.noZero = whole && l != Limits{}
	return must(n.dfa(nil))
}

var (
	allIntegers       = sync.OnceValue(func() *DFA { return syntax(Limits{}, true) })
	generatedIntegers = sync.OnceValue(func() *DFA { return syntax(Generating(), true) })
	allNumbers        = sync.OnceValue(func() *DFA { return syntax(Limits{}, false) })
	generatedNumbers  = sync.OnceValue(func() *DFA { return syntax(Generating(), false) })
)

// Integers returns the automaton of the integers in r, without fraction and exponent.
// Without bounds, and with no limits or those of [Generating], it is always the same one.
// It matches "-0" only without limits.
func Integers(r Range, l Limits) (*DFA, error) { return (*Budget)(nil).Integers(r, l) }

// Integers is [Integers] within a budget.
func (budget *Budget) Integers(r Range, l Limits) (*DFA, error) {
	if !r.bounded() {
		switch l {
		case Limits{}:
			return allIntegers(), nil
		case Generating():
			return generatedIntegers(), nil
		}
		return syntax(l, true), nil
	}
	r.MultipleOf = append([]*big.Rat{big.NewRat(1, 1)}, r.MultipleOf...)
	return budget.ranged(r, l, true)
}

// Numbers returns the automaton of the numbers in r. Without bounds it has every spelling
// of JSON; with bounds only those without an exponent, and zero without a sign. Without
// bounds, and with no limits or those of [Generating], it is always the same one. If the
// numbers of r need more digits than l allows, they may have them, or an exponent if all
// of them are long, see [Exponential].
func Numbers(r Range, l Limits) (*DFA, error) { return (*Budget)(nil).Numbers(r, l) }

// Numbers is [Numbers] within a budget.
func (budget *Budget) Numbers(r Range, l Limits) (*DFA, error) {
	if !r.bounded() {
		switch l {
		case Limits{}:
			return allNumbers(), nil
		case Generating():
			return generatedNumbers(), nil
		}
		return syntax(l, false), nil
	}
	return budget.ranged(r, l, false)
}

// ranged returns the automaton of the numbers of a range with bounds.
func (budget *Budget) ranged(r Range, l Limits, whole bool) (*DFA, error) {
	if err := budget.Spend(1500, 6000); err != nil {
		return nil, err
	}
	step, err := leastCommon(r.MultipleOf)
	if err != nil {
		return nil, err
	}
	if l.Significant > 0 {
		r = r.apart(l.Significant)
	}
	if whole {
		r = r.inward()
	}
	n := number{whole: whole, plain: true, sides: [2]side{
		{none: r.Max != nil && (r.Max.Sign() < 0 || r.Max.Sign() == 0 && r.OpenMax)},
		{none: r.Min != nil && r.Min.Sign() >= 0, low: &bound{whole: "0", open: true}},
	}}
	if n.sides[0].high, err = newBound(r.Max, r.OpenMax); err != nil {
		return nil, err
	}
	if n.sides[1].high, err = newBound(r.Min, r.OpenMin); err != nil {
		return nil, err
	}
	if r.Min != nil && (r.Min.Sign() > 0 || r.OpenMin && r.Min.Sign() == 0) {
		n.sides[0].low, n.sides[1].high = n.sides[1].high, nil
	}
	if r.Max != nil && r.Max.Sign() < 0 {
		n.sides[1].low, n.sides[0].high = n.sides[0].high, nil
	}
	if step != nil {
		modulus, scale, _ := decimal(step)
		if n.multiple = newMultiple(modulus, scale); n.multiple == nil {
			return nil, fmt.Errorf("multipleOf has too many digits: %w", ErrTooLarge)
		}
	}
	n.integer, n.digits = r.digits(l, step)
	d, err := n.dfa(budget)
	if e, ok := r.exponentials(l); ok && !whole && step == nil && err == nil {
		short, err := budget.Compile(e)
		if err != nil {
			return nil, err
		}
		return budget.Union(d, short)
	}
	return d, err
}

// apart returns r with excluded bounds that have digits or more moved to the next float64 in
// r, if there is one: readers of float64 may take the numbers in between for the bound.
func (r Range) apart(digits int) Range {
	next := func(x *big.Rat, towards float64) *big.Rat {
		if b, err := newBound(x, true); b == nil || err != nil || len(b.whole)+len(b.part) < digits {
			return nil
		}
		f, _ := x.Float64()
		y, _ := new(big.Rat).SetString(strconv.FormatFloat(math.Nextafter(f, towards), 'g', -1, 64))
		if y == nil || r.Min != nil && y.Cmp(r.Min) <= 0 || r.Max != nil && y.Cmp(r.Max) >= 0 {
			return nil
		}
		return y
	}
	if y := next(r.Min, math.Inf(1)); r.OpenMin && y != nil {
		r.Min, r.OpenMin = y, false
	}
	if y := next(r.Max, math.Inf(-1)); r.OpenMax && y != nil {
		r.Max, r.OpenMax = y, false
	}
	return r
}

// inward returns r with its bounds moved to integers that are in it.
func (r Range) inward() Range {
	if r.Min != nil {
		up := ceiling(r.Min)
		if r.OpenMin && r.Min.IsInt() {
			up.Add(up, big.NewInt(1))
		}
		r.Min, r.OpenMin = new(big.Rat).SetInt(up), false
	}
	if r.Max != nil {
		down := ceiling(new(big.Rat).Neg(r.Max))
		if r.OpenMax && r.Max.IsInt() {
			down.Add(down, big.NewInt(1))
		}
		r.Max, r.OpenMax = new(big.Rat).SetInt(down.Neg(down)), false
	}
	return r
}

// ceiling returns the least integer that is at least x.
func ceiling(x *big.Rat) *big.Int {
	up, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		up.Add(up, big.NewInt(1))
	}
	return up
}

// leastCommon returns the least common multiple, or nil for no numbers:
// lcm(a/b, c/d) = lcm(a, c) / gcd(b, d) in lowest terms.
func leastCommon(of []*big.Rat) (*big.Rat, error) {
	var all *big.Rat
	for _, m := range of {
		if m.Sign() <= 0 {
			return nil, errors.New("multipleOf must be greater than zero")
		}
		if _, _, ok := decimal(m); !ok {
			return nil, fmt.Errorf("%s is not a finite decimal", m)
		}
		if all == nil {
			all = m
			continue
		}
		common := new(big.Int).GCD(nil, nil, all.Num(), m.Num())
		num := new(big.Int).Mul(all.Num(), new(big.Int).Quo(m.Num(), common))
		all = new(big.Rat).SetFrac(num, new(big.Int).GCD(nil, nil, all.Denom(), m.Denom()))
	}
	return all, nil
}

// decimal returns x as digits / 10^scale with the least scale. ok is false if x has no such form.
func decimal(x *big.Rat) (digits *big.Int, scale int, ok bool) {
	rest := new(big.Int).Set(x.Denom())
	for _, p := range []int64{2, 5} {
		prime, count := big.NewInt(p), 0
		for q, r := new(big.Int), new(big.Int); ; count++ {
			if q.QuoRem(rest, prime, r); r.Sign() != 0 {
				break
			}
			rest.Set(q)
		}
		scale = max(scale, count)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return power.Mul(power, x.Num()).Quo(power, x.Denom()), scale, rest.IsInt64() && rest.Int64() == 1
}

// newBound returns the magnitude of x, nil if there is none.
func newBound(x *big.Rat, open bool) (*bound, error) {
	if x == nil {
		return nil, nil
	}
	digits, scale, ok := decimal(x)
	if !ok {
		return nil, fmt.Errorf("%s is not a finite decimal", x)
	}
	s := digits.Abs(digits).String()
	if len(s) <= scale {
		s = strings.Repeat("0", scale+1-len(s)) + s
	}
	return &bound{s[:len(s)-scale], s[len(s)-scale:], open}, nil
}

// digits returns the most digits of numbers before the point and in all: those of l, or
// more if the bounds and the multiples next to them have more.
func (r Range) digits(l Limits, step *big.Rat) (integer, all int) {
	integer, all = l.Integer, l.Significant
	widen := func(x *big.Rat) {
		b, err := newBound(x, false)
		if b == nil || err != nil {
			return
		}
		if l.Integer > 0 {
			integer = max(integer, len(b.whole))
		}
		if l.Significant > 0 {
			all = max(all, len(b.whole)+len(b.part)+1) // one more digit separates two bounds
		}
	}
	for _, x := range []*big.Rat{r.Min, r.Max} {
		if widen(x); x != nil && step != nil {
			up := ceiling(new(big.Rat).Quo(x, step))
			for k := int64(-1); k <= 1; k++ {
				times := new(big.Rat).SetInt(new(big.Int).Add(up, big.NewInt(k)))
				widen(times.Mul(times, step))
			}
		}
	}
	widen(step)
	return integer, all
}
