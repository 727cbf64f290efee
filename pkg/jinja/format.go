package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A spec is a conversion of a %-format.
type spec struct {
	key                            string
	keyed                          bool
	minus, plus, blank, zero, hash bool
	width, precision               int // precision -1: none
	verb                           byte
}

// format is Python's text % args.
func (r *run) format(t text, args Value) text {
	r.scan(t.s)
	f := &formatter{r: r, args: []Value{args}}
	if args.kind == kindTuple {
		f.args = args.items()
	}
	f.dict, _ = args.ref.(*Dict)
	for i := 0; i < len(t.s); {
		n := strings.IndexByte(t.s[i:], '%')
		if n < 0 {
			f.write(t.slice(i, len(t.s)))
			break
		}
		f.write(t.slice(i, i+n))
		var s spec
		s, i = f.parse(t.s, i+n+1)
		if s.verb == '%' {
			f.write(t.slice(i-1, i))
			continue
		}
		f.convert(s)
	}
	// Python asks for a mapping, and takes all that can be indexed for one.
	mapping := args.kind == KindDict || args.kind == KindList || args.kind == kindRange || args.kind == KindUndefined
	if f.next < len(f.args) && !mapping {
		r.fail(Type, "not all arguments converted during string formatting")
	}
	return f.b.text()
}

type formatter struct {
	r    *run
	b    builder
	args []Value
	next int
	dict *Dict
}

func (f *formatter) write(t text) {
	f.r.alloc(len(t.s))
	f.b.writeText(t)
}

// arg returns the next argument.
func (f *formatter) arg() Value {
	if f.next >= len(f.args) {
		f.r.fail(Type, "not enough arguments for format string")
	}
	f.next++
	return f.args[f.next-1]
}

// parse reads a conversion behind its percent sign.
func (f *formatter) parse(s string, i int) (spec, int) {
	c := spec{precision: -1}
	at := func() byte {
		if i >= len(s) {
			f.r.fail(Type, "incomplete format")
		}
		return s[i]
	}
	if at() == '(' {
		depth, from := 0, i+1
		for ; ; i++ {
			switch at() {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		c.key, c.keyed = s[from:i], true
		i++
	}
	for done := false; !done; {
		switch at() {
		case '-':
			c.minus = true
		case '+':
			c.plus = true
		case ' ':
			c.blank = true
		case '0':
			c.zero = true
		case '#':
			c.hash = true
		default:
			done = true
			i--
		}
		i++
	}
	number := func() int {
		if at() == '*' {
			i++
			return f.r.wantInt("*", f.arg())
		}
		n := 0
		for ; isDecimal(at()); i++ {
			if n = n*10 + int(s[i]-'0'); n > 1<<20 {
				f.r.fail(Limit, "the width or precision of a format is too large")
			}
		}
		return n
	}
	if c.width = number(); c.width < 0 {
		c.minus, c.width = true, -c.width
	}
	if at() == '.' {
		i++
		c.precision = max(number(), 0)
	}
	for strings.IndexByte("hlL", at()) >= 0 {
		i++
	}
	c.verb = at()
	return c, i + 1
}

// convert writes one converted argument.
func (f *formatter) convert(c spec) {
	r := f.r
	var v Value
	if c.keyed {
		if f.dict == nil {
			r.fail(Type, "format requires a mapping")
		}
		e, ok := f.dict.Get(c.key)
		if !ok {
			r.fail(Type, "the format's key %s is missing", quote(c.key))
		}
		v = e
	} else {
		v = f.arg()
	}
	switch c.verb {
	case 's', 'r', 'a':
		f.pad(c, f.text(c, v), 0)
	case 'c':
		f.pad(c, f.char(v), 0)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		f.integer(c, v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f.float(c, v)
	default:
		r.fail(Type, "unsupported format character %q", c.verb)
	}
}

func (f *formatter) text(c spec, v Value) text {
	var t text
	if c.verb == 's' {
		t = f.r.str(v)
	} else {
		var b builder
		f.r.repr(&b, v)
		t = b.text()
		if c.verb == 'a' {
			t = t.mapped(asciiOnly)
		}
	}
	if c.precision >= 0 {
		t = t.slice(0, skipRunes(t.s, 0, c.precision))
	}
	return t
}

// asciiOnly escapes what is not ASCII.
func asciiOnly(s string) string {
	q := strconv.QuoteToASCII(s)
	if isASCII(s) {
		return s
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

func (f *formatter) char(v Value) text {
	if v.kind == KindString && utf8.RuneCountInString(v.str) == 1 {
		return v.text()
	}
	n := f.r.wantInt("%c", v)
	if n < 0 || n > 0x10ffff {
		f.r.fail(Type, "%%c arg not in range(0x110000)")
	}
	return text{s: string(rune(n)), trusted: v.trusted}
}

func (f *formatter) integer(c spec, v Value) {
	f.r.refuseUndefined(v)
	if !isNumber(v) || v.kind == KindFloat && strings.IndexByte("xXo", c.verb) >= 0 {
		f.r.fail(Type, "%%%c format: a number is required, not %s", c.verb, v.typeName())
	}
	if v.kind == KindFloat {
		v = f.r.truncated(v)
	}
	n := v.big()
	base, prefix := 10, ""
	switch c.verb {
	case 'x', 'X':
		base, prefix = 16, "0"+string(c.verb)
	case 'o':
		base, prefix = 8, "0o"
	}
	digits := strings.TrimPrefix(n.Text(base), "-")
	if c.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if len(digits) < c.precision {
		f.r.alloc(c.precision)
		digits = strings.Repeat("0", c.precision-len(digits)) + digits
	}
	if c.hash && base != 10 {
		digits = prefix + digits
	}
	sign := c.sign(n.Sign() < 0)
	keep := len(sign)
	if c.hash && base != 10 {
		keep += 2
	}
	f.pad(c, text{s: sign + digits, trusted: v.trusted}, keep)
}

func (c *spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case c.plus:
		return "+"
	case c.blank:
		return " "
	}
	return ""
}

func (f *formatter) float(c spec, v Value) {
	f.r.refuseUndefined(v)
	if !isNumber(v) {
		f.r.fail(Type, "must be real number, not %s", v.typeName())
	}
	x, precision := f.r.toFloat(v), c.precision
	if precision < 0 {
		precision = 6
	}
	if precision > 1000 {
		f.r.fail(Limit, "the precision of a format is too large")
	}
	verb := "%" + strings.Repeat("#", btoi(c.hash)) + "." + itoa(precision) + string(c.verb)
	s := fmt.Sprintf(verb, math.Abs(x))
	if math.IsInf(x, 0) {
		s = "inf"
	} else if math.IsNaN(x) {
		s = "nan"
	}
	if c.verb < 'a' {
		s = strings.ToUpper(s)
	}
	sign := c.sign(math.Signbit(x) && !math.IsNaN(x))
	f.pad(c, text{s: sign + s, trusted: v.trusted}, len(sign))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pad writes t padded to the width; zeros go behind the first keep bytes.
func (f *formatter) pad(c spec, t text, keep int) {
	n := c.width - utf8.RuneCountInString(t.s)
	if n <= 0 {
		f.write(t)
		return
	}
	f.r.alloc(n)
	number := strings.IndexByte("diuxXoeEfFgG", c.verb) >= 0
	switch {
	case c.minus:
		f.write(t)
		f.write(trusted(strings.Repeat(" ", n)))
	case c.zero && number:
		f.write(t.slice(0, keep))
		f.write(trusted(strings.Repeat("0", n)))
		f.write(t.slice(keep, len(t.s)))
	default:
		f.write(trusted(strings.Repeat(" ", n)))
		f.write(t)
	}
}
