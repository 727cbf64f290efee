package tabletest

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A value is an AttributeValue in JSON: one field is set.
type value struct {
	S    *string           `json:",omitempty"`
	N    *string           `json:",omitempty"` // as formatted by decimal
	B    *[]byte           `json:",omitempty"`
	BOOL *bool             `json:",omitempty"`
	NULL *bool             `json:",omitempty"`
	M    *map[string]value `json:",omitempty"`
	L    *[]value          `json:",omitempty"`
	SS   *[]string         `json:",omitempty"` // sets are sorted
	NS   *[]string         `json:",omitempty"`
	BS   *[][]byte         `json:",omitempty"`
}

// An item is a map of attributes. Its values are never changed in place.
type item map[string]value

// kind returns the name of the field that is set.
func (v value) kind() string {
	r := reflect.ValueOf(v)
	for i := range r.NumField() {
		if !r.Field(i).IsNil() {
			return r.Type().Field(i).Name
		}
	}
	return ""
}

// single checks that exactly one field is set.
func (v value) single() error {
	set, r := 0, reflect.ValueOf(v)
	for i := range r.NumField() {
		if !r.Field(i).IsNil() {
			set++
		}
	}
	switch {
	case set == 0:
		return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case set > 1:
		return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	case v.NULL != nil && !*v.NULL:
		return invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
	}
	return nil
}

// normal returns the value as it is stored, or the reason why it is invalid.
func (v value) normal(depth int) (value, error) {
	if err := v.single(); err != nil {
		return v, err
	}
	if depth > 32 {
		return v, invalid("Nesting Levels have exceeded supported limits")
	}
	var err error
	switch {
	case v.N != nil:
		var n string
		n, err = decimal(*v.N)
		v.N = &n
	case v.M != nil:
		var m item
		m, err = item(*v.M).normal(depth + 1)
		v.M = (*map[string]value)(&m)
	case v.L != nil:
		list := make([]value, len(*v.L))
		for i, e := range *v.L {
			if list[i], err = e.normal(depth + 1); err != nil {
				return v, err
			}
		}
		v.L = &list
	case v.SS != nil:
		v.SS, err = distinct(*v.SS, strings.Compare, "An string set  may not be empty")
	case v.NS != nil:
		for i, n := range *v.NS {
			if (*v.NS)[i], err = decimal(n); err != nil {
				return v, err
			}
		}
		v.NS, err = distinct(*v.NS, func(a, b string) int { return number(a).Cmp(number(b)) }, "An number set  may not be empty")
	case v.BS != nil:
		v.BS, err = distinct(*v.BS, bytes.Compare, "Binary sets should not be empty")
	}
	return v, err
}

// normal returns the item as it is stored, or the reason why it is invalid.
func (i item) normal(depth int) (item, error) {
	out := make(item, len(i))
	for name, v := range i {
		kept, err := v.normal(depth)
		if err != nil {
			return nil, err
		}
		out[name] = kept
	}
	return out, nil
}

// distinct sorts the elements of a set, which must not be empty or have duplicates.
func distinct[T any](elements []T, compare func(a, b T) int, empty string) (*[]T, error) {
	if len(elements) == 0 {
		return nil, invalid("One or more parameter values were invalid: " + empty)
	}
	slices.SortFunc(elements, compare)
	for i := range elements[1:] {
		if compare(elements[i], elements[i+1]) == 0 {
			return nil, invalid(fmt.Sprintf("One or more parameter values were invalid: Input collection %v contains duplicates.", elements))
		}
	}
	return &elements, nil
}

// decimal normalises a number: without an exponent and without insignificant zeros. It
// has up to 38 digits and a magnitude of 1E-130 to 9.99...E+125.
func decimal(text string) (string, error) {
	m := regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,9}))?$`).FindStringSubmatch(text)
	if m == nil {
		return "", invalid("The parameter cannot be converted to a numeric value: " + text)
	}
	whole, fraction, _ := strings.Cut(m[1], ".")
	exponent, _ := strconv.Atoi(m[2])
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent += len(digits) - len(fraction) - 1 // of the first digit
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return "0", nil
	case len(digits) > 38:
		return "", invalid("Attempting to store more than 38 significant digits in a Number")
	case exponent > 125:
		return "", invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exponent < -130:
		return "", invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return spell(number(text)), nil
}

// number parses the output of decimal.
func number(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

// spell formats a number whose denominator is a product of 2 and 5.
func spell(r *big.Rat) string {
	places, _ := r.FloatPrec()
	return r.FloatString(places)
}

// size returns the size of an item as it counts against the limit of 400 KB, in bytes.
// Source: Developer Guide, "DynamoDB item sizes and formats".
func (i item) size() int {
	n := 0
	for name, v := range i {
		n += len(name) + v.size()
	}
	return n
}

func (v value) size() int {
	n := 0
	switch {
	case v.S != nil:
		return len(*v.S)
	case v.N != nil:
		return len(*v.N)/2 + 1
	case v.B != nil:
		return len(*v.B)
	case v.M != nil:
		return 3 + item(*v.M).size() + len(*v.M)
	case v.L != nil:
		n = 3
		for _, e := range *v.L {
			n += 1 + e.size()
		}
	case v.SS != nil:
		for _, e := range *v.SS {
			n += len(e)
		}
	case v.NS != nil:
		for _, e := range *v.NS {
			n += len(e)/2 + 1
		}
	case v.BS != nil:
		for _, e := range *v.BS {
			n += len(e)
		}
	default: // BOOL, NULL
		return 1
	}
	return n
}
