package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// Keys returns the JSON keys of the struct t, those of embedded structs included.
func Keys(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for key := range fields(t) {
		keys[key] = true
	}
	return keys
}

// fields returns the types of the fields of the struct t by their JSON keys.
func fields(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if inner, ok := embedded(f); ok {
			for key, t := range fields(inner) {
				if types[key] == nil {
					types[key] = t
				}
			}
			continue
		}
		switch {
		case name == "-" || !f.IsExported():
		case name == "":
			types[f.Name] = f.Type
		default:
			types[name] = f.Type
		}
	}
	return types
}

// embedded returns the struct whose keys f lends to the struct that it is in.
func embedded(f reflect.StructField) (reflect.Type, bool) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, f.Anonymous && name == "" && t.Kind() == reflect.Struct
}

// keyPath takes the Go names of embedded structs, which encoding/json puts there,
// out of a path below the struct t.
func keyPath(t reflect.Type, path string) string {
	var keys []string
	for key := range strings.SplitSeq(path, ".") {
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			t = t.Elem()
		}
		if t != nil && t.Kind() == reflect.Struct {
			if f, ok := t.FieldByName(key); ok && len(f.Index) == 1 {
				if inner, ok := embedded(f); ok {
					t = inner
					continue
				}
			}
			t = fields(t)[key]
		} else {
			t = nil
		}
		keys = append(keys, key)
	}
	return strings.Join(keys, ".")
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// checkKeys refuses keys that the type t does not have, in the very spelling, and
// keys that come twice. The JSON in b has been decoded into t: it is valid and of
// the right types.
func checkKeys(path string, b []byte, t reflect.Type) error {
	c := checker{dec: json.NewDecoder(bytes.NewReader(b)), known: map[reflect.Type]map[string]reflect.Type{}}
	at, err := c.value(t)
	if e, ok := errors.AsType[*llm.Error](err); ok {
		slices.Reverse(at)
		for _, step := range at {
			if !strings.HasPrefix(step, "[") {
				path = join(path, step)
			} else {
				path += step
			}
		}
		e.Param = path
	}
	return err
}

// A checker walks a JSON value. Its methods return where an error is, the
// innermost step first, so that a walk without errors builds no paths.
type checker struct {
	dec   *json.Decoder
	known map[reflect.Type]map[string]reflect.Type
}

// skipped takes any JSON value and does nothing with it.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// value checks the next value, which was decoded into t. What a type decodes by a
// method of its own is its own affair, save for Many.
func (c *checker) value(t reflect.Type) (at []string, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if many, ok := reflect.Zero(t).Interface().(interface{ element() reflect.Type }); ok {
		var raw json.RawMessage
		if err := c.dec.Decode(&raw); err != nil {
			return nil, err
		}
		t = many.element()
		if bytes.HasPrefix(raw, []byte("[")) {
			t = reflect.SliceOf(t)
		}
		inner := checker{json.NewDecoder(bytes.NewReader(raw)), c.known}
		return inner.value(t)
	}
	opaque := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
	default:
		opaque = true
	}
	if opaque {
		return nil, c.dec.Decode(&skipped{})
	}
	switch token, err := c.dec.Token(); {
	case err != nil:
		return nil, err
	case token == json.Delim('['):
		return c.array(t.Elem())
	case token == json.Delim('{'):
		return c.object(t)
	}
	return nil, nil
}

func (c *checker) array(element reflect.Type) (at []string, err error) {
	for i := 0; c.dec.More(); i++ {
		if at, err := c.value(element); err != nil {
			return append(at, fmt.Sprintf("[%d]", i)), err
		}
	}
	_, err = c.dec.Token()
	return nil, err
}

func (c *checker) object(t reflect.Type) (at []string, err error) {
	types := c.known[t]
	if types == nil && t.Kind() == reflect.Struct {
		types = fields(t)
		c.known[t] = types
	}
	seen := map[string]bool{}
	for c.dec.More() {
		token, err := c.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		value := types[key]
		if t.Kind() == reflect.Map {
			value = t.Elem()
		}
		switch {
		case seen[key] && t.Kind() == reflect.Map: // the key is content, not a parameter
			return nil, llm.Errorf(llm.Invalid, "%.100q is given twice", key)
		case seen[key]:
			return []string{key}, llm.Errorf(llm.Invalid, "given twice")
		case value == nil:
			return []string{key}, llm.Errorf(UnknownParam, "unknown parameter")
		}
		seen[key] = true
		if at, err := c.value(value); err != nil {
			return append(at, key), err
		}
	}
	_, err = c.dec.Token()
	return nil, err
}
