package jinja

import (
	"iter"
	"math"
	"strconv"
	"strings"
)

// A Dict is a dict that keeps the order of insertion. The zero Dict is empty.
type Dict struct {
	entries []entry
	index   map[hash]int // of entries, if there are more than few
}

type entry struct{ key, value Value }

// few is the size up to which a scan is faster than a map.
const few = 8

// Set binds an untrusted key to a value. It returns the dict.
func (d *Dict) Set(key string, v Value) *Dict {
	d.put(String(key), known(v))
	return d
}

// Get returns the value of a key.
func (d *Dict) Get(key string) (Value, bool) {
	if i := d.find(key); i >= 0 {
		return d.entries[i].value, true
	}
	return Value{}, false
}

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.entries) }

// All returns the string keys with their values, in order.
func (d *Dict) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, e := range d.entries {
			if e.key.kind == KindString && !yield(e.key.str, e.value) {
				return
			}
		}
	}
}

// hash is what equal keys have in common; provenance is not part of it.
type hash struct {
	kind byte
	num  uint64
	str  string
}

// hashOf returns the hash of a key, or false and the type's name if it is not hashable.
func hashOf(v Value) (hash, string, bool) {
	switch v.kind {
	case KindString:
		return hash{kind: 's', str: v.str}, "", true
	case KindNone, KindUndefined:
		return hash{kind: 'a' + byte(v.kind)}, "", true
	case KindBool, KindInt:
		if v.wide() {
			return hash{kind: 'b', str: v.big().String()}, "", true
		}
		return hash{kind: 'n', num: v.num}, "", true
	case KindFloat:
		f := v.float()
		if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return hash{kind: 'n', num: uint64(int64(f))}, "", true
		}
		return hash{kind: 'f', num: v.num}, "", true
	case kindRange:
		of := v.ref.(*rangeOf)
		return hash{kind: 'r', num: uint64(of.start), str: strconv.FormatInt(of.step, 36) + ":" + strconv.FormatInt(of.length, 36)}, "", true
	case kindTuple:
		var b strings.Builder
		for _, item := range v.items() {
			if item.kind == kindTuple {
				return hash{}, "nested tuple", false
			}
			h, name, ok := hashOf(item)
			if !ok {
				return hash{}, name, false
			}
			b.WriteString(string(rune(h.kind)) + strconv.FormatUint(h.num, 36) + ":" + strconv.Itoa(len(h.str)) + ":" + h.str)
		}
		return hash{kind: 't', str: b.String()}, "", true
	}
	return hash{}, v.typeName(), false
}

// find returns the place of a string key, or -1.
func (d *Dict) find(key string) int {
	if d.index != nil {
		if i, ok := d.index[hash{kind: 's', str: key}]; ok {
			return i
		}
		return -1
	}
	for i := range d.entries {
		if e := &d.entries[i]; e.key.kind == KindString && e.key.str == key {
			return i
		}
	}
	return -1
}

// locate returns the place of a hash, or -1.
func (d *Dict) locate(h hash) int {
	if d.index != nil {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	for i := range d.entries {
		if k, _, _ := hashOf(d.entries[i].key); k == h {
			return i
		}
	}
	return -1
}

// put binds a hashable key; a key that exists keeps its place.
func (d *Dict) put(key, v Value) {
	h, _, _ := hashOf(key)
	if i := d.locate(h); i >= 0 {
		d.entries[i].value = v
		return
	}
	if d.index != nil {
		d.index[h] = len(d.entries)
	}
	d.entries = append(d.entries, entry{key, v})
	if d.index == nil && len(d.entries) > few {
		d.index = make(map[hash]int, 2*few)
		for i := range d.entries {
			k, _, _ := hashOf(d.entries[i].key)
			d.index[k] = i
		}
	}
}

// clone returns a copy that can be changed.
func (d *Dict) clone() *Dict {
	c := &Dict{}
	for _, e := range d.entries {
		c.put(e.key, e.value)
	}
	return c
}
