package resilience

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
)

// A key is the hash of a request to one model. It reveals nothing of the request.
type key [sha256.Size]byte

// keyOf returns the SHA-256 of an unambiguous encoding of values: lengths precede lists
// and texts, nil differs from empty, and a value in an interface follows the name of
// its type. ok is false for values without such an encoding: functions, channels and
// maps with keys that are neither numbers nor texts.
func keyOf(values ...any) (k key, ok bool) {
	hash := sha256.New()
	e := &encoder{w: bufio.NewWriter(hash), ok: true}
	for _, v := range values {
		e.add(reflect.ValueOf(&v).Elem())
	}
	e.w.Flush()
	hash.Sum(k[:0])
	return k, e.ok
}

// An encoder writes values. It walks types by reflection, so that a new field of a
// request is automatically in the key. Writing to a hash has no errors.
type encoder struct {
	w  *bufio.Writer
	ok bool
	b  [8]byte
}

func (e *encoder) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		e.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		e.number(math.Float64bits(v.Float()))
	case reflect.String:
		e.text(v.String())
	case reflect.Struct:
		for _, field := range v.Fields() {
			e.add(field)
		}
	case reflect.Array:
		e.elements(v)
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if e.flag(!v.IsNil()); !v.IsNil() {
			e.inner(v)
		}
	default:
		e.ok = false
	}
}

// inner adds the contents of a value that is not nil.
func (e *encoder) inner(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		e.add(v.Elem())
	case reflect.Interface:
		t := v.Elem().Type()
		e.text(t.PkgPath())
		e.text(t.String())
		e.add(v.Elem())
	case reflect.Slice:
		e.number(uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			e.w.Write(v.Bytes())
		} else {
			e.elements(v)
		}
	case reflect.Map:
		e.number(uint64(v.Len()))
		e.entries(v)
	}
}

func (e *encoder) elements(v reflect.Value) {
	for i := range v.Len() {
		e.add(v.Index(i))
	}
}

// entries adds the entries of a map in the order of their keys.
func (e *encoder) entries(v reflect.Value) {
	keys := v.MapKeys()
	switch kind := v.Type().Key().Kind(); {
	case kind == reflect.String:
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	case kind >= reflect.Int && kind <= reflect.Int64:
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
	default:
		e.ok = false
		return
	}
	for _, k := range keys {
		e.add(k)
		e.add(v.MapIndex(k))
	}
}

func (e *encoder) flag(b bool) {
	n := byte(0)
	if b {
		n = 1
	}
	e.w.WriteByte(n)
}

func (e *encoder) number(n uint64) {
	binary.LittleEndian.PutUint64(e.b[:], n)
	e.w.Write(e.b[:])
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.w.WriteString(s)
}
