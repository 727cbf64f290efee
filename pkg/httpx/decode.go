package httpx

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// ReadBody returns the whole body, decompressed if its Content-Encoding is gzip.
// The route's MaxBody bounds what comes out.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := Body(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(body)
	return b, bodyError(err)
}

// Body returns the body as a stream of at most the route's MaxBody bytes. A
// reader of it passes its errors through [AsBodyError].
func Body(r *http.Request) (io.Reader, error) {
	limit := RecordOf(r.Context()).maxBody
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return r.Body, nil // limited by the mux
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, bodyError(err)
		}
		return http.MaxBytesReader(nil, z, limit), nil
	default:
		return nil, llm.Errorf(llm.Invalid, "the Content-Encoding %q is not supported: send gzip or none", encoding)
	}
}

// AsBodyError tells whether err came from reading a body, and gives it as the
// error that the client should see.
func AsBodyError(err error) (*llm.Error, bool) {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return llm.Errorf(TooLarge, "the body is larger than %d bytes", tooLarge.Limit), true
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &llm.Error{Code: llm.Invalid, Message: "the body is cut short or is no valid gzip", Err: err}, true
	}
	return nil, false
}

func bodyError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := AsBodyError(err); ok {
		return e
	}
	return &llm.Error{Code: llm.Invalid, Message: "the body could not be read", Err: err}
}

// DecodeJSON reads the body as one JSON object into the struct that v points to,
// whatever its Content-Type says. A key that v does not have is refused by name,
// so that nothing a client sends is dropped in silence.
func DecodeJSON(r *http.Request, v any) error {
	b, err := ReadBody(r)
	if err != nil {
		return err
	}
	return Unmarshal(b, v)
}

// Unmarshal is [DecodeJSON] of bytes that are already there.
func Unmarshal(b []byte, v any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return llm.Errorf(llm.Invalid, "the body is empty: a JSON object is expected")
	}
	if !utf8.Valid(b) {
		return llm.Errorf(llm.Invalid, "the body is not valid UTF-8")
	}
	if err := json.Unmarshal(b, v); err != nil {
		return jsonError(err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil || keys == nil {
		return llm.Errorf(llm.Invalid, "the body is no JSON object")
	}
	known := Keys(reflect.TypeOf(v).Elem())
	for key := range keys {
		if !known[key] {
			return &llm.Error{Code: llm.Invalid, Param: key, Message: "unknown parameter"}
		}
	}
	return nil
}

// Keys returns the JSON keys of the struct t, those of embedded structs included.
func Keys(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for key := range Keys(f.Type) {
				keys[key] = true
			}
		case name != "" && name != "-":
			keys[name] = true
		}
	}
	return keys
}

// jsonError says in words what encoding/json found wrong.
func jsonError(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &llm.Error{Code: llm.Invalid, Message: "the body is not valid JSON: " + e.Error(), Err: err}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		message := "must be " + typeName(e.Type) + ", not " + e.Value
		if e.Field == "" {
			message = "the body " + message
		}
		return &llm.Error{Code: llm.Invalid, Param: e.Field, Message: message, Err: err}
	}
	return &llm.Error{Code: llm.Invalid, Message: "the body is not valid JSON", Err: err}
}

// typeName names a Go type as JSON does.
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

// Many is a JSON value or a list of them; List tells which was sent.
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
