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

// Integer parses an integer as JSON Schema defines it: 245, 245.0 and 2.45e2 are the same.
// ok is false if literal is not a number, has a fraction or does not fit into 64 bits.
func Integer(literal string) (n int64, ok bool) {
	digits, ok := whole(literal)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// whole spells a number without fraction and exponent. ok reports whether that is possible
// with the digits of a 64-bit integer.
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

// unmarshal is [json.Unmarshal], but accepts 245.0 for an integer of t: encoding/json
// recognises integers by their spelling.
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

// respell spells the integers of a valid JSON value of type t as encoding/json reads them.
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
	_, _ = c.value(shapeOf(t)) // other errors are reported for the value as sent
	spelt.Write(b[last:])
	return spelt.Bytes(), changed
}

func isInteger(kind reflect.Kind) bool { return kind >= reflect.Int && kind <= reflect.Uint64 }

// outOfRange returns a message with the range of a numeric type t if sent, as encoding/json
// describes it, is a number of the kind of t outside the range.
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

// isNumber reports whether a literal is a number in JSON.
func isNumber(literal string) bool {
	return literal != "" && (literal[0] == '-' || literal[0] >= '0' && literal[0] <= '9')
}

// hasFraction reports whether a number is not an integer in JSON Schema.
func hasFraction(literal string) bool {
	x, err := strconv.ParseFloat(literal, 64)
	return err == nil && x != math.Trunc(x)
}
