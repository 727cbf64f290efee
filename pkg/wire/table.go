// Package wire describes what clients send and receive as JSON: a [Table] has one row for
// each key of a request, from which decoding, error messages, the README and JSON Schemas
// are made. Decoding is strict: an unknown key, and a key that comes twice, is an error
// that names it. The package does not know HTTP, dialects or models.
//
// Start with [For] and [Table.Decode].
package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// A Table describes a request: the struct that it is decoded into, with a row for each
// key. It is immutable.
type Table struct {
	of   reflect.Type
	rows []Parameter
	root *object
}

// Type returns the struct that requests are decoded into.
func (t *Table) Type() reflect.Type { return t.of }

// An object is a struct type of a request with the rows of its keys, in their order.
type object struct{ fields []field }

// A field is a key of an object.
type field struct {
	*Parameter
	key    string
	index  []int        // of the Go field, see [reflect.Value.FieldByIndex]
	of     reflect.Type // of the Go field
	inside *object      // of a struct, or of the structs of a list; nil: there is nothing to check inside
}

// For makes the table of requests that are decoded into T. Every key of T and of its nested
// structs must have exactly one row, and every row a key; otherwise For panics, because this
// is a bug in the program.
func For[T any](rows ...Parameter) *Table {
	t := &Table{of: reflect.TypeFor[T](), rows: slices.Clone(rows)}
	used := map[string]bool{}
	for i := range t.rows {
		p := &t.rows[i]
		if p.Disposition == "" {
			p.Disposition = Honoured
		}
		if _, twice := used[p.Name]; twice {
			panic(fmt.Sprintf("wire: two rows of %v are named %q", t.of, p.Name))
		}
		used[p.Name] = false
	}
	t.root = t.object(t.of, "", used)
	for _, p := range t.rows {
		if !used[p.Name] {
			panic(fmt.Sprintf("wire: %v has no key %q", t.of, p.Name))
		}
	}
	return t
}

// object compiles a struct type whose keys have rows that begin with prefix.
func (t *Table) object(of reflect.Type, prefix string, used map[string]bool) *object {
	o, keys := &object{}, fields(of)
	for i := range t.rows {
		p := &t.rows[i]
		key, ok := strings.CutPrefix(p.Name, prefix)
		if !ok || keys[key] == nil {
			continue
		}
		used[p.Name] = true
		f := field{Parameter: p, key: key, index: indexOf(of, key), of: keys[key]}
		if inner := structOf(f.of); inner != nil && p.Schema == nil {
			f.inside = t.object(inner, p.Name+".", used)
		}
		if p.Disposition == Refused && f.of != reflect.TypeFor[json.RawMessage]() {
			panic(fmt.Sprintf("wire: %q of %v is refused, its field must be a json.RawMessage", p.Name, t.of))
		}
		o.fields = append(o.fields, f)
		delete(keys, key)
	}
	for key := range keys {
		panic(fmt.Sprintf("wire: no row of %v is named %q", t.of, prefix+key))
	}
	return o
}

// structOf returns the struct type of t or of its elements, if t is a struct, a pointer, a
// list or a [Many]; nil if there is none, or if it has its own UnmarshalJSON.
func structOf(t reflect.Type) reflect.Type {
	for {
		switch form := shapeOf(t); {
		case form.many, form.kind == reflect.Slice:
			t = form.element
		case form.kind == reflect.Struct:
			for t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			return t
		default:
			return nil
		}
	}
}

// indexOf returns the index of a key in a struct or in its embedded structs.
func indexOf(of reflect.Type, key string) []int {
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if inner, ok := embedded(f); ok {
			if fields(inner)[key] != nil {
				return append([]int{i}, indexOf(inner, key)...)
			}
			continue
		}
		if name == key || name == "" && f.Name == key {
			return []int{i}
		}
	}
	return nil
}

// Parameters returns the rows with prefix before their names.
func (t *Table) Parameters(prefix string) []Parameter {
	list := slices.Clone(t.rows)
	for i := range list {
		list[i].Name = prefix + list[i].Name
	}
	return list
}

// Decode decodes one JSON object into v, which points to the struct of the table, and checks
// it. See [Unmarshal] and [Table.Check].
func (t *Table) Decode(b []byte, v any) error {
	if err := Unmarshal(b, v); err != nil {
		return err
	}
	return t.Check("", v)
}

// DecodeAt is [Table.Decode] of the JSON at path in a body.
func (t *Table) DecodeAt(path string, b []byte, v any) error {
	if err := UnmarshalAt(path, b, v); err != nil {
		return err
	}
	return t.Check(path, v)
}

// Rename replaces the canonical name in an error of a model by the client's key. If several
// keys share a canonical name, Rename uses the first that is present in v, the decoded
// request, or else the first of all. An index stays: that of a prompt is that of a value in a list.
// An error about the length of a text is about the prompt, unless it names another parameter.
func (t *Table) Rename(err error, v any) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	param, index := e.Param, ""
	if param == "" && e.Code == llm.TooLong {
		param = "prompt"
	} else if at := strings.IndexByte(param, '['); at > 0 && strings.HasSuffix(param, "]") {
		param, index = param[:at], param[at:]
	}
	name := t.nameOf(param, v)
	if name == "" {
		return err
	}
	renamed := *e
	renamed.Param = name + index
	return &renamed
}

// nameOf returns the path of the key for a canonical name, "" if there is none.
func (t *Table) nameOf(canonical string, v any) string {
	if canonical == "" {
		return ""
	}
	name, _ := t.root.nameOf(canonical, reflect.ValueOf(v).Elem())
	return name
}

// nameOf also reports whether the key is present in v, an object that is not valid if it is absent.
// Keys in lists have no paths.
func (o *object) nameOf(canonical string, v reflect.Value) (name string, sent bool) {
	for _, f := range o.fields {
		var value reflect.Value
		if v.IsValid() {
			value = v.FieldByIndex(f.index)
		}
		found := ""
		if f.Canonical == canonical {
			found, sent = f.Name, value.IsValid() && present(value)
		} else if f.inside != nil && shapeOf(f.of).kind == reflect.Struct {
			found, sent = f.inside.nameOf(canonical, reflect.Indirect(value))
		}
		if sent {
			return found, true
		}
		name = cmp.Or(name, found)
	}
	return name, false
}
