package jinja

import "strings"

// A filterFunc is a filter.
type filterFunc func(r *run, v Value, a *arguments) Value

func unknownFilter(name string) string {
	if oneOf(name, "filesizeformat pprint random striptags urlencode urlize wordwrap xmlattr") {
		return "the filter " + quote(name) + " is not supported"
	}
	return "there is no filter named " + quote(name)
}

// filterNamed returns a filter, or nil.
func filterNamed(name string) filterFunc {
	if f := textFilter(name); f != nil {
		return f
	}
	switch name {
	case "abs":
		return filterAbs
	case "attr":
		return filterAttr
	case "batch":
		return filterBatch
	case "count", "length":
		return filterLength
	case "d", "default":
		return filterDefault
	case "dictsort":
		return filterDictsort
	case "first":
		return filterFirst
	case "float":
		return filterFloat
	case "from_json":
		return filterFromJSON
	case "groupby":
		return filterGroupby
	case "int":
		return filterInt
	case "items":
		return filterItems
	case "last":
		return filterLast
	case "list":
		return filterList
	case "map":
		return filterMap
	case "max", "min":
		return filterExtreme(name)
	case "select", "reject", "selectattr", "rejectattr":
		return filterSelect(name)
	case "reverse":
		return filterReverse
	case "round":
		return filterRound
	case "slice":
		return filterSlice
	case "sort":
		return filterSort
	case "sum":
		return filterSum
	case "tojson":
		return filterToJSON
	case "unique":
		return filterUnique
	}
	return nil
}

// none reports whether an argument was not given or is None.
func none(v Value) bool { return v.kind == kindMissing || v.kind == KindNone }

// flag returns a boolean argument, false by default.
func (r *run) flag(v Value) bool { return v.kind != kindMissing && r.truth(v) }

func filterLength(r *run, v Value, a *arguments) Value {
	r.only("length", a, 0, 0)
	return integer(r.length(v))
}

func filterDefault(r *run, v Value, a *arguments) Value {
	args := r.bind("default", a, 0, "default_value", "boolean")
	if v.kind == KindUndefined || r.flag(args[1]) && !r.truth(v) {
		if args[0].kind == kindMissing {
			return Trusted("")
		}
		return args[0]
	}
	return v
}

func filterList(r *run, v Value, a *arguments) Value {
	r.only("list", a, 0, 0)
	if v.kind == KindList {
		return v
	}
	return list(r.collect(v))
}

// generate returns an iterator as a value. Iterators over iterators count as depth.
func (r *run) generate(next func() (Value, bool)) Value {
	return object(kindGenerator, &generator{func() (Value, bool) {
		r.enter()
		v, ok := next()
		r.leave()
		return v, ok
	}})
}

func filterItems(r *run, v Value, a *arguments) Value {
	r.only("items", a, 0, 0)
	switch v.kind {
	case KindUndefined:
		return r.generate(func() (Value, bool) { return Value{}, false })
	case KindDict:
		return r.generate(r.iterator(object(kindView, &view{v.dict(), "items"})))
	}
	r.fail(Type, "can only get item pairs from a mapping, not from %s", v.typeName())
	return Value{}
}

func filterFirst(r *run, v Value, a *arguments) Value {
	r.only("first", a, 0, 0)
	if first, ok := r.iterator(v)(); ok {
		return first
	}
	return absent(&undefined{hint: "no first item, sequence was empty"})
}

// backwards returns the elements from the last to the first; false if Python cannot reverse the value.
func (r *run) backwards(v Value) ([]Value, bool) {
	switch v.kind {
	case kindGenerator, KindNone, KindBool, KindInt, KindFloat, kindNamespace, kindMacro, kindFunction, kindLoop, kindCycler, kindJoiner:
		return nil, false
	case kindTuple, KindList:
		r.allocItems(len(v.items()))
		return reversed(v.items()), true
	}
	return reversed(r.collect(v)), true
}

func filterLast(r *run, v Value, a *arguments) Value {
	r.only("last", a, 0, 0)
	if n := r.size(v); n > 0 {
		return r.element(v, n-1)
	}
	items, ok := r.backwards(v)
	if !ok {
		r.fail(Type, "%s object is not reversible", quote(v.typeName()))
	}
	if len(items) == 0 {
		return absent(&undefined{hint: "no last item, sequence was empty"})
	}
	return items[0]
}

func filterReverse(r *run, v Value, a *arguments) Value {
	r.only("reverse", a, 0, 0)
	if v.kind == KindString {
		n := r.size(v)
		return r.pick(v, max(n-1, 0), -1, n)
	}
	if items, ok := r.backwards(v); ok {
		return r.generate(r.iterator(list(items)))
	}
	return list(reversed(r.collect(v)))
}

// path is the attribute of filters such as map and sort: names and numbers with dots between.
func (r *run) path(v Value) []Value {
	switch v.kind {
	case kindMissing, KindNone:
		return nil
	case KindString:
		var parts []Value
		for part := range strings.SplitSeq(v.str, ".") {
			if n, ok := parseDigits(part, 10); ok && part != "" && len(part) < 7 && isASCII(part) && classified("isdigit", part) {
				parts = append(parts, integer(int(n)))
			} else {
				parts = append(parts, Trusted(part))
			}
		}
		return parts
	}
	return []Value{v}
}

// follow returns the item of v at the path; undefined items become def unless it is missing.
func (r *run) follow(v Value, path []Value, def Value) Value {
	for _, part := range path {
		r.step(1)
		v = r.item(v, part)
		if v.kind == KindUndefined && !none(def) {
			v = def
		}
	}
	return v
}

// fold returns a string in lower case for comparisons that ignore case.
func (r *run) fold(v Value, caseSensitive bool) Value {
	if v.kind == KindString && !caseSensitive {
		r.alloc(len(v.str))
		return String(lower(v.str))
	}
	return v
}

func filterAttr(r *run, v Value, a *arguments) Value {
	name := r.wantString("attr", r.bind("attr", a, 1, "name")[0]).s
	if v.kind == KindDict {
		if m := methodsNamed(name); m.of(KindDict) == nil {
			return lacks(v, name) // attr does not look into the dict
		}
	}
	return r.attribute(v, name, methodsNamed(name))
}

func filterMap(r *run, v Value, a *arguments) Value {
	if !r.truth(v) {
		return r.generate(func() (Value, bool) { return Value{}, false })
	}
	next := r.lazy(v)
	if attribute, ok := a.take("attribute"); ok && len(a.pos) == 0 {
		def := missing
		for _, n := range a.named {
			switch n.name {
			case "default":
				def = n.value
			case "attribute":
			default:
				r.fail(Type, "map has no argument %s", quote(n.name))
			}
		}
		path := r.path(attribute)
		return r.generate(func() (Value, bool) {
			item, ok := next()
			if !ok {
				return item, false
			}
			return r.follow(item, path, def), true
		})
	}
	if len(a.pos) == 0 || a.pos[0].kind != KindString {
		r.fail(Type, "map wants the name of a filter or attribute=")
	}
	name, f := a.pos[0].str, filterNamed(a.pos[0].str)
	rest := &arguments{a.pos[1:], a.named}
	return r.generate(func() (Value, bool) {
		item, ok := next()
		if !ok {
			return item, false
		}
		if f == nil {
			r.fail(Unsupported, "%s", unknownFilter(name))
		}
		r.step(1)
		return f(r, item, rest), true
	})
}

// lazy returns the iterator of v, which fails only when it is used.
func (r *run) lazy(v Value) func() (Value, bool) {
	var next func() (Value, bool)
	return func() (Value, bool) {
		if next == nil {
			next = r.iterator(v)
		}
		return next()
	}
}

// filterSelect returns select, reject, selectattr and rejectattr.
func filterSelect(name string) filterFunc {
	byAttribute, keep := strings.HasSuffix(name, "attr"), strings.HasPrefix(name, "select")
	return func(r *run, v Value, a *arguments) Value {
		if !r.truth(v) {
			return r.generate(func() (Value, bool) { return Value{}, false })
		}
		pos := a.pos
		var path []Value
		if byAttribute {
			if len(pos) == 0 {
				r.fail(Type, "%s wants the name of an attribute", name)
			}
			path, pos = r.path(pos[0]), pos[1:]
		}
		holds := func(v Value) bool { return r.truth(v) }
		if len(pos) > 0 {
			test := testNamed(r.wantString(name, pos[0]).s)
			if test == nil {
				r.fail(Unsupported, "%s", unknownTest(pos[0].str))
			}
			rest := &arguments{pos[1:], a.named}
			holds = func(v Value) bool { return test(r, v, rest) }
		}
		next := r.lazy(v)
		return r.generate(func() (Value, bool) {
			for {
				item, ok := next()
				if !ok {
					return item, false
				}
				r.step(1)
				if holds(r.follow(item, path, missing)) == keep {
					return item, true
				}
			}
		})
	}
}

func filterFromJSON(r *run, v Value, a *arguments) Value {
	r.only("from_json", a, 0, 0)
	t := r.wantString("from_json", v)
	r.alloc(len(t.s) * itemSize / 2)
	out, err := decodeJSON(t)
	if err != nil {
		r.fail(Type, "from_json: %v", err)
	}
	return out
}
