package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// Invalid returns an error about a parameter.
func Invalid(param, format string, args ...any) error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Check validates v against the rows and returns the first error in their order. v points to
// a decoded struct of the table; path is its place in a body.
func (t *Table) Check(path string, v any) error {
	value := reflect.ValueOf(v).Elem()
	if value.Type() != t.of {
		panic(fmt.Sprintf("wire: the table is of %v, not of %v", t.of, value.Type()))
	}
	return t.root.check(&place{root: path}, value)
}

// A place is the place of a checked value in a body. Its path is built only for an error.
type place struct {
	root  string
	steps []step
}

// A step goes to a member of an object or, without a key, to an element of a list.
type step struct {
	key   string
	index int
}

func (p *place) enter(s step) { p.steps = append(p.steps, s) }
func (p *place) leave()       { p.steps = p.steps[:len(p.steps)-1] }

// invalid returns an error about the value.
func (p *place) invalid(format string, args ...any) error {
	return Invalid(p.String(), format, args...)
}

// String returns the path: "messages[2].role".
func (p *place) String() string {
	path := p.root
	for _, s := range p.steps {
		if s.key == "" {
			path += "[" + strconv.Itoa(s.index) + "]"
		} else {
			path = join(path, s.key)
		}
	}
	return path
}

func (o *object) check(at *place, v reflect.Value) error {
	for i := range o.fields {
		f := &o.fields[i]
		at.enter(step{key: f.key})
		if err := f.check(at, v.FieldByIndex(f.index)); err != nil {
			return err
		}
		at.leave()
	}
	return nil
}

// check validates a value against its row.
func (f *field) check(at *place, v reflect.Value) error {
	if !present(v) {
		switch {
		case f.Required && f.Missing != "":
			return Invalid("", "%s", f.Missing)
		case f.Required:
			return at.invalid("is required")
		}
		return nil
	}
	if f.Disposition == Refused {
		return f.refuse(at, v.Bytes())
	}
	return f.value(at, v)
}

// refuse accepts only neutral values.
func (f *field) refuse(at *place, raw []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || !slices.Contains(f.Neutral, compact.String()) {
		return &llm.Error{Code: llm.Unsupported, Param: at.String(), Message: f.refusal()}
	}
	return nil
}

// value checks a present value of any type.
func (f *field) value(at *place, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return f.value(at, v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil // JSON, or base64
		}
		return f.list(at, v)
	case reflect.Struct:
		if values, list, ok := manyOf(v); ok {
			if list {
				return f.list(at, values)
			}
			return f.value(at, values.Index(0))
		}
		if f.inside != nil {
			return f.inside.check(at, v)
		}
	case reflect.Map:
		return f.entries(at, v)
	case reflect.String:
		return f.text(at, v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return f.number(at, float64(v.Int()))
	case reflect.Float32, reflect.Float64:
		return f.number(at, v.Float())
	}
	return nil
}

// manyOf returns the values of a [Many], and whether they are a list.
func manyOf(v reflect.Value) (values reflect.Value, list, ok bool) {
	if !shapeOf(v.Type()).many {
		return reflect.Value{}, false, false
	}
	many, ok := v.Interface().(interface{ many() (reflect.Value, bool) })
	if ok {
		values, list = many.many()
	}
	return values, list, ok
}

func (f *field) list(at *place, v reflect.Value) error {
	noun := f.Noun
	if noun == "" {
		noun = nounOf(v.Type().Elem())
	}
	if message := f.elements(v.Len(), noun); message != "" {
		return at.invalid("%s", message)
	}
	if f.plain() && f.inside == nil {
		return nil
	}
	for i := range v.Len() {
		at.enter(step{index: i})
		if err := f.value(at, v.Index(i)); err != nil {
			return err
		}
		at.leave()
	}
	return nil
}

// plain reports whether elements need no check.
func (f *field) plain() bool {
	return f.Bounds == (Bounds{}) && !f.NotEmpty && f.MaxText == 0 && len(f.OneOf) == 0
}

func (f *field) text(at *place, s string) error {
	switch {
	case f.NotEmpty && s == "":
		return at.invalid("must not be empty")
	case f.MaxText > 0 && utf8.RuneCountInString(s) > f.MaxText:
		return at.invalid("must have at most %d characters", f.MaxText)
	case len(f.OneOf) > 0 && !slices.Contains(f.OneOf, s):
		return at.invalid("must be %s, not %.40q", orList(f.OneOf), s)
	}
	return nil
}

func (f *field) number(at *place, x float64) error {
	if !f.Bounds.holds(x) {
		return at.invalid("%s", f.Bounds.demand())
	}
	return nil
}

// entries checks a map in the order of its keys.
func (f *field) entries(at *place, v reflect.Value) error {
	if message := f.elements(v.Len(), cmp.Or(f.Noun, "element")); message != "" {
		return at.invalid("%s", message)
	}
	switch m := v.Interface().(type) {
	case map[string]float64:
		return f.biases(at, m)
	case map[string]string:
		return f.labels(at, m)
	}
	return nil
}

func (f *field) biases(at *place, m map[string]float64) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if _, ok := tokenID(key); f.TokenIDs && !ok {
			return at.invalid("%.40q is not a token id", key)
		}
		if !f.Bounds.holds(m[key]) {
			return at.invalid("the bias of token %s %s", key, f.Bounds.demand())
		}
	}
	return nil
}

func (f *field) labels(at *place, m map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if f.MaxKey > 0 && utf8.RuneCountInString(key) > f.MaxKey {
			return at.invalid("the key %.40q must have at most %d characters", key, f.MaxKey)
		}
		at.enter(step{key: key})
		if err := f.text(at, m[key]); err != nil {
			return err
		}
		at.leave()
	}
	return nil
}

// tokenID parses a token id, which JSON has in the key of an object.
func tokenID(key string) (id int, ok bool) {
	id, err := strconv.Atoi(key)
	return id, err == nil && id >= 0 && strconv.Itoa(id) == key
}

// TokenBias converts the keys of a map, which were checked to be token ids, to integers.
func TokenBias(m map[string]float64) map[int]float64 {
	if m == nil {
		return nil
	}
	bias := make(map[int]float64, len(m))
	for key, v := range m {
		id, _ := tokenID(key)
		bias[id] = v
	}
	return bias
}

// minMass is a probability mass below that of any kept token: as top_p or typical_p it leaves one token.
const minMass = 1e-30

// Mass returns a top_p or typical_p of a protocol in which 0 leaves one token. Backends treat 0 itself as "off".
func Mass(p *float64) *float64 {
	if p == nil || *p != 0 {
		return p
	}
	return new(minMass)
}

// present reports whether a decoded field was in the body and not null. An empty string,
// false and 0 count as absent if their type cannot represent null.
func present(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return v.Len() > 0 && string(v.Bytes()) != "null"
		}
		return !v.IsNil()
	case reflect.Struct:
		values, list, ok := manyOf(v)
		return !ok || list || values.Len() > 0
	}
	return !v.IsZero()
}

// nounOf names an element of a list in messages.
func nounOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "integer"
	case reflect.Struct:
		return "object"
	}
	return "element"
}

// CheckKeys returns an error unless the object raw, which was decoded from a struct for several
// kinds of objects, has all required keys of its kind, and no others but the optional ones. A key
// that is null is absent. The kind is written as "an item of type message".
func CheckKeys(path string, raw json.RawMessage, kind string, required, optional []string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	for _, key := range required {
		if len(members[key]) == 0 || string(members[key]) == "null" {
			return Invalid(join(path, key), "is required in %s", kind)
		}
	}
	var wrong []string
	for key, value := range members {
		if !slices.Contains(required, key) && !slices.Contains(optional, key) && string(value) != "null" {
			wrong = append(wrong, key)
		}
	}
	if len(wrong) > 0 {
		return Invalid(join(path, slices.Min(wrong)), "is not allowed in %s", kind)
	}
	return nil
}
