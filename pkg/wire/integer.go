package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxLiteral bounds a number that [Integer] reads, in bytes: no client writes a longer one.
const maxLiteral = 64

// Integer reads a number as JSON Schema knows integers: 245, 245.0 and 2.45e2 are the same
// one. Ok is false for what has a fraction, is no number, or is no 64-bit integer.
func Integer(literal string) (n int64, ok bool) {
	digits, ok := whole(literal)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// whole spells a number without a fraction and an exponent, which ok says is possible in
// the digits that any integer type has.
func whole(literal string) (digits string, ok bool) {
	if len(literal) > maxLiteral {
		return "", false
	}
	text, sign := literal, ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text, sign = rest, "-"
	}
	exponent := 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		n, err := strconv.Atoi(text[at+1:])
		if err != nil || n < -maxLiteral || n > maxLiteral {
			return "", false
		}
		text, exponent = text[:at], n
	}
	before, after, _ := strings.Cut(text, ".")
	text, exponent = before+after, exponent-len(after)
	if before == "" || strings.Trim(text, "0123456789") != "" {
		return "", false
	}
	for ; exponent < 0 && len(text) > 1 && text[len(text)-1] == '0'; exponent++ {
		text = text[:len(text)-1]
	}
	if text = strings.TrimLeft(text, "0"); text == "" {
		return "0", true
	}
	if exponent < 0 || len(text)+exponent > len("18446744073709551615") {
		return "", false
	}
	return sign + text + strings.Repeat("0", exponent), true
}

// unmarshal is [json.Unmarshal] that takes 245.0 where t has an integer: encoding/json
// knows integers by their spelling.
func unmarshal(b []byte, v any, t reflect.Type) error {
	err := json.Unmarshal(b, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || !isInteger(e.Type.Kind()) || !strings.ContainsAny(e.Value, ".eE") {
		return err
	}
	spelt, changed := respell(b, t)
	if !changed {
		return err
	}
	reflect.ValueOf(v).Elem().SetZero()
	return json.Unmarshal(spelt, v)
}

// respell spells the integers of a JSON value of type t, which is valid, as encoding/json
// reads them.
func respell(b []byte, t reflect.Type) (out []byte, changed bool) {
	var spelt bytes.Buffer
	last := 0
	c := checker{b: b, integer: func(from, to int) {
		if literal := string(b[from:to]); strings.ContainsAny(literal, ".eE") {
			if digits, ok := whole(literal); ok {
				spelt.Write(b[last:from])
				spelt.WriteString(digits)
				last, changed = to, true
			}
		}
	}}
	_, _ = c.value(shapeOf(t)) // what else is wrong is said of the value as it was sent
	spelt.Write(b[last:])
	return spelt.Bytes(), changed
}

func isInteger(kind reflect.Kind) bool { return kind >= reflect.Int && kind <= reflect.Uint64 }

// outOfRange says between which numbers a value of type t is, if the number that was sent,
// as encoding/json describes it, is one but not between them.
func outOfRange(t reflect.Type, sent string) (message string, ok bool) {
	literal, ok := strings.CutPrefix(sent, "number ")
	if !ok || !isNumber(literal) {
		return "", false
	}
	switch kind := t.Kind(); {
	case kind == reflect.Float64 || kind == reflect.Float32:
		return fmt.Sprintf("must be a number from -%g to %g, not %.40s", math.MaxFloat64, math.MaxFloat64, literal), true
	case !isInteger(kind) || hasFraction(literal):
		return "", false
	case kind >= reflect.Uint:
		return fmt.Sprintf("must be an integer from 0 to %d, not %.40s", uint64(math.MaxUint64)>>(64-t.Bits()), literal), true
	}
	most := int64(math.MaxInt64) >> (64 - t.Bits())
	return fmt.Sprintf("must be an integer from %d to %d, not %.40s", -most-1, most, literal), true
}

// isNumber tells whether a literal is a number in JSON.
func isNumber(literal string) bool {
	return literal != "" && (literal[0] == '-' || literal[0] >= '0' && literal[0] <= '9')
}

// hasFraction tells whether a number is none that JSON Schema has for an integer.
func hasFraction(literal string) bool {
	x, err := strconv.ParseFloat(literal, 64)
	return err == nil && x != math.Trunc(x)
}
