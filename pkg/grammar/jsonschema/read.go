package jsonschema

import (
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
)

// Drafts by number; draft2019 is 2019-09, draft2020 is 2020-12, undeclared has the keywords
// of all. Documents of draft 3 are read as draft 4, except for the names of formats.
const (
	draft3     = 3
	draft4     = 4
	draft6     = 6
	draft7     = 7
	draft2019  = 8
	draft2020  = 9
	undeclared = 10
)

// since has the first draft of each keyword that is not in draft 4. In earlier drafts it is
// an annotation.
var since = map[string]int{
	"const": draft6, "contains": draft6, "propertyNames": draft6,
	"if": draft7, "then": draft7, "else": draft7,
	"dependentRequired": draft2019, "dependentSchemas": draft2019, "minContains": draft2019, "maxContains": draft2019,
	"unevaluatedItems": draft2019, "unevaluatedProperties": draft2019, "$recursiveRef": draft2019,
	"prefixItems": draft2020, "$dynamicRef": draft2020,
}

// draftOf returns the draft that the document declares. The URIs of older drafts begin with
// http; not all validators accept https.
func draftOf(root *value) int {
	name := root.get("$schema")
	if name == nil || name.kind != stringKind || strings.HasPrefix(name.text, "https://json-schema.org/draft-0") {
		return undeclared
	}
	for part, draft := range map[string]int{
		"/draft-03/": draft3, "/draft-04/": draft4, "/draft-06/": draft6, "/draft-07/": draft7,
		"/draft/2019-09/": draft2019, "/draft/2020-12/": draft2020,
	} {
		if strings.Contains(name.text, "json-schema.org"+part) {
			return draft
		}
	}
	return undeclared
}

// schemaAt returns the schema of a place, possibly not yet read.
func (c *compiler) schemaAt(v *value) *schema {
	if v.schema == nil {
		v.schema = c.derive(v)
		v.schema.read = false
	}
	return v.schema
}

// derive returns a new schema, without constraints yet, that follows from a place.
func (c *compiler) derive(from *value) *schema {
	c.schemas++
	_ = c.spend(16, 320) // an exhausted budget fails the next step
	return &schema{id: c.schemas, node: from, read: true, types: everyType}
}

// A reader reads the keywords of one schema.
type reader struct {
	c *compiler
	s *schema
	v *value
}

// read reads the fields of s.
func (c *compiler) read(s *schema) error {
	if s.read {
		return nil
	}
	s.read = true
	if err := c.step(1 + len(s.node.keys)); err != nil {
		return err
	}
	r := reader{c, s, s.node}
	switch {
	case r.v.kind == booleanKind:
		s.never = !r.v.yes
		return nil
	case r.v.kind != objectKind:
		return s.refuse("", "a schema must be an object, true or false")
	}
	if ref := r.v.get("$ref"); ref != nil && c.draft <= draft7 {
		return r.reference("$ref", ref)
	}
	for i, key := range r.v.keys {
		if since[key] > c.draft {
			continue
		}
		if err := r.keyword(key, r.v.items[i]); err != nil {
			return err
		}
	}
	return r.finish()
}

// keyword reads one keyword.
func (r *reader) keyword(key string, v *value) error {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		return r.reference(key, v)
	case "type":
		return r.typeNames(v)
	case "enum":
		return r.enum(v)
	case "const":
		r.s.enums = append(r.s.enums, []*value{v})
	case "allOf", "anyOf", "oneOf", "not", "if", "dependencies", "dependentRequired", "dependentSchemas":
		return r.applicator(key, v)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return r.number(key, v)
	case "minLength", "maxLength", "pattern", "format":
		return r.text(key, v)
	case "minItems", "maxItems", "items", "prefixItems", "additionalItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems":
		return r.array(key, v)
	case "minProperties", "maxProperties", "properties", "patternProperties", "additionalProperties", "propertyNames", "required", "unevaluatedProperties":
		return r.object(key, v)
	}
	return nil
}

func (r *reader) reference(key string, v *value) error {
	if v.kind != stringKind {
		return r.s.refuse(key, "it must be a string")
	}
	target, err := r.c.resolve(r.v, v.text)
	if err != nil {
		return err
	}
	if target = r.c.dynamic(key, v.text, target); target == nil {
		return r.s.refuse(key, "the schema it refers to depends on the dynamic scope, which is not supported")
	}
	r.s.all = append(r.s.all, r.c.schemaAt(target))
	return nil
}

// typeName has the types by name, including Lamini's names.
var typeName = map[string]types{
	"null": nullType, "boolean": booleanType, "integer": integerType, "number": numberType,
	"string": stringType, "array": arrayType, "object": objectType,
	"str": stringType, "int": integerType, "float": numberType, "bool": booleanType,
}

func (r *reader) typeNames(v *value) error {
	names := []*value{v}
	if v.kind == arrayKind && len(v.items) > 0 {
		names = v.items
	}
	r.s.types = 0
	for _, name := range names {
		t, ok := typeName[name.text]
		if name.kind != stringKind || !ok {
			return r.s.refuse("type", "it must be null, boolean, integer, number, string, array or object, or a list of these")
		}
		r.s.types |= t
	}
	return nil
}

func (r *reader) enum(v *value) error {
	if v.kind != arrayKind {
		return r.s.refuse("enum", "it must be a list")
	}
	r.s.enums = append(r.s.enums, v.items)
	return nil
}

// subschema reads a keyword whose value is a schema.
func (r *reader) subschema(key string, v *value) (*schema, error) {
	switch {
	case v.kind == objectKind || v.kind == booleanKind:
		return r.c.schemaAt(v), nil
	case v.parent != r.v: // one of several
		return nil, fault.New(v.pointer(), "", "it must be a schema: an object, true or false")
	}
	return nil, r.s.refuse(key, "it must be a schema: an object, true or false")
}

// subschemas reads a keyword whose value is a list of schemas.
func (r *reader) subschemas(key string, v *value) ([]*schema, error) {
	if v.kind != arrayKind || len(v.items) == 0 && key != "items" {
		return nil, r.s.refuse(key, "it must be a list of schemas")
	}
	list := make([]*schema, len(v.items))
	for i, item := range v.items {
		s, err := r.subschema(key, item)
		if err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

func (r *reader) strings(key string, v *value) ([]string, error) {
	if v.kind != arrayKind {
		return nil, r.s.refuse(key, "it must be a list of strings")
	}
	list := make([]string, len(v.items))
	for i, item := range v.items {
		if item.kind != stringKind {
			return nil, r.s.refuse(key, "it must be a list of strings")
		}
		list[i] = item.text
	}
	return list, nil
}

func (r *reader) text(key string, v *value) error {
	length := key == "minLength" || key == "maxLength"
	if !length && v.kind != stringKind {
		return r.s.refuse(key, "it must be a string")
	}
	name := v.text
	if key == "format" {
		if today := formats3[name]; today != "" && r.c.draft == draft3 {
			name = today
		}
		if _, ok := automaton.Format(name); !ok {
			r.s.formats = append(r.s.formats, name)
			return nil
		}
	}
	if r.s.text == nil {
		r.s.text = &stringFacts{max: -1}
	}
	t := r.s.text
	if length {
		return r.bound(key, v, &t.min, &t.max)
	}
	t.matches = append(t.matches, language{name, key == "format"})
	return nil
}

// formats3 maps format names of draft 3 to their later names. Its other formats (color,
// style, phone, regex, utc-millisec) only annotate.
var formats3 = map[string]string{"ip-address": "ipv4", "host-name": "hostname"}

// bound reads minX into min or maxX into max.
func (r *reader) bound(key string, v *value, min, max *int) error {
	n, ok := v.count()
	if !ok {
		return r.s.refuse(key, "it must be a non-negative integer")
	}
	if strings.HasPrefix(key, "min") {
		*min = n
	} else {
		*max = n
	}
	return nil
}

func (r *reader) number(key string, v *value) error {
	if r.s.number == nil {
		r.s.number = &numberFacts{}
	}
	n := r.s.number
	if v.kind == booleanKind && strings.HasPrefix(key, "exclusive") {
		return nil // draft 4: finish reads it
	}
	if v.kind != numberKind {
		return r.s.refuse(key, "it must be a number")
	}
	x, err := v.rational()
	if err != nil {
		return err
	}
	switch key {
	case "multipleOf":
		if x.Sign() <= 0 {
			return r.s.refuse(key, "it must be greater than 0")
		}
		n.multiples = append(n.multiples, x)
	case "minimum":
		n.atLeast(x, false)
	case "exclusiveMinimum":
		n.atLeast(x, true)
	case "maximum":
		n.atMost(x, false)
	case "exclusiveMaximum":
		n.atMost(x, true)
	}
	return nil
}
