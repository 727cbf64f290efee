package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxBits bounds integers: Python itself refuses to print more than 4300 digits.
const maxBits = 14000

func itoa(n int) string { return strconv.Itoa(n) }

// binary evaluates an arithmetic operator.
func (r *run) binary(op string, a, b Value) Value {
	if op == "%" && a.kind == KindString {
		return textValue(r.format(r.text(a), b))
	}
	r.refuseUndefined(a)
	r.refuseUndefined(b)
	known := a.trusted && b.trusted
	if isNumber(a) && isNumber(b) {
		if a.kind == KindFloat || b.kind == KindFloat {
			return r.floats(op, r.toFloat(a), r.toFloat(b), known)
		}
		return r.integers(op, a, b, known)
	}
	switch {
	case op == "+":
		return r.add(a, b)
	case op == "*" && (isNumber(a) && a.kind != KindFloat):
		return r.repeat(b, a)
	case op == "*" && (isNumber(b) && b.kind != KindFloat):
		return r.repeat(a, b)
	}
	r.operands(op, a, b)
	return Value{}
}

func (r *run) operands(op string, a, b Value) {
	r.fail(Type, "unsupported operand types for %s: %s and %s", op, quote(a.typeName()), quote(b.typeName()))
}

// add concatenates strings, lists or tuples.
func (r *run) add(a, b Value) Value {
	switch {
	case a.kind == KindString && b.kind == KindString:
		x, y := r.text(a), r.text(b)
		if a.markup() || b.markup() {
			if !a.markup() {
				x = escape(x)
			}
			if !b.markup() {
				y = escape(y)
			}
		}
		r.alloc(len(x.s) + len(y.s))
		t := join(x, y)
		if a.markup() || b.markup() {
			return markupValue(t)
		}
		return textValue(t)
	case a.kind == b.kind && (a.kind == KindList || a.kind == kindTuple):
		x, y := a.items(), b.items()
		r.allocItems(len(x) + len(y))
		items := make([]Value, 0, len(x)+len(y))
		return object(a.kind, &sequence{items: append(append(items, x...), y...)})
	case a.kind == KindString || a.kind == KindList || a.kind == kindTuple:
		r.fail(Type, "can only concatenate %s (not %q) to %s", a.typeName(), b.typeName(), a.typeName())
	}
	r.operands("+", a, b)
	return Value{}
}

// join concatenates two texts.
func join(x, y text) text {
	switch {
	case x.s == "":
		return y
	case y.s == "":
		return x
	case len(x.cuts) == 0 && len(y.cuts) == 0 && x.trusted == y.trusted:
		return text{s: x.s + y.s, trusted: x.trusted}
	}
	var b builder
	b.buf = make([]byte, 0, len(x.s)+len(y.s))
	b.writeText(x)
	b.writeText(y)
	return b.text()
}

// repeat repeats a string, a list or a tuple.
func (r *run) repeat(v, times Value) Value {
	n := times.int()
	if times.wide() && times.big().Sign() > 0 {
		n = math.MaxInt64
	}
	n = max(n, 0)
	fits := func(size int) {
		if size > 0 && n > int64(r.limits.Memory/size) {
			r.fail(Limit, "the template needs more than %d bytes of memory", r.limits.Memory)
		}
	}
	switch v.kind {
	case KindString:
		t := r.text(v)
		fits(len(t.s))
		r.alloc(len(t.s) * int(n))
		if t.s == "" || n == 0 {
			return Trusted("")
		}
		if len(t.cuts) == 0 {
			return textValue(text{s: strings.Repeat(t.s, int(n)), trusted: t.trusted})
		}
		var b builder
		for range n {
			b.writeText(t)
		}
		return textValue(b.text())
	case KindList, kindTuple:
		from := v.items()
		fits(len(from) * itemSize)
		if len(from) == 0 {
			n = 0
		}
		r.allocItems(len(from) * int(n))
		items := make([]Value, 0, len(from)*int(n))
		for range n {
			items = append(items, from...)
		}
		return object(v.kind, &sequence{items: items})
	}
	r.operands("*", v, times)
	return Value{}
}

// toFloat converts a number.
func (r *run) toFloat(v Value) float64 {
	switch {
	case v.kind == KindFloat:
		return v.float()
	case !v.wide():
		return float64(v.int())
	}
	f, _ := new(big.Float).SetInt(v.big()).Float64()
	if math.IsInf(f, 0) {
		r.fail(Type, "the integer is too large for a float")
	}
	return f
}

// floats is arithmetic on floats, with Python's signs for // and %.
func (r *run) floats(op string, x, y float64, known bool) Value {
	switch op {
	case "+":
		return floatValue(x+y, known)
	case "-":
		return floatValue(x-y, known)
	case "*":
		return floatValue(x*y, known)
	case "**":
		return r.power(x, y, known)
	}
	if y == 0 {
		r.fail(Type, "division by zero")
	}
	if op == "/" {
		return floatValue(x/y, known)
	}
	mod := math.Mod(x, y)
	div := (x - mod) / y
	if mod != 0 {
		if (y < 0) != (mod < 0) {
			mod += y
			div--
		}
	} else {
		mod = math.Copysign(0, y)
	}
	if op == "%" {
		return floatValue(mod, known)
	}
	if div == 0 {
		return floatValue(math.Copysign(0, x/y), known)
	}
	floor := math.Floor(div)
	if div-floor > 0.5 {
		floor++
	}
	return floatValue(floor, known)
}

func (r *run) power(x, y float64, known bool) Value {
	if x == 0 && y < 0 {
		r.fail(Type, "zero cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		r.fail(Unsupported, "complex numbers are not supported")
	}
	f := math.Pow(x, y)
	if n := math.Abs(y); n == math.Trunc(n) && n <= 1024 && x != 0 && !math.IsInf(x, 0) && !math.IsNaN(x) && f != 0 && !math.IsInf(f, 0) {
		// math.Pow is off by some units in the last place where C is exact.
		r.step(int(n))
		product := new(big.Float).SetPrec(256).SetInt64(1)
		for range int(n) {
			product.Mul(product, big.NewFloat(x))
		}
		if y < 0 {
			product.Quo(new(big.Float).SetPrec(256).SetInt64(1), product)
		}
		f, _ = product.Float64()
	}
	if math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		r.fail(Type, "the result is too large")
	}
	return floatValue(f, known)
}

// integers is arithmetic on integers and booleans.
func (r *run) integers(op string, a, b Value, known bool) Value {
	if b.num == 0 && !b.wide() && (op == "/" || op == "//" || op == "%") {
		r.fail(Type, "division by zero")
	}
	if small := func(v Value) bool { return !v.wide() && v.int() > -1<<31 && v.int() < 1<<31 }; small(a) && small(b) {
		i, j := a.int(), b.int()
		switch op {
		case "+":
			return intValue(i+j, known)
		case "-":
			return intValue(i-j, known)
		case "*":
			return intValue(i*j, known)
		}
	}
	x, y, out := a.big(), b.big(), new(big.Int)
	switch op {
	case "+":
		out.Add(x, y)
	case "-":
		out.Sub(x, y)
	case "*":
		out.Mul(x, y)
	case "/":
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		if x.Sign() == 0 && y.Sign() < 0 {
			f = math.Copysign(0, -1)
		}
		if math.IsInf(f, 0) {
			r.fail(Type, "the result is too large for a float")
		}
		return floatValue(f, known)
	case "//", "%":
		mod := new(big.Int)
		out.QuoRem(x, y, mod)
		if mod.Sign() != 0 && mod.Sign() != y.Sign() {
			out.Sub(out, big.NewInt(1))
			mod.Add(mod, y)
		}
		if op == "%" {
			out = mod
		}
	case "**":
		if y.Sign() < 0 {
			return r.power(r.toFloat(a), r.toFloat(b), known)
		}
		if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits || int64(x.BitLen()-1)*y.Int64() > maxBits) {
			r.fail(Limit, "the integer has too many digits")
		}
		if !y.IsInt64() || y.Int64() > maxBits {
			y = big.NewInt(2 + int64(y.Bit(0))) // the base is -1, 0 or 1
		}
		out.Exp(x, y, nil)
	}
	if out.BitLen() > maxBits {
		r.fail(Limit, "the integer has too many digits")
	}
	r.step(1 + out.BitLen()/64)
	return bigValue(out, known)
}

// sign evaluates a unary operator.
func (r *run) sign(op byte, v Value) Value {
	r.refuseUndefined(v)
	if !isNumber(v) {
		r.fail(Type, "bad operand type for unary %c: %s", op, quote(v.typeName()))
	}
	switch {
	case v.kind == KindFloat && op == '-':
		return floatValue(-v.float(), v.trusted)
	case v.kind == KindFloat:
		return v
	case op == '-':
		return bigValue(new(big.Int).Neg(v.big()), v.trusted)
	}
	return bigValue(v.big(), v.trusted)
}

// formatFloat is Python's repr of a float.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	exp, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// formatInt returns the digits of a value of KindInt or KindBool.
func formatInt(v Value) string {
	if v.wide() {
		return v.big().String()
	}
	return strconv.FormatInt(v.int(), 10)
}
