package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// Unmarshal decodes one JSON object into the struct that v points to. Unknown and duplicate
// keys, at any depth, are errors that name the key, so that no input is silently ignored.
func Unmarshal(b []byte, v any) error {
	switch b := bytes.TrimSpace(b); {
	case len(b) == 0:
		return llm.Errorf(llm.Invalid, "the body is empty: a JSON object is expected")
	case !utf8.Valid(b):
		return llm.Errorf(llm.Invalid, "the body is not valid UTF-8")
	case string(b) == "null":
		return llm.Errorf(llm.Invalid, "the body must be an object, not null")
	case values(b) > maxValues && json.Valid(b):
		return llm.Errorf(llm.Invalid, "the body has more than %d values", maxValues)
	}
	return UnmarshalAt("", b, v)
}

// maxValues bounds the values of a body. Two bytes of JSON can become a struct of two
// hundred, so that ten megabytes would become gigabytes.
const maxValues = 1 << 18

// values estimates the number of values in valid JSON: its commas and opening brackets.
func values(b []byte) (n int) {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// UnmarshalAt decodes any JSON value at path in a body, as strictly as [Unmarshal]. Errors
// name the path: "messages[2].content[0].type".
func UnmarshalAt(path string, b []byte, v any) error {
	if text, ok := v.(*string); ok && plainText(b) {
		*text = string(b[1 : len(b)-1])
		return nil
	}
	t := reflect.TypeOf(v).Elem()
	if err := unmarshal(b, v, t); err != nil {
		return jsonError(path, t, err)
	}
	return checkKeys(path, b, t)
}

// plainText reports whether b is a JSON string that encoding/json decodes unchanged, as most
// texts are: without escapes and invalid UTF-8.
func plainText(b []byte) bool {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return false
	}
	b = b[1 : len(b)-1]
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(b)
}

// jsonError converts an error of encoding/json about a value of type t for the client.
func jsonError(path string, t reflect.Type, err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		message, ok := outOfRange(e.Type, e.Value)
		if !ok {
			message = "must be " + typeName(e.Type) + ", not " + e.Value
		}
		if path = join(path, keyPath(t, e.Field)); path == "" {
			message = "the body " + message
		}
		return &llm.Error{Code: llm.Invalid, Param: path, Message: message, Err: err}
	}
	message := "the body is not valid JSON"
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		message += ": " + e.Error()
	}
	return &llm.Error{Code: llm.Invalid, Param: path, Message: message, Err: err}
}

// typeName returns the JSON type of a Go type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}

// Many is a JSON value or a list of values; List reports whether a list was sent.
type Many[T any] struct {
	Values []T
	List   bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Many[T]) UnmarshalJSON(b []byte) error {
	*m = Many[T]{}
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	if m.List = b[0] == '['; m.List {
		return json.Unmarshal(b, &m.Values)
	}
	m.Values = make([]T, 1)
	return json.Unmarshal(b, &m.Values[0])
}

// many returns the values as a list, and whether one was sent.
func (m Many[T]) many() (reflect.Value, bool) { return reflect.ValueOf(m.Values), m.List }

// element returns the element type for checkKeys.
func (Many[T]) element() reflect.Type { return reflect.TypeFor[T]() }

// MarshalJSON implements [json.Marshaler].
func (m Many[T]) MarshalJSON() ([]byte, error) {
	switch {
	case m.List && m.Values == nil:
		return []byte("[]"), nil
	case m.List:
		return marshal(m.Values)
	case len(m.Values) == 0:
		return []byte("null"), nil
	}
	return marshal(m.Values[0])
}

// marshal is [json.Marshal] without escaping of <, > and &: the enclosing encoder decides
// whether to escape them.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
