package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"

	"glossa/pkg/schema"
)

// members decodes the members of the object b into the values of known with their
// names. It returns the names that known lacks.
func (it *item) members(pointer string, b []byte, known map[string]any) (unknown []string) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); t != json.Delim('{') || err != nil {
		var object map[string]any
		it.wrong(pointer, "%s", reason(cmp.Or(decode(b, &object), errors.New("it is null, not an object"))))
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			it.wrong(pointer, "%s", reason(err))
			return nil
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			it.wrong(pointer, "%s", reason(err))
			return nil
		}
		name := t.(string) // names of members are strings
		at := pointer + schema.Pointer(name)
		switch {
		case seen[name]:
			it.wrong(at, "this name appears twice in its object")
		case known[name] == nil:
			unknown = append(unknown, name)
		case string(raw) == "null": // like a missing member
		default:
			if err := json.Unmarshal(raw, known[name]); err != nil {
				it.wrong(at, "%s", reason(err))
			}
		}
		seen[name] = true
	}
	if _, err := d.Token(); err != nil {
		it.wrong(pointer, "%s", reason(err))
	} else if _, err := d.Token(); err != io.EOF {
		it.wrong(pointer, "unexpected data after the JSON value")
	}
	return unknown
}

// reason returns the reason why a JSON value cannot be decoded, without Go's names of types.
func reason(err error) string {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err.Error()
	}
	want := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "an object", reflect.Int64: "a whole number",
	}[e.Type.Kind()]
	is, _, _ := strings.Cut(e.Value, " ")
	switch is {
	case "bool":
		is = "true or false"
	case "array":
		is = "a list"
	case "object":
		is = "an object"
	default:
		is = "a " + is
	}
	return fmt.Sprintf("it is %s, not %s", is, want)
}

// inner returns the JSON within a JSON string, which is how upstream writes schemas
// and lists of models; other JSON is returned unchanged.
func inner(b []byte) []byte {
	var s string
	if len(b) > 0 && b[0] == '"' && json.Unmarshal(b, &s) == nil {
		return []byte(s)
	}
	return b
}

// decode decodes one JSON value.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected data after the JSON value")
	}
	return nil
}

// marshal is json.Marshal without the escapes of HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// whole is an integer in any notation: 8192, 8192.0, 8.192e3.
type whole int64

// UnmarshalJSON implements [json.Unmarshaler].
func (w *whole) UnmarshalJSON(b []byte) error {
	var n json.Number
	if b[0] == '"' {
		return errors.New("it is a string, not a whole number")
	}
	if err := json.Unmarshal(b, &n); err != nil {
		return &json.UnmarshalTypeError{Value: kindOf(b), Type: reflect.TypeFor[int64]()}
	}
	x, err := n.Float64()
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return fmt.Errorf("it is %s, not a whole number", n)
	}
	*w = whole(x)
	return nil
}

// kindOf returns the name of the type of a JSON value that is neither a number nor a string.
func kindOf(b []byte) string {
	switch b[0] {
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "bool"
}

// spelled is a string or a number in its original notation.
type spelled string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *spelled) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	var n json.Number
	err := json.Unmarshal(b, &n)
	*s = spelled(n)
	return err
}

// stamp is a time in seconds since 1970 or in RFC 3339.
type stamp time.Time

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stamp) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return (*time.Time)(s).UnmarshalJSON(b)
	}
	var seconds whole
	err := seconds.UnmarshalJSON(b)
	*s = stamp(time.Unix(int64(seconds), 0).UTC())
	return err
}
