package jsonschema

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"glossa/pkg/grammar/fault"
)

// maxDigits bounds the digits of a number in a schema, written without an exponent.
const maxDigits = 400

// rational returns the exact value of a number.
func (v *value) rational() (*big.Rat, error) {
	if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
		return new(big.Rat).SetInt64(n), nil
	}
	_, exponent, ok := strings.Cut(strings.ToLower(v.text), "e")
	if ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxDigits || n < -maxDigits {
			return nil, v.tooLong()
		}
	}
	if len(v.text) > maxDigits {
		return nil, v.tooLong()
	}
	r, ok := new(big.Rat).SetString(v.text)
	if !ok {
		return nil, v.tooLong()
	}
	return r, nil
}

func (v *value) tooLong() error {
	return fault.New(v.pointer(), "", "the number has more than %d digits", maxDigits)
}

// decimal writes a number without an exponent, and an integer without a fraction: equal
// numbers have equal texts.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	// A decimal fraction p/q in lowest terms has q = 2^a 5^b and max(a, b) places.
	places, _ := r.FloatPrec()
	return r.FloatString(places)
}

// count returns a number of characters, items or members, a billion at most.
func (v *value) count() (n int, ok bool) {
	const most = 1e9
	if v.kind != numberKind {
		return 0, false
	}
	r, err := v.rational()
	if err != nil || !r.IsInt() || r.Sign() < 0 {
		return 0, false
	}
	if f, _ := r.Float64(); f > most || math.IsInf(f, 0) {
		return most, true
	}
	return int(r.Num().Int64()), true
}
