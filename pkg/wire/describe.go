package wire

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schema returns the JSON Schema of the requests of the table.
func (t *Table) Schema() *Schema { return t.root.schema() }

func (o *object) schema() *Schema {
	s := Types("object")
	s.AdditionalProperties = &Additional{}
	for i := range o.fields {
		f := &o.fields[i]
		if f.Disposition == Refused && len(f.Neutral) == 0 {
			continue
		}
		s.Properties = append(s.Properties, Property{f.key, f.schema()})
		if f.Required {
			s.Required = append(s.Required, f.key)
		}
	}
	return s
}

// schema returns the schema of a key. All keys except required ones accept null, which
// means absent.
func (f *field) schema() *Schema {
	var s Schema
	switch {
	case f.Disposition == Refused:
		s = *neutral(f.Neutral)
	case f.Schema != nil:
		s = *f.Schema
	default:
		s = *f.typed(f.of)
	}
	if !f.Required {
		s = *s.nullable()
	}
	s.Description = f.description()
	s.Default = f.Default
	if f.Disposition != Honoured {
		s.Disposition = f.Disposition
	}
	s.Remote = f.Remote
	return &s
}

// neutral returns the schema of a key that accepts only these values: lists of strings,
// strings, one boolean, an empty object, or numbers. Client generators support only
// enumerations of strings.
func neutral(values []string) *Schema {
	s := &Schema{}
	for _, text := range values {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			panic("wire: " + text + ": " + err.Error())
		}
		switch v := v.(type) {
		case []any:
			s = ListOf(Types("string"))
			s.MaxItems, s.Items.Enum = new(len(v)), v
		case string:
			s.Type = Types("string").Type
			if !slices.ContainsFunc(s.Enum, func(other any) bool { return strings.EqualFold(other.(string), v) }) {
				s.Enum = append(s.Enum, v) // generated clients have a constant for each, in capitals
			}
		case map[string]any:
			s = Types("object")
			s.AdditionalProperties = &Additional{}
		case float64:
			s.Type, s.Minimum, s.Maximum = Types("number").Type, &v, &v
		case bool:
			only := Types("boolean")
			only.Const = v
			s.AnyOf = append(s.AnyOf, only)
		}
	}
	return s
}

// description returns the documentation without the parts that the schema expresses.
func (f *field) description() string {
	switch {
	case f.Disposition == Refused:
		return "Not supported: " + f.Note + "."
	case f.Note == "" && f.Absent == "":
		return ""
	}
	p := Parameter{Note: f.Note, Absent: f.Absent}
	text := p.Text()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// typed returns the schema of a Go type with the limits of the row.
func (f *field) typed(t reflect.Type) *Schema {
	if many, ok := reflect.Zero(t).Interface().(interface{ element() reflect.Type }); ok {
		one := f.typed(many.element())
		return AnyOf(one, f.counted(ListOf(one)))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return f.typed(t.Elem())
	case reflect.Slice:
		switch {
		case t == reflect.TypeFor[json.RawMessage]():
			return &Schema{}
		case t.Elem().Kind() == reflect.Uint8:
			return (&Schemas{}).Of(t)
		}
		return f.counted(ListOf(f.typed(t.Elem())))
	case reflect.Struct:
		if f.inside != nil {
			return f.inside.schema()
		}
		return &Schema{}
	case reflect.Map:
		m := Types("object")
		m.AdditionalProperties = &Additional{f.typed(t.Elem())}
		if f.TokenIDs {
			m.PropertyNames = &Schema{Pattern: "^(0|[1-9][0-9]*)$"}
		}
		if f.MaxKey > 0 {
			m.PropertyNames = &Schema{MaxLength: &f.MaxKey}
		}
		if f.Count.high {
			m.MaxProperties = new(int(f.Count.max))
		}
		return m
	}
	return f.limited(scalar(t))
}

// counted adds the limits of a list to its schema.
func (f *field) counted(s *Schema) *Schema {
	if f.Count.low {
		s.MinItems = new(int(f.Count.min))
	}
	if f.Count.high {
		s.MaxItems = new(int(f.Count.max))
	}
	return s
}

// limited adds the limits of a number or a string to its schema.
func (f *field) limited(s *Schema) *Schema {
	for _, word := range f.OneOf {
		s.Enum = append(s.Enum, word)
	}
	if f.NotEmpty {
		s.MinLength = new(1)
	}
	if f.MaxText > 0 {
		s.MaxLength = &f.MaxText
	}
	switch b := f.Bounds; {
	case b.above:
		s.ExclusiveMinimum = &b.min
	case b.low:
		s.Minimum = &b.min
	}
	if f.Bounds.high {
		s.Maximum = new(f.Bounds.max)
	}
	return s
}
