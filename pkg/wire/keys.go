package wire

import (
	"errors"
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

// embedded returns the struct type of an embedded field whose keys are promoted.
func embedded(f reflect.StructField) (reflect.Type, bool) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t, f.Anonymous && name == "" && t.Kind() == reflect.Struct
}

// keyPath removes the Go names of embedded structs, which encoding/json adds, from a path
// below the struct t.
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

// checkKeys refuses keys that the type t does not have in exactly this spelling, and
// duplicate keys. The JSON in b was decoded into t: it is valid and has the right types.
func checkKeys(path string, b []byte, t reflect.Type) error {
	c := checker{b: b}
	at, err := c.value(shapeOf(t))
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
