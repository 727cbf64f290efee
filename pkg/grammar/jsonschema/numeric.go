package jsonschema

import (
	"math/big"
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// atLeast raises the lower bound.
func (f *numberFacts) atLeast(x *big.Rat, open bool) {
	if f.min == nil || x.Cmp(f.min) > 0 {
		f.min, f.openMin = x, open
	} else if x.Cmp(f.min) == 0 {
		f.openMin = f.openMin || open
	}
}

// atMost lowers the upper bound.
func (f *numberFacts) atMost(x *big.Rat, open bool) {
	if f.max == nil || x.Cmp(f.max) < 0 {
		f.max, f.openMax = x, open
	} else if x.Cmp(f.max) == 0 {
		f.openMax = f.openMax || open
	}
}

// holds reports whether r is within the bounds and satisfies every multipleOf.
func (f *numberFacts) holds(r *big.Rat) bool {
	if f.min != nil && (r.Cmp(f.min) < 0 || f.openMin && r.Cmp(f.min) == 0) ||
		f.max != nil && (r.Cmp(f.max) > 0 || f.openMax && r.Cmp(f.max) == 0) {
		return false
	}
	is := func(m *big.Rat) bool { return new(big.Rat).Quo(r, m).IsInt() }
	return !slices.ContainsFunc(f.others, is) && !slices.ContainsFunc(f.multiples, func(m *big.Rat) bool { return !is(m) })
}

// empty reports whether no number, or no integer, is within the bounds.
func (f *numberFacts) empty(integers bool) bool {
	if f.min == nil || f.max == nil {
		return false
	}
	if cmp := f.min.Cmp(f.max); cmp > 0 || cmp == 0 && (f.openMin || f.openMax) {
		return true
	}
	if !integers {
		return false
	}
	least := new(big.Int).Div(f.min.Num(), f.min.Denom()) // the floor: denominators are positive
	if !f.min.IsInt() || f.openMin {
		least.Add(least, big.NewInt(1))
	}
	x := new(big.Rat).SetInt(least)
	return x.Cmp(f.max) > 0 || f.openMax && x.Cmp(f.max) == 0
}

// numbersOf returns the conjunction of a clause's constraints on numbers.
func numbersOf(cl *clause) *numberFacts {
	f := &numberFacts{}
	for _, s := range cl.atoms {
		n := s.number
		if n == nil {
			continue
		}
		if n.min != nil {
			f.atLeast(n.min, n.openMin)
		}
		if n.max != nil {
			f.atMost(n.max, n.openMax)
		}
		f.multiples, f.others = append(f.multiples, n.multiples...), append(f.others, n.others...)
	}
	return f
}

// key returns the same text for the same set of numbers.
func (f *numberFacts) key(of types) string {
	key := append(make([]byte, 0, 64), byte(of))
	rat := func(r *big.Rat, mark byte) {
		if key = append(key, mark); r != nil && r.IsInt() {
			key = r.Num().Append(key, 10)
		} else if r != nil {
			key = append(key, r.String()...)
		}
	}
	bound := func(open bool) byte {
		if open {
			return '('
		}
		return '['
	}
	rat(f.min, bound(f.openMin))
	rat(f.max, bound(f.openMax))
	for _, m := range f.multiples {
		rat(m, '*')
	}
	for _, m := range f.others {
		rat(m, '/')
	}
	return string(key)
}

// numberRule returns the rule of the numbers of a clause.
func (c *compiler) numberRule(cl *clause) (pushdown.ID, error) {
	f := numbersOf(cl)
	if f.empty(cl.types == integerType) {
		return never, nil
	}
	var ids []pushdown.ID
	for _, part := range c.between(f, c.excluded(cl)) {
		d, err := c.numberDFA(cl, part)
		if err != nil {
			return never, err
		}
		id, err := c.text(pushdown.Text{DFA: d})
		if err != nil {
			return never, err
		}
		ids = append(ids, id)
	}
	return c.any(ids)
}

// between returns the parts of a range that remain without some numbers.
func (c *compiler) between(f *numberFacts, without []*value) []*numberFacts {
	var points []*big.Rat
	for _, v := range without {
		if r, err := v.rational(); err == nil && f.holds(r) {
			points = append(points, r)
		}
	}
	slices.SortFunc(points, (*big.Rat).Cmp)
	var parts []*numberFacts
	for _, r := range points {
		if c.step(4) != nil {
			break // the next step fails
		}
		part := *f
		part.atMost(r, true)
		f.atLeast(r, true)
		parts = append(parts, &part)
	}
	return append(parts, f)
}

func (c *compiler) numberDFA(cl *clause, f *numberFacts) (*automaton.DFA, error) {
	key := f.key(cl.types)
	if d, ok := c.ranges[key]; ok {
		return d, nil
	}
	r := automaton.Range{Min: f.min, Max: f.max, OpenMin: f.openMin, OpenMax: f.openMax, MultipleOf: f.multiples, Plain: f.others != nil || cl.types == fractionType}
	var d *automaton.DFA
	var err error
	switch {
	case f.empty(cl.types == integerType):
		d = automaton.Literals(nil)
	case cl.types == integerType:
		d, err = c.budget.Integers(r, c.limits)
	default:
		if d, err = c.budget.Numbers(r, c.limits); err == nil && cl.types == fractionType {
			d, err = c.budget.Intersect(d, fractions())
		}
	}
	for _, m := range f.others {
		if err == nil {
			d, err = c.withoutMultiples(d, m)
		}
	}
	if d, err = c.built(d, err, numberPlace(cl), numberKeyword(f)); err == nil {
		c.ranges[key] = d
	}
	return d, err
}

// withoutMultiples returns the numbers of d that are not multiples of m. d has no exponents.
func (c *compiler) withoutMultiples(d *automaton.DFA, m *big.Rat) (*automaton.DFA, error) {
	multiples, err := c.budget.Numbers(automaton.Range{MultipleOf: []*big.Rat{m}}, automaton.Limits{})
	if err != nil {
		return nil, err
	}
	return c.budget.Subtract(d, multiples)
}

// fractions returns the numbers that are not integers, without exponents.
func fractions() *automaton.DFA {
	digit := automaton.Class([]rune{'0', '9'}, automaton.UTF8)
	other := automaton.Class([]rune{'1', '9'}, automaton.UTF8)
	d, err := automaton.Compile(automaton.Concat(
		automaton.Repeat(automaton.Bytes("-"), 0, 1),
		automaton.Alternate(automaton.Bytes("0"), automaton.Concat(other, automaton.Repeat(digit, 0, -1))),
		automaton.Bytes("."), automaton.Repeat(digit, 0, -1), other, automaton.Repeat(digit, 0, -1)))
	if err != nil {
		panic(err) // a constant expression
	}
	return d
}

// numberPlace returns the first schema of a clause that constrains numbers.
func numberPlace(cl *clause) *schema {
	for _, s := range cl.atoms {
		if s.number != nil {
			return s
		}
	}
	return cl.seen[0]
}

func numberKeyword(f *numberFacts) string {
	switch {
	case f.multiples != nil || f.others != nil:
		return "multipleOf"
	case f.min != nil:
		return "minimum"
	}
	return "maximum"
}
