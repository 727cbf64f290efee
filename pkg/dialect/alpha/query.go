package alpha

import (
	"math"
	"net/url"
	"reflect"
	"strconv"
	"unicode/utf8"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// readQuery reads a query string into the fields of the struct v that have a tag
// query, and leaves alone those that it does not name. What no field has, and what
// comes twice, is refused by name.
func readQuery(raw string, v any) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return &llm.Error{Code: llm.Invalid, Message: "the query string is malformed", Err: err}
	}
	fields := map[string]reflect.Value{}
	for f, field := range reflect.ValueOf(v).Elem().Fields() {
		fields[f.Tag.Get("query")] = field
	}
	delete(fields, "")
	for name, list := range values {
		field, ok := fields[name]
		switch {
		case !ok && !utf8.ValidString(name):
			return bad("the query string is not valid UTF-8")
		case !ok:
			return &llm.Error{Code: wire.UnknownParam, Param: name, Message: "unknown parameter"}
		case len(list) > 1:
			return &llm.Error{Code: llm.Invalid, Param: name, Message: "given twice"}
		}
		if message := set(field, list[0]); message != "" {
			return &llm.Error{Code: llm.Invalid, Param: name, Message: message}
		}
	}
	return nil
}

// set parses text into a field, or says what is wrong with it.
func set(field reflect.Value, text string) (message string) {
	switch p := field.Addr().Interface().(type) {
	case *string:
		if !utf8.ValidString(text) {
			return "not valid UTF-8"
		}
		*p = text
	case **int:
		n, ok := wire.Integer(text)
		if !ok {
			return "must be an integer"
		}
		*p = new(int(n))
	case **float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return "must be a number"
		}
		*p = &x
	}
	return ""
}
