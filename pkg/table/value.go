package table

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// depth is the deepest nesting of lists and maps. Source: Developer Guide, "Quotas in
// Amazon DynamoDB", nested attribute depth.
const depth = 32

// An attribute is a value in the service's format, an object with one member: the type's name
// and the value. Source: Low-level API, "Data type descriptors".
type attribute = map[string]any

func textAttribute(s string) attribute { return attribute{"S": s} }

// encode returns the attributes of an item. Its errors name the attribute but do not
// contain the value.
func encode(item map[string]any, level int) (map[string]any, error) {
	out := make(map[string]any, len(item))
	for name, v := range item {
		a, err := encodeValue(v, level)
		if err == nil && !utf8.ValidString(name) {
			err = errors.New("a name that is not UTF-8 cannot be stored")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		out[name] = a
	}
	return out, nil
}

// encodeValue returns the attribute of a value at a nesting level.
func encodeValue(v any, level int) (attribute, error) {
	switch v := v.(type) {
	case nil:
		return attribute{"NULL": true}, nil
	case bool:
		return attribute{"BOOL": v}, nil
	case string:
		if !utf8.ValidString(v) { // it would come back changed
			return nil, errors.New("a string that is not UTF-8 cannot be stored")
		}
		return textAttribute(v), nil
	case json.Number:
		return number(v.String())
	case int:
		return number(strconv.Itoa(v))
	case int64:
		return number(strconv.FormatInt(v, 10))
	case float64:
		return number(strconv.FormatFloat(v, 'g', -1, 64))
	case []any, map[string]any, Item:
		if level == depth {
			return nil, fmt.Errorf("more than %d levels cannot be stored", depth)
		}
		return encodeNested(v, level+1)
	}
	return nil, fmt.Errorf("a value of the type %T cannot be stored", v)
}

// encodeNested returns the attribute of a list or a map.
func encodeNested(v any, level int) (attribute, error) {
	list, ok := v.([]any)
	if !ok {
		m, ok := v.(map[string]any)
		if !ok {
			m = v.(Item)
		}
		attributes, err := encode(m, level)
		return attribute{"M": attributes}, err
	}
	out := make([]attribute, len(list))
	for i := range list {
		var err error
		if out[i], err = encodeValue(list[i], level); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return attribute{"L": out}, nil
}

// number returns the attribute of a JSON number that is 0 or has up to 38 digits and a
// magnitude of 1e-130 to 1e126. The service's own error would contain the value.
// Source: Developer Guide, "Data types", number.
func number(text string) (attribute, error) {
	if !json.Valid([]byte(text)) || !strings.Contains("-0123456789", text[:1]) || text[len(text)-1] <= ' ' {
		return nil, errors.New("what is not a JSON number cannot be stored as one")
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return attribute{"N": "0"}, nil
	}
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	exponent += len(digits) - len(fraction) - 1 // of the first digit
	digits = strings.TrimRight(digits, "0")
	if err != nil || len(digits) > 38 || exponent > 125 || exponent < -130 {
		return nil, errors.New("a number of more than 38 digits or beyond 1e-130 to 1e126 cannot be stored")
	}
	return attribute{"N": text}, nil
}

// decode returns the item of attributes: sets become lists, bytes base64.
func decode(attributes any) Item {
	members, _ := attributes.(map[string]any)
	item := make(Item, len(members))
	for name, a := range members {
		item[name] = decodeValue(a)
	}
	return item
}

func decodeValue(a any) any {
	typed, _ := a.(attribute)
	for kind, v := range typed {
		switch kind {
		case "S", "BOOL", "B":
			return v
		case "N":
			return decodeNumber(v)
		case "M":
			return map[string]any(decode(v))
		case "L":
			return listOf(v, decodeValue)
		case "SS", "BS":
			return listOf(v, func(v any) any { return v })
		case "NS":
			return listOf(v, decodeNumber)
		}
	}
	return nil // NULL
}

// decodeNumber returns a number, which the service sends as a text.
func decodeNumber(v any) any {
	text, _ := v.(string)
	return json.Number(text)
}

func listOf(v any, of func(any) any) []any {
	values, _ := v.([]any)
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = of(v)
	}
	return list
}
