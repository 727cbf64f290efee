package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"glossa/pkg/llm"
)

// UnknownParam is the code of an error whose Param is not a key of the request.
const UnknownParam llm.Code = "unknown_parameter"

// A shape describes the JSON that a Go type is decoded from.
type shape struct {
	kind    reflect.Kind // Struct, Map, Slice; Invalid: any value is accepted
	integer bool         // a number without a fraction
	nonNull string       // the JSON type, of a Go type that cannot represent null: lists refuse null
	many    bool         // a value of the kind, or a list of them
	element reflect.Type // of a Map or a Slice, and of many
	keys    []string     // of a Struct, sorted
	types   []reflect.Type
}

// shapes caches the shapes of types: there are only the program's own types, and reflection
// takes longer than reading a body.
var shapes sync.Map // by reflect.Type

// shapeOf returns the shape of t. Types with their own UnmarshalJSON check their values
// themselves, except Many.
func shapeOf(t reflect.Type) *shape {
	if f, ok := shapes.Load(t); ok {
		return f.(*shape)
	}
	f := &shape{}
	base := t
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if many, ok := reflect.Zero(base).Interface().(interface{ element() reflect.Type }); ok {
		f.many, f.element = true, many.element()
	} else if !reflect.PointerTo(base).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		f.integer = isInteger(base.Kind())
		if t == base && base.Kind() != reflect.Interface {
			f.nonNull = typeName(base)
		}
		switch base.Kind() {
		case reflect.Struct:
			f.kind = reflect.Struct
			types := fields(base)
			for key := range types {
				f.keys = append(f.keys, key)
			}
			slices.Sort(f.keys)
			for _, key := range f.keys {
				f.types = append(f.types, types[key])
			}
		case reflect.Map:
			f.kind, f.element = reflect.Map, base.Elem()
		case reflect.Slice, reflect.Array:
			f.kind, f.element = reflect.Slice, base.Elem()
		}
	}
	shapes.Store(t, f)
	return f
}

// A checker walks valid JSON. Its methods return the path of an error, the innermost step
// first, so that a walk without errors builds no paths.
type checker struct {
	b []byte
	i int // index of the next byte

	integer func(from, to int) // if set, called with each number that is decoded into an integer
}

// space skips white space and returns the next byte.
func (c *checker) space() byte {
	for c.b[c.i] == ' ' || c.b[c.i] == '\n' || c.b[c.i] == '\t' || c.b[c.i] == '\r' {
		c.i++
	}
	return c.b[c.i]
}

// value checks the next value, which was decoded into a type of shape f.
func (c *checker) value(f *shape) (at []string, err error) {
	first := c.space()
	switch {
	case f.many && first == '[':
		return c.array(f.element)
	case f.many:
		return c.value(shapeOf(f.element))
	case f.kind == reflect.Slice && first == '[':
		return c.array(f.element)
	case (f.kind == reflect.Struct || f.kind == reflect.Map) && first == '{':
		return c.object(f)
	}
	from := c.i
	c.skip()
	if c.integer != nil && f.integer && isNumber(string(c.b[from:from+1])) {
		c.integer(from, c.i)
	}
	return nil, nil
}

func (c *checker) array(element reflect.Type) (at []string, err error) {
	f := shapeOf(element)
	c.i++ // the bracket
	for i := 0; c.space() != ']'; i++ {
		if c.b[c.i] == ',' {
			c.i++
		}
		if c.space() == 'n' && f.nonNull != "" {
			return []string{fmt.Sprintf("[%d]", i)}, llm.Errorf(llm.Invalid, "must be %s, not null", f.nonNull)
		}
		if at, err := c.value(f); err != nil {
			return append(at, fmt.Sprintf("[%d]", i)), err
		}
	}
	c.i++
	return nil, nil
}

// seenKeys holds the keys of an object seen so far: for a struct by index, for a map by
// name.
type seenKeys struct {
	fields [4]uint64
	more   map[string]bool
}

// add records a key and reports whether it was seen before. index is -1 in a map.
func (s *seenKeys) add(index int, key []byte) bool {
	if index >= 0 && index < 64*len(s.fields) {
		word, bit := &s.fields[index/64], uint64(1)<<(index%64)
		was := *word&bit != 0
		*word |= bit
		return was
	}
	if s.more == nil {
		s.more = map[string]bool{}
	}
	was := s.more[string(key)]
	s.more[string(key)] = true
	return was
}

func (c *checker) object(f *shape) (at []string, err error) {
	var seen seenKeys
	c.i++ // the brace
	for c.space() != '}' {
		if c.b[c.i] == ',' {
			c.i++
			c.space()
		}
		raw := c.key()
		if c.space(); c.b[c.i] == ':' {
			c.i++
		}
		index, value := -1, f.element
		if f.kind == reflect.Struct {
			var ok bool
			if index, ok = slices.BinarySearchFunc(f.keys, raw, compare); !ok {
				return []string{string(raw)}, llm.Errorf(UnknownParam, "unknown parameter")
			}
			value = f.types[index]
		}
		switch twice := seen.add(index, raw); {
		case twice && f.kind == reflect.Map: // the key is content, not a parameter
			return nil, llm.Errorf(llm.Invalid, "%.100q appears twice", raw)
		case twice:
			return []string{string(raw)}, llm.Errorf(llm.Invalid, "appears twice")
		}
		if at, err := c.value(shapeOf(value)); err != nil {
			return append(at, string(raw)), err
		}
	}
	c.i++
	return nil, nil
}

// compare orders keys without allocating.
func compare(key string, raw []byte) int {
	switch {
	case key == string(raw):
		return 0
	case key < string(raw):
		return -1
	}
	return 1
}

// key reads the key of a member.
func (c *checker) key() []byte {
	from := c.i
	c.text()
	raw := c.b[from:c.i]
	var key string
	if (slices.Contains(raw, '\\') || !utf8.Valid(raw)) && json.Unmarshal(raw, &key) == nil {
		return []byte(key)
	}
	return raw[1 : len(raw)-1]
}

// text skips a string.
func (c *checker) text() {
	for c.i++; c.b[c.i] != '"'; c.i++ {
		if c.b[c.i] == '\\' {
			c.i++
		}
	}
	c.i++
}

// skip skips a value without checking it.
func (c *checker) skip() {
	depth := 0
	for {
		switch c.space() {
		case '"':
			c.text()
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			depth--
			c.i++
		case ',', ':':
			c.i++
			continue // what follows belongs to the value
		default:
			for c.i < len(c.b) && strings.IndexByte(",:]} \n\t\r", c.b[c.i]) < 0 {
				c.i++
			}
		}
		if depth == 0 {
			return
		}
	}
}
