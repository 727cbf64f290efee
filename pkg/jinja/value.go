package jinja

import (
	"math"
	"math/big"
	"strings"
)

// A Kind is the type of a Value.
type Kind uint8

// The kinds that a caller's values have. Values that templates make have further kinds.
const (
	KindUndefined Kind = iota
	KindNone
	KindBool
	KindInt
	KindFloat
	KindString
	KindList
	KindDict

	kindTuple
	kindNamespace
	kindRange
	kindView
	kindGenerator
	kindFunction
	kindMacro
	kindLoop
	kindCycler
	kindJoiner
	kindMissing // an argument that was not given, a name that is not bound
)

// A Value is a value of a template: none, a boolean, a number, a string, a list or an ordered dict.
// The zero Value is undefined. Values are immutable and small: passing one copies a pointer.
//
// A string knows of each byte whether it is trusted, that is whether it was written by the template's author.
// A number, a boolean and none know it of their printed form.
type Value struct {
	_ [0]func() // forbids ==, which would compare pointers
	*datum
}

// A datum is the content of a value. It never changes, because copies of the value share it. Only a caller's zero
// Value has none: List, Dict.Set and Trust replace it.
type datum struct {
	kind    Kind
	trusted bool
	num     uint64 // bool, int64 or float64 bits
	str     string
	ref     any // string: *mixed or nil; int: *big.Int if it does not fit; other kinds: a pointer to their data
}

// missing is an argument that was not given, or a name that is not bound.
var missing = object(kindMissing, nil)

// object returns a value with a reference. It is untrusted.
func object(kind Kind, ref any) Value { return Value{datum: &datum{kind: kind, ref: ref}} }

// absent returns an undefined value with its reason, which may be nil.
func absent(why *undefined) Value { return object(KindUndefined, why) }

// known returns v, or an undefined value with a datum if v is the zero Value.
func known(v Value) Value {
	if v.datum == nil {
		return absent(nil)
	}
	return v
}

// mixed is what a string has beside its bytes and the provenance of the first.
type mixed struct {
	cuts   []int
	markup bool // of the filter "safe": + escapes the other operand
}

// String returns an untrusted string, such as the content of a message. Invalid UTF-8 becomes U+FFFD.
func String(s string) Value { return textValue(untrusted(strings.ToValidUTF8(s, "\uFFFD"))) }

// Trusted returns a trusted string, such as the text of a special token.
func Trusted(s string) Value { return textValue(trusted(strings.ToValidUTF8(s, "\uFFFD"))) }

// Text returns a string of spans, which are UTF-8 or get U+FFFD for what is not.
func Text(spans ...Span) Value {
	var b builder
	for _, s := range spans {
		b.write(strings.ToValidUTF8(s.Text, "\uFFFD"), s.Trusted)
	}
	if len(b.buf) == 0 {
		return String("")
	}
	return textValue(b.text())
}

// None returns Python's None.
func None() Value { return noneValue(false) }

// Bool returns a boolean.
func Bool(b bool) Value { return boolean(b, false) }

// Int returns an integer.
func Int(i int64) Value { return intValue(i, false) }

// Float returns a float.
func Float(f float64) Value { return floatValue(f, false) }

// List returns a list of the values. It keeps the slice.
func List(items ...Value) Value {
	for i, item := range items {
		if item.datum == nil {
			items[i] = known(item)
		}
	}
	return list(items)
}

// Map returns the dict as a value. The dict must not change afterwards.
func Map(d *Dict) Value {
	if d == nil {
		d = &Dict{}
	}
	return object(KindDict, d)
}

// Trust returns a copy of v in which all strings and numbers, at any depth, are trusted.
func Trust(v Value) Value {
	v = known(v)
	switch v.kind {
	case KindString:
		return textValue(trusted(v.str))
	case KindList, kindTuple:
		from := v.items()
		items := make([]Value, len(from))
		for i, item := range from {
			items[i] = Trust(item)
		}
		return object(v.kind, &sequence{items: items})
	case KindDict:
		d := &Dict{}
		for _, e := range v.dict().entries {
			d.put(Trust(e.key), Trust(e.value))
		}
		return Map(d)
	}
	d := *v.datum
	d.trusted = true
	return Value{datum: &d}
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return known(v).kind }

// AsString returns the string of a value of KindString.
func (v Value) AsString() (string, bool) {
	if v.Kind() != KindString {
		return "", false
	}
	return v.str, true
}

// AsBool returns the boolean of a value of KindBool.
func (v Value) AsBool() (b, ok bool) {
	if v.Kind() != KindBool {
		return false, false
	}
	return v.num != 0, true
}

// AsList returns the elements of a value of KindList. They must not be changed.
func (v Value) AsList() ([]Value, bool) {
	if v.Kind() != KindList {
		return nil, false
	}
	return v.items(), true
}

// AsDict returns the dict of a value of KindDict. It must not be changed.
func (v Value) AsDict() (*Dict, bool) {
	if v.Kind() != KindDict {
		return nil, false
	}
	return v.dict(), true
}

// sequence is the data of a list or a tuple.
type sequence struct {
	items []Value
	names []string // of a named tuple's items
}

// rangeOf is the data of a range.
type rangeOf struct{ start, stop, step, length int64 }

// view is the data of what dict.keys, dict.values and dict.items return.
type view struct {
	of   *Dict
	what string
}

// generator is the data of an iterator that can be consumed once.
type generator struct{ next func() (Value, bool) }

// namespace is the data of a namespace.
type namespace struct{ attrs *Dict }

// undefined says why a value is undefined.
type undefined struct {
	hint   string // complete sentence, or
	of     string // type of the object that lacks name
	name   string
	number bool // name is an element's number
	unsafe bool // the sandbox forbids the attribute
}

func (u *undefined) message() string {
	switch {
	case u == nil:
		return "value is undefined"
	case u.hint != "":
		return u.hint
	case u.of == "":
		return quote(u.name) + " is undefined"
	case u.unsafe:
		return "access to attribute " + quote(u.name) + " of " + quote(u.of) + " object is unsafe"
	case u.number:
		return u.of + " object has no element " + u.name
	case u.of == "None":
		return "'None' has no attribute " + quote(u.name)
	}
	return "'" + u.of + " object' has no attribute " + quote(u.name)
}

func boolean(b, trusted bool) Value {
	d := &datum{kind: KindBool, trusted: trusted}
	if b {
		d.num = 1
	}
	return Value{datum: d}
}

func noneValue(trusted bool) Value { return Value{datum: &datum{kind: KindNone, trusted: trusted}} }

func intValue(i int64, trusted bool) Value {
	return Value{datum: &datum{kind: KindInt, num: uint64(i), trusted: trusted}}
}

func floatValue(f float64, trusted bool) Value {
	return Value{datum: &datum{kind: KindFloat, num: math.Float64bits(f), trusted: trusted}}
}

// verdict returns a boolean that the template computed.
func verdict(b bool) Value { return boolean(b, true) }

// integer returns an integer that the template computed.
func integer(i int) Value { return intValue(int64(i), true) }

func list(items []Value) Value  { return object(KindList, &sequence{items: items}) }
func tuple(items []Value) Value { return object(kindTuple, &sequence{items: items}) }

func textValue(t text) Value {
	d := &datum{kind: KindString, str: t.s, trusted: t.trusted}
	if len(t.cuts) > 0 {
		d.ref = &mixed{cuts: t.cuts}
	}
	return Value{datum: d}
}

// text returns the text of a string.
func (v Value) text() text {
	t := text{s: v.str, trusted: v.trusted}
	if m, ok := v.ref.(*mixed); ok {
		t.cuts = m.cuts
	}
	return t
}

// markup reports whether the value is a string marked by the filter "safe".
func (v Value) markup() bool {
	m, ok := v.ref.(*mixed)
	return ok && m.markup
}

func markupValue(t text) Value {
	return Value{datum: &datum{kind: KindString, str: t.s, trusted: t.trusted, ref: &mixed{cuts: t.cuts, markup: true}}}
}

func (v Value) int() int64     { return int64(v.num) }
func (v Value) float() float64 { return math.Float64frombits(v.num) }
func (v Value) items() []Value { return v.ref.(*sequence).items }
func (v Value) dict() *Dict    { return v.ref.(*Dict) }

// big returns the integer of a value of KindInt or KindBool.
func (v Value) big() *big.Int {
	if b, ok := v.ref.(*big.Int); ok {
		return b
	}
	return big.NewInt(v.int())
}

// wide reports whether the value is an integer that does not fit an int64.
func (v Value) wide() bool {
	if v.kind != KindInt {
		return false
	}
	_, ok := v.ref.(*big.Int)
	return ok
}

// bigValue returns b as a value.
func bigValue(b *big.Int, trusted bool) Value {
	if b.IsInt64() {
		return intValue(b.Int64(), trusted)
	}
	return Value{datum: &datum{kind: KindInt, ref: b, trusted: trusted}}
}

// why returns the reason of an undefined value.
func (v Value) why() *undefined {
	u, _ := v.ref.(*undefined)
	return u
}

// typeName returns the name of the value's type in Python.
func (v Value) typeName() string {
	switch v.kind {
	case KindNone:
		return "NoneType"
	case KindBool:
		return "bool"
	case KindInt:
		return "int"
	case KindFloat:
		return "float"
	case KindString:
		return "str"
	case KindList:
		return "list"
	case kindTuple:
		return "tuple"
	case KindDict:
		return "dict"
	case kindNamespace:
		return "Namespace"
	case kindRange:
		return "range"
	case kindView:
		return "dict_" + v.ref.(*view).what
	case kindGenerator:
		return "generator"
	case kindFunction:
		return "builtin_function_or_method"
	case kindMacro:
		return "Macro"
	case kindLoop:
		return "LoopContext"
	case kindCycler:
		return "Cycler"
	case kindJoiner:
		return "Joiner"
	}
	return "Undefined"
}
