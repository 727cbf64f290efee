package wire

import (
	"math"
	"net/url"
	"reflect"
	"strconv"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// DecodeQuery decodes a query string into v, which points to the struct of the table, and
// checks it. It does not change fields that the query string does not name, so that a body
// can be decoded first. Unknown and duplicate keys are errors that name the key.
func (t *Table) DecodeQuery(raw string, v any) error {
	if err := unmarshalQuery(raw, reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	return t.Check("", v)
}

func unmarshalQuery(raw string, v reflect.Value) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return &llm.Error{Code: llm.Invalid, Message: "the query string is malformed", Err: err}
	}
	for name, list := range values {
		index := indexOf(v.Type(), name)
		switch {
		case !utf8.ValidString(name):
			return Invalid("", "the query string is not valid UTF-8")
		case index == nil:
			return &llm.Error{Code: UnknownParam, Param: name, Message: "unknown parameter"}
		case len(list) > 1:
			return Invalid(name, "appears twice")
		}
		if message := setText(v.FieldByIndex(index), list[0]); message != "" {
			return Invalid(name, "%s", message)
		}
	}
	return nil
}

// setText parses text into a field. It returns an error message, or "".
func setText(field reflect.Value, text string) (message string) {
	switch p := field.Addr().Interface().(type) {
	case *string:
		if !utf8.ValidString(text) {
			return "not valid UTF-8"
		}
		*p = text
	case **int:
		n, ok := Integer(text)
		if !ok || int64(int(n)) != n {
			return "must be an integer"
		}
		*p = new(int(n))
	case **float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return "must be a number"
		}
		*p = &x
	default:
		return "cannot be sent in the query string"
	}
	return ""
}
