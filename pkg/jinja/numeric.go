package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func filterAbs(r *run, v Value, a *arguments) Value {
	r.only("abs", a, 0, 0)
	r.refuseUndefined(v)
	if !isNumber(v) {
		r.fail(Type, "bad operand type for abs: %s", quote(v.typeName()))
	}
	if v.kind == KindFloat {
		return floatValue(math.Abs(v.float()), v.trusted)
	}
	return bigValue(new(big.Int).Abs(v.big()), v.trusted)
}

// truncated is Python's int of a float.
func (r *run) truncated(v Value) Value {
	f := v.float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.fail(Type, "cannot convert %s to an integer", formatFloat(f))
	}
	b, _ := big.NewFloat(f).Int(nil)
	return bigValue(b, v.trusted)
}

// asciiDigits replaces the decimal digits of all scripts by those of ASCII.
func asciiDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf || !unicode.IsDigit(c) {
			return c
		}
		first := c // of one or more sets of ten digits
		for unicode.IsDigit(first - 1) {
			first--
		}
		return '0' + (c-first)%10
	}, s)
}

// parseFloat is Python's float of a string.
func parseFloat(s string) (float64, bool) {
	s = asciiDigits(strings.TrimFunc(s, isSpace))
	body := strings.ToLower(strings.TrimLeft(s, "+-"))
	switch body {
	case "inf", "infinity", "nan":
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	for i := range len(body) {
		c := body[i]
		between := c == '_' && i > 0 && i+1 < len(body) && isDecimal(body[i-1]) && isDecimal(body[i+1])
		if !isDecimal(c) && strings.IndexByte(".e+-", c) < 0 && !between {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// parseInt is Python's int of a string.
func parseInt(s string, base int) (*big.Int, bool) {
	s = asciiDigits(strings.TrimFunc(s, isSpace))
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	if len(s) >= 2 && s[0] == '0' && (base == 0 || base == 2 || base == 8 || base == 16) {
		if b := map[byte]int{'b': 2, 'o': 8, 'x': 16}[s[1]|0x20]; b != 0 && (base == 0 || base == b) {
			base, s = b, strings.TrimPrefix(s[2:], "_")
		}
	}
	if base == 0 {
		base = 10
		if len(s) > 1 && s[0] == '0' && strings.Trim(s, "0_") != "" {
			return nil, false
		}
	}
	if s == "" || len(s) > maxDigits || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") || strings.ContainsAny(s, "+-") {
		return nil, false
	}
	return new(big.Int).SetString(sign+strings.ReplaceAll(s, "_", ""), base)
}

func filterInt(r *run, v Value, a *arguments) Value {
	args := r.bind("int", a, 0, "default", "base")
	r.refuseUndefined(v)
	def, base := integer(0), 10
	if args[0].kind != kindMissing {
		def = args[0]
	}
	if args[1].kind != kindMissing {
		if base = r.wantInt("int", args[1]); base != 0 && (base < 2 || base > 36) {
			return def // ValueError in Python, which the filter catches
		}
	}
	f := math.NaN()
	switch v.kind {
	case KindString:
		r.scan(v.str)
		if b, ok := parseInt(v.str, base); ok {
			return bigValue(b, v.trusted)
		}
		if x, ok := parseFloat(v.str); ok {
			f = x
		}
	case KindBool, KindInt:
		return bigValue(v.big(), v.trusted)
	case KindFloat:
		if f = v.float(); math.IsInf(f, 0) {
			r.fail(Type, "cannot convert infinity to an integer")
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return def
	}
	return r.truncated(floatValue(f, v.trusted))
}

func filterFloat(r *run, v Value, a *arguments) Value {
	args := r.bind("float", a, 0, "default")
	r.refuseUndefined(v)
	switch {
	case isNumber(v):
		return floatValue(r.toFloat(v), v.trusted)
	case v.kind == KindString:
		r.scan(v.str)
		if f, ok := parseFloat(v.str); ok {
			return floatValue(f, v.trusted)
		}
	}
	if args[0].kind != kindMissing {
		return args[0]
	}
	return floatValue(0, true)
}

func filterRound(r *run, v Value, a *arguments) Value {
	args := r.bind("round", a, 0, "precision", "method")
	precision, how := 0, "common"
	if args[0].kind != kindMissing {
		precision = r.wantInt("round", args[0])
	}
	if args[1].kind != kindMissing {
		how = r.wantString("round", args[1]).s
	}
	r.refuseUndefined(v)
	if !isNumber(v) {
		r.fail(Type, "round wants a number, not %s", v.typeName())
	}
	if precision < -400 || precision > 400 {
		r.fail(Limit, "the precision of round is too large")
	}
	switch how {
	case "common":
		if v.kind != KindFloat {
			return roundInt(v, precision)
		}
		return floatValue(roundFloat(v.float(), precision), v.trusted)
	case "ceil", "floor":
		scale := integer(10)
		scale = r.binary("**", scale, integer(precision))
		x := r.binary("*", v, scale)
		if x.kind == KindFloat {
			f := math.Ceil(x.float())
			if how == "floor" {
				f = math.Floor(x.float())
			}
			x = r.truncated(floatValue(f, v.trusted))
		}
		return r.binary("/", x, scale)
	}
	r.fail(Type, "the method of round must be 'common', 'ceil' or 'floor'")
	return Value{}
}

// roundFloat rounds to decimals, a tie to even, on the exact value.
func roundFloat(f float64, precision int) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	if precision >= 0 {
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
		return out
	}
	scale := math.Pow(10, float64(-precision))
	if math.IsInf(scale, 0) {
		return math.Copysign(0, f)
	}
	return math.RoundToEven(f/scale) * scale
}

// roundInt rounds an integer to tens, hundreds and so on, a tie to even.
func roundInt(v Value, precision int) Value {
	if precision >= 0 {
		return bigValue(v.big(), v.trusted)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-precision)), nil)
	low, rest := new(big.Int).DivMod(v.big(), unit, new(big.Int))
	switch new(big.Int).Lsh(rest, 1).Cmp(unit) {
	case 1:
		low.Add(low, big.NewInt(1))
	case 0:
		low.Add(low, big.NewInt(int64(low.Bit(0))))
	}
	return bigValue(low.Mul(low, unit), v.trusted)
}
