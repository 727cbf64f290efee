package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"glossa/pkg/llm"
)

// FuzzKeys compares the two walks on input that encoding/json accepts.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","seed":1,"deep":2,"parts":[{"type":"a"},{}],"stop":"x","some":{"type":"b"},"Bare":true}`,
		`{"stop":["x","y"],"some":[{"type":"b"}],"raws":[{"free":1}],"bias":{"5":1},"named":{"n":{"type":""}},"any":{"a":[{}],"a":2}}`,
		" { \"parts\" :\n[ { \"type\" : \"\\\"}\" } , null ] ,\t\"stop\":null}\r\n", `{"mod\u0065l":"a","model":"b"}`, `{"mod\u0065l":"a","Model":"b"}`,
		`{"parts":[{},{"type":"a","Type":"b"}]}`, `{"named":{"a":{},"a":{}}}`, `{"named":{"a":{"x":{}}}}`, `{"opts":{"type":"a","type":"a"}}`,
		`{"some":{"x":[[]]}}`, `{"raw":[{"a":[1,"]"]},-1.5e3,true],"bytes":"AAA=","any":"\\"}`, "{\"named\":{\"\xff\":{}}}", `{"parts":[],"bias":{}}`, "null",
	} {
		f.Add([]byte(seed))
	}
	t := reflect.TypeFor[everything]()
	f.Fuzz(func(tt *testing.T, b []byte) {
		if json.Unmarshal(b, new(everything)) != nil || !json.Valid(b) {
			return
		}
		slow := tokens{dec: json.NewDecoder(bytes.NewReader(b)), known: map[reflect.Type]map[string]reflect.Type{}}
		fast := checker{b: b}
		at, err := slow.value(t)
		gotAt, got := fast.value(shapeOf(t))
		if !slices.Equal(at, gotAt) || describe(err) != describe(got) {
			tt.Errorf("%q: %q %v, want %q %v", b, gotAt, got, at, err)
		}
	})
}

// A tokens walks a JSON value by the tokens of encoding/json, as the reference for [checker].
type tokens struct {
	dec   *json.Decoder
	known map[reflect.Type]map[string]reflect.Type
}

// skipped accepts any JSON value and discards it.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// value checks the next value, which was decoded into t. Types with their own UnmarshalJSON
// check their values themselves, except Many.
func (c *tokens) value(t reflect.Type) (at []string, err error) {
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
		inner := tokens{json.NewDecoder(bytes.NewReader(raw)), c.known}
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

func (c *tokens) array(element reflect.Type) (at []string, err error) {
	for i := 0; c.dec.More(); i++ {
		var raw json.RawMessage
		if err := c.dec.Decode(&raw); err != nil {
			return nil, err
		}
		inner := tokens{json.NewDecoder(bytes.NewReader(raw)), c.known}
		at, err := inner.value(element)
		if string(raw) == "null" && !takesNull(element) {
			err = llm.Errorf(llm.Invalid, "must be %s, not null", typeName(element))
		}
		if err != nil {
			return append(at, fmt.Sprintf("[%d]", i)), err
		}
	}
	_, err = c.dec.Token()
	return nil, err
}

// takesNull reports whether a Go type can represent null.
func takesNull(t reflect.Type) bool {
	_, many := reflect.Zero(t).Interface().(interface{ element() reflect.Type })
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || many || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func (c *tokens) object(t reflect.Type) (at []string, err error) {
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
			return nil, llm.Errorf(llm.Invalid, "%.100q appears twice", key)
		case seen[key]:
			return []string{key}, llm.Errorf(llm.Invalid, "appears twice")
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
