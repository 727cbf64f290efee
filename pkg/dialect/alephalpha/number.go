package alephalpha

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"glossa/pkg/wire"
)

// A float is written with a point or an exponent, 1.0 and not 1, because clients in Python
// distinguish floats and integers. JSON has no infinity; the largest numbers replace it. NaN
// is null.
type float float64

// MarshalJSON implements [json.Marshaler].
func (f float) MarshalJSON() ([]byte, error) { return appendFloat(nil, float64(f), 64), nil }

// JSONSchema implements [wire.Describer].
func (float) JSONSchema() *wire.Schema { return wire.Types("number", "null") }

// A vector is written like [float], each element with the digits of a float32.
type vector []float32

// MarshalJSON implements [json.Marshaler].
func (v vector) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 12*len(v)+2), '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, float64(x), 32)
	}
	return append(b, ']'), nil
}

// JSONSchema implements [wire.Describer].
func (vector) JSONSchema() *wire.Schema { return wire.ListOf(wire.Types("number", "null")) }

// appendFloat appends x, a float of the given number of bits.
func appendFloat(b []byte, x float64, bits int) []byte {
	limit := math.MaxFloat64
	if bits == 32 {
		limit = math.MaxFloat32
	}
	switch {
	case math.IsNaN(x):
		return append(b, "null"...)
	case math.IsInf(x, 0):
		x = math.Copysign(limit, x)
	}
	form := byte('f')
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) { // as in encoding/json
		form = 'e'
	}
	start := len(b)
	b = strconv.AppendFloat(b, x, form, -1, bits)
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, ".0"...)
	}
	return b
}

// An object is written in the order of its members.
type object []member

type member struct {
	key   string
	value any
}

// add appends a member unless the key exists.
func (o *object) add(key string, value any) {
	for _, m := range *o {
		if m.key == key {
			return
		}
	}
	*o = append(*o, member{key, value})
}

// JSONSchema implements [wire.Describer]: objects are log-probabilities by token.
func (object) JSONSchema() *wire.Schema {
	s := wire.Types("object")
	s.AdditionalProperties = &wire.Additional{Schema: wire.Types("number", "null")}
	return s
}

// embeddings are vectors by layer, or by layer and pooling.
type embeddings object

// MarshalJSON implements [json.Marshaler].
func (e embeddings) MarshalJSON() ([]byte, error) { return object(e).MarshalJSON() }

// JSONSchema implements [wire.Describer].
func (embeddings) JSONSchema() *wire.Schema {
	pools := wire.Types("object")
	pools.AdditionalProperties = &wire.Additional{Schema: vector{}.JSONSchema()}
	s := wire.Types("object")
	s.AdditionalProperties = &wire.Additional{Schema: wire.AnyOf(wire.ListOf(vector{}.JSONSchema()), pools)}
	return s
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
