package jinja

import "strings"

// A method is a method of a built-in type.
type method func(r *run, v Value, a *arguments) Value

// methods are the methods of one name, by type, and what Python has of that name beyond.
type methods struct {
	str, dict, list method
	rest            method // of ranges and of tuples: count and index
	name            string
}

// methodsNamed returns the methods of a name.
func methodsNamed(name string) methods {
	m := methods{str: stringMethod(name), name: name}
	switch name {
	case "get":
		m.dict = dictGet
	case "items", "keys", "values":
		m.dict = func(r *run, v Value, a *arguments) Value {
			r.only("dict."+name, a, 0, 0)
			return object(kindView, &view{v.dict(), name})
		}
	case "copy":
		m.dict = func(r *run, v Value, a *arguments) Value {
			r.only("dict.copy", a, 0, 0)
			return v
		}
		m.list = m.dict
	case "count":
		m.rest = listCount
	case "index":
		m.rest = listIndex
	}
	if m.rest != nil {
		m.list = m.rest
	}
	return m
}

// known reports whether the name is a method of any type.
func (m methods) known() bool { return m.str != nil || m.dict != nil || m.list != nil }

// of returns the method of a type, or nil.
func (m methods) of(k Kind) method {
	switch k {
	case KindString:
		return m.str
	case KindDict:
		return m.dict
	case KindList:
		return m.list
	case kindTuple, kindRange:
		return m.rest
	}
	return nil
}

// unsafeFor reports whether the sandbox forbids the method because it changes its object.
func (m methods) unsafeFor(k Kind) bool {
	switch k {
	case KindList:
		return oneOf(m.name, "append clear pop reverse insert sort extend remove")
	case KindDict:
		return oneOf(m.name, "clear pop popitem setdefault update")
	}
	return false
}

// unsupportedFor reports whether Python has the method and this package does not.
func (m methods) unsupportedFor(k Kind) bool {
	switch k {
	case KindString:
		return oneOf(m.name, "format format_map encode translate maketrans expandtabs casefold isidentifier isnumeric isprintable")
	case KindDict:
		return m.name == "fromkeys"
	case KindBool, KindInt, KindFloat:
		return oneOf(m.name, "real imag numerator denominator conjugate as_integer_ratio is_integer bit_length bit_count to_bytes from_bytes hex fromhex")
	}
	return false
}

// oneOf reports whether a word is in a list of words.
func oneOf(word, words string) bool {
	for w := range strings.SplitSeq(words, " ") {
		if w == word {
			return true
		}
	}
	return false
}

func dictGet(r *run, v Value, a *arguments) Value {
	args := r.only("dict.get", a, 1, 2)
	d := v.dict()
	if i := r.locate(d, args[0]); i >= 0 {
		return d.entries[i].value
	}
	if len(args) == 2 {
		return args[1]
	}
	return noneValue(true)
}

func listCount(r *run, v Value, a *arguments) Value {
	args := r.only("count", a, 1, 1)
	n := 0
	r.each(v, func(item Value) bool {
		if r.equal(item, args[0]) {
			n++
		}
		return true
	})
	return integer(n)
}

func listIndex(r *run, v Value, a *arguments) Value {
	most := 3
	if v.kind == kindRange {
		most = 1
	}
	args, size := r.only("index", a, 1, most), r.size(v)
	bounds := [2]int{0, size}
	for i, arg := range args[1:] {
		if bounds[i] = r.wantInt("index", arg); bounds[i] < 0 {
			bounds[i] += size
		}
	}
	at, i := -1, 0
	r.each(v, func(item Value) bool {
		if i >= bounds[0] && i < bounds[1] && r.equal(item, args[0]) {
			at = i
		}
		i++
		return at < 0
	})
	if at < 0 {
		r.fail(Type, "the value is not in the %s", v.typeName())
	}
	return integer(at)
}
