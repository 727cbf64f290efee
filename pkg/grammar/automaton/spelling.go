package automaton

// A number describes a language of spellings of numbers.
type number struct {
	integer, digits, exponent int  // most digits: before the point, in all, of the exponent; 0: unbounded
	top                       int  // the largest exponent; infinite: unbounded
	whole, plain              bool // no fraction; no exponent
	noZero                    bool // excludes "-0"
	sides                     [2]side
	multiple                  *multiple // nil: any
}

const infinite = 1 << 20

// A side bounds the numbers above zero, or the magnitudes of those below it.
type side struct {
	none      bool
	low, high *bound // nil: none
}

type phase uint8

const (
	atStart phase = iota
	afterSign
	afterZero
	inInteger
	afterPoint
	inFraction
	afterE
	afterPlus
	afterMinus
	inExponent
	inNegative // exponent
)

// A spelling is the state of a number after some bytes.
type spelling struct {
	phase     phase
	side      int8
	digits    int32 // capped where they stop mattering
	exponent  int32 // its value, capped where it stops mattering
	low, high order
	rest      remainder
}

// dfa returns the automaton of the language.
func (n *number) dfa(budget *Budget) (*DFA, error) {
	const alphabet = "+-.0123456789Ee"
	return explore(budget, spelling{}, func(s spelling, edge func(lo, hi byte, to spelling)) (bool, bool) {
		_ = budget.Spend(60, 300) // explore reports it
		for i := range len(alphabet) {
			if to, ok := n.after(s, alphabet[i]); ok {
				edge(alphabet[i], alphabet[i], to)
			}
		}
		return n.accepts(s), false
	})
}

// after returns the spelling after b; RFC 8259, section 6.
func (n *number) after(s spelling, b byte) (spelling, bool) {
	switch {
	case '0' <= b && b <= '9':
		return n.digit(s, b)
	case b == '-' && s.phase == atStart:
		s.phase, s.side = afterSign, 1
		return s, !n.sides[1].none
	case b == '-' && s.phase == afterE:
		s.phase = afterMinus
		return s, true
	case b == '+' && s.phase == afterE:
		s.phase = afterPlus
		return s, true
	case b == '.' && (s.phase == afterZero || s.phase == inInteger) && !n.whole:
		return n.point(s)
	case b|0x20 == 'e' && (s.phase == afterZero || s.phase == inInteger || s.phase == inFraction) && !n.whole && !n.plain:
		return spelling{phase: afterE, side: s.side}, true
	}
	return s, false
}

func (n *number) digit(s spelling, b byte) (spelling, bool) {
	side := &n.sides[s.side]
	switch s.phase {
	case atStart, afterSign, inInteger:
		if s.phase == inInteger {
			s.digits++
		} else if s.phase, s.digits = inInteger, 1; b == '0' {
			s.phase = afterZero
		}
		if side.none || b == '0' && n.noZero && s.side == 1 && s.phase == afterZero || n.tooLong(&s) {
			return s, false
		}
		s.low, s.high = side.low.integer(s.low, b), side.high.integer(s.high, b)
		s.rest = n.multiple.integer(s.rest, b)
		return s, !s.high.beyond()
	case afterPoint, inFraction:
		s.phase = inFraction
		s.digits++
		if n.tooLong(&s) {
			return s, false
		}
		s.low, s.high = side.low.fraction(s.low, b), side.high.fraction(s.high, b)
		ok := true
		s.rest, ok = n.multiple.fraction(s.rest, b)
		return s, ok && !s.high.beyond()
	case afterE, afterPlus, afterMinus, inExponent, inNegative:
		return n.power(s, b)
	}
	return s, false
}

// tooLong reports whether there are too many digits. It does not count unbounded ones.
func (n *number) tooLong(s *spelling) bool {
	fraction := s.phase == inFraction
	if n.digits == 0 && (fraction || n.integer == 0) {
		s.digits = 0
	}
	return n.digits > 0 && int(s.digits) > n.digits || !fraction && n.integer > 0 && int(s.digits) > n.integer
}

func (n *number) point(s spelling) (spelling, bool) {
	side := &n.sides[s.side]
	s.phase = afterPoint
	s.low, s.high = side.low.point(s.low), side.high.point(s.high)
	var ok bool
	s.rest, ok = n.multiple.point(s.rest)
	return s, ok && !s.high.beyond()
}

// power reads a digit of the exponent.
func (n *number) power(s spelling, b byte) (spelling, bool) {
	if s.phase == afterMinus || s.phase == inNegative {
		s.phase = inNegative
	} else {
		s.phase = inExponent
		if n.top < infinite {
			s.exponent = 10*s.exponent + int32(b-'0')
		}
	}
	if n.exponent > 0 {
		s.digits++
	}
	return s, int(s.digits) <= n.exponent && int(s.exponent) <= n.top
}

func (n *number) accepts(s spelling) bool {
	switch s.phase {
	case inExponent, inNegative:
		return true
	case afterZero, inInteger, inFraction:
		side, fraction := &n.sides[s.side], s.phase == inFraction
		return side.low.admits(s.low, fraction, 1) && side.high.admits(s.high, fraction, -1) && n.multiple.admits(s.rest, fraction)
	}
	return false
}

// A bound is a nonnegative decimal.
type bound struct {
	whole, part string // digits before the point, at least one; after it, the last not 0
	open        bool
}

// An order is the comparison of the digits so far with those of a bound.
type order struct {
	at   int32 // digits compared; decided if the rest cannot matter
	sign int8
}

const decided = -1

func (o order) beyond() bool { return o == order{decided, 1} }

func (b *bound) integer(o order, digit byte) order {
	switch {
	case b == nil || o.at == decided:
		return o
	case int(o.at) == len(b.whole):
		return order{decided, 1}
	case o.sign == 0:
		o.sign = sign(digit, b.whole[o.at])
	}
	o.at++
	return o
}

func (b *bound) point(o order) order {
	switch {
	case b == nil || o.at == decided:
		return o
	case int(o.at) < len(b.whole):
		return order{decided, -1}
	case o.sign != 0:
		return order{decided, o.sign}
	}
	return order{}
}

func (b *bound) fraction(o order, digit byte) order {
	if b == nil || o.at == decided {
		return o
	}
	expect := byte('0')
	if int(o.at) < len(b.part) {
		expect = b.part[o.at]
		o.at++
	}
	if s := sign(digit, expect); s != 0 {
		return order{decided, s}
	}
	return o
}

// admits reports whether a number that ends here is in the range: it is on the given side
// of the bound, or equal to a bound that is included.
func (b *bound) admits(o order, fraction bool, side int8) bool {
	if b == nil {
		return true
	}
	if !fraction {
		o = b.point(o)
	}
	if o.at != decided && int(o.at) < len(b.part) {
		o = order{decided, -1}
	}
	return o.sign == side || o.sign == 0 && !b.open
}

func sign(a, b byte) int8 {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
