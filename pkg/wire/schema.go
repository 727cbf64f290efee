package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// A Schema is a JSON Schema of draft 2020-12, as OpenAPI 3.1 uses it.
type Schema struct {
	Ref                  string       `json:"$ref,omitempty"`
	Title                string       `json:"title,omitempty"`
	Type                 Many[string] `json:"type,omitzero"`
	Description          string       `json:"description,omitempty"`
	Const                any          `json:"const,omitempty"`
	Enum                 []any        `json:"enum,omitempty"`
	Default              any          `json:"default,omitempty"`
	Minimum              *float64     `json:"minimum,omitempty"`
	ExclusiveMinimum     *float64     `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64     `json:"maximum,omitempty"`
	MinLength            *int         `json:"minLength,omitempty"`
	MaxLength            *int         `json:"maxLength,omitempty"`
	MinItems             *int         `json:"minItems,omitempty"`
	MaxItems             *int         `json:"maxItems,omitempty"`
	Items                *Schema      `json:"items,omitempty"`
	Properties           Properties   `json:"properties,omitempty"`
	Required             []string     `json:"required,omitempty"`
	MaxProperties        *int         `json:"maxProperties,omitempty"`
	PropertyNames        *Schema      `json:"propertyNames,omitempty"`
	AdditionalProperties *Additional  `json:"additionalProperties,omitempty"`
	AnyOf                []*Schema    `json:"anyOf,omitempty"`
	Pattern              string       `json:"pattern,omitempty"`
	Format               string       `json:"format,omitempty"`
	ContentEncoding      string       `json:"contentEncoding,omitempty"`
	ContentMediaType     string       `json:"contentMediaType,omitempty"`
	ContentSchema        *Schema      `json:"contentSchema,omitempty"` // of the JSON in a string, or of each event of a stream
	Examples             []any        `json:"examples,omitempty"`
	Disposition          Disposition  `json:"x-disposition,omitempty"` // of a parameter that is not honoured
	Remote               string       `json:"x-remote,omitempty"`      // the effect of a parameter for a remote model, if it differs
}

// Additional is the value of additionalProperties: a schema, or false if the schema is nil.
type Additional struct{ *Schema }

// MarshalJSON implements [json.Marshaler].
func (a Additional) MarshalJSON() ([]byte, error) {
	if a.Schema == nil {
		return []byte("false"), nil
	}
	return json.Marshal(a.Schema)
}

// Properties are the members of an object, in their order.
type Properties []Property

// A Property is a member of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// MarshalJSON implements [json.Marshaler].
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(property.Name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(property.Schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(schema)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Types returns a schema of values of any of the types.
func Types(types ...string) *Schema {
	return &Schema{Type: Many[string]{Values: types, List: len(types) > 1}}
}

// ListOf returns a schema of lists.
func ListOf(items *Schema) *Schema {
	s := Types("array")
	s.Items = items
	return s
}

// AnyObject returns a schema of objects with any members. It allows them explicitly, because
// client generators treat an object without properties as empty.
func AnyObject() *Schema {
	s := Types("object")
	s.AdditionalProperties = &Additional{&Schema{}}
	return s
}

// AnyOf returns a schema of the values for which at least one of the schemas holds.
func AnyOf(schemas ...*Schema) *Schema { return &Schema{AnyOf: schemas} }

// nullable returns s extended by null. For an object this takes an anyOf: client generators
// do not support a type that is an object or null.
func (s *Schema) nullable() *Schema {
	out := *s
	switch {
	case out.Ref != "", slices.Contains(out.Type.Values, "object"):
		return AnyOf(&out, Types("null"))
	case len(out.AnyOf) > 0:
		out.AnyOf = append(append([]*Schema{}, out.AnyOf...), Types("null"))
	case len(out.Type.Values) > 0:
		out.Type = Many[string]{Values: append(append([]string{}, out.Type.Values...), "null"), List: true}
	}
	if len(out.Enum) > 0 {
		out.Enum = append(append([]any{}, out.Enum...), nil)
	}
	return &out
}

// WithoutNull returns s without null, for keys outside JSON.
func (s *Schema) WithoutNull() *Schema {
	out := *s
	out.Type.Values = slices.DeleteFunc(slices.Clone(out.Type.Values), func(name string) bool { return name == "null" })
	out.Type.List = len(out.Type.Values) > 1
	out.Enum = slices.DeleteFunc(slices.Clone(out.Enum), func(v any) bool { return v == nil })
	return &out
}

// A Describer is a type of answers whose schema cannot be derived from its Go type.
type Describer interface{ JSONSchema() *Schema }

// Schemas makes the schemas of Go types. Named structs become components, each under one
// name. The tags of their fields describe answers: doc has a sentence, enum the allowed words
// of a string, separated by commas, and null is set if a list or a map may be nil. A field
// Others, which is not encoded, allows other members.
type Schemas struct {
	Prefix     string // of the names of components that are made next
	Components map[string]*Schema
	names      map[reflect.Type]string
}

// Of returns the schema of the JSON that encoding/json writes for a value of type t.
func (s *Schemas) Of(t reflect.Type) *Schema {
	if d, ok := reflect.Zero(t).Interface().(Describer); ok && t.Kind() != reflect.Pointer {
		return d.JSONSchema()
	}
	switch many, ok := reflect.Zero(t).Interface().(interface{ element() reflect.Type }); {
	case ok:
		one := s.Of(many.element())
		return AnyOf(one, ListOf(one))
	case t == reflect.TypeFor[json.RawMessage]():
		return &Schema{}
	case t == reflect.TypeFor[llm.Cost](), t == reflect.TypeFor[llm.USD]():
		return Types("number")
	case t == reflect.TypeFor[time.Time]():
		when := Types("string")
		when.Format = "date-time"
		return when
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.Of(t.Elem()).nullable()
	case reflect.Struct:
		if t.Name() == "" {
			return s.object(t)
		}
		return s.component(t)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			b := Types("string")
			b.ContentEncoding = "base64"
			return b
		}
		return ListOf(s.Of(t.Elem()))
	case reflect.Map:
		m := Types("object")
		m.AdditionalProperties = &Additional{s.Of(t.Elem())}
		return m
	case reflect.Interface:
		return &Schema{}
	}
	return scalar(t)
}

// scalar returns the schema of a type without parts.
func scalar(t reflect.Type) *Schema {
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return Types("string")
	case kind == reflect.Bool:
		return Types("boolean")
	case kind == reflect.Float64 || kind == reflect.Float32:
		return Types("number")
	case isInteger(kind):
		return Types("integer")
	}
	return &Schema{}
}

// component returns a reference to the component of a struct.
func (s *Schemas) component(t reflect.Type) *Schema {
	if s.Components == nil {
		s.Components, s.names = map[string]*Schema{}, map[reflect.Type]string{}
	}
	name, ok := s.names[t]
	if !ok {
		base, _, _ := strings.Cut(t.Name(), "[")
		name = s.Prefix + strings.ToUpper(base[:1]) + base[1:]
		s.names[t] = name
		s.Components[name] = nil // the type may be recursive
		s.Components[name] = s.object(t)
	}
	return &Schema{Ref: "#/components/schemas/" + name}
}

// object returns the schema of a struct that is an answer or part of one.
func (s *Schemas) object(t reflect.Type) *Schema {
	o := Types("object")
	if _, others := t.FieldByName("Others"); !others {
		o.AdditionalProperties = &Additional{}
	}
	s.members(o, t)
	return o
}

func (s *Schemas) members(o *Schema, t reflect.Type) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if inner, ok := embedded(f); ok {
			required := len(o.Required)
			s.members(o, inner)
			if f.Type.Kind() == reflect.Pointer {
				o.Required = o.Required[:required]
			}
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		o.Properties = append(o.Properties, Property{name, s.member(f, optional)})
		if !optional {
			o.Required = append(o.Required, name)
		}
	}
}

// member returns the schema of a field of an answer.
func (s *Schemas) member(f reflect.StructField, optional bool) *Schema {
	t := f.Type
	if optional && t.Kind() == reflect.Pointer {
		t = t.Elem() // nil is omitted
	}
	m := s.Of(t)
	doc, enum := f.Tag.Get("doc"), f.Tag.Get("enum")
	if f.Tag.Get("null") != "" {
		m = m.nullable()
	}
	if doc == "" && enum == "" {
		return m
	}
	own := *m
	own.Description = doc
	if enum != "" {
		for word := range strings.SplitSeq(enum, ",") {
			own.Enum = append(own.Enum, word)
		}
		if t.Kind() == reflect.Pointer {
			own.Enum = append(own.Enum, nil)
		}
	}
	return &own
}
