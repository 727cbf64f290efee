package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// attribute returns v.name as Jinja's sandbox does: a method of the type, then the item of that name.
func (r *run) attribute(v Value, name string, m methods) Value {
	r.refuseUndefined(v)
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") && len(name) > 4 {
		return absent(&undefined{of: v.typeName(), name: name, unsafe: true})
	}
	if call := m.of(v.kind); call != nil {
		return function(func(r *run, a *arguments) Value { return call(r, v, a) })
	}
	switch {
	case m.unsafeFor(v.kind):
		return absent(&undefined{of: v.typeName(), name: name, unsafe: true})
	case m.unsupportedFor(v.kind):
		r.fail(Unsupported, "%s.%s is not supported", v.typeName(), name)
	}
	switch of := v.ref.(type) {
	case *Dict:
		if i := of.find(name); i >= 0 {
			return of.entries[i].value
		}
	case *namespace:
		if i := of.attrs.find(name); i >= 0 {
			return of.attrs.entries[i].value
		}
	case *loop:
		if a, ok := of.attribute(r, name); ok {
			return a
		}
	case *macro:
		if name == "name" {
			return Trusted(of.def.name)
		}
	case *cycler:
		if a, ok := of.attribute(name); ok {
			return a
		}
	case *sequence:
		if i := slices.Index(of.names, name); i >= 0 {
			return of.items[i]
		}
	case *rangeOf:
		switch name {
		case "start":
			return integer(int(of.start))
		case "stop":
			return integer(int(of.stop))
		case "step":
			return integer(int(of.step))
		}
	}
	return lacks(v, name)
}

// lacks returns the undefined value of a missing attribute.
func lacks(v Value, name string) Value {
	of := v.typeName()
	if v.kind == KindNone {
		of = "None"
	}
	return absent(&undefined{of: of, name: name})
}

// attribute returns an attribute of the name "loop".
func (l *loop) attribute(r *run, name string) (Value, bool) {
	switch name {
	case "index":
		return integer(l.index + 1), true
	case "index0":
		return integer(l.index), true
	case "first":
		return verdict(l.index == 0), true
	case "last":
		_, more := l.peek()
		return verdict(!more), true
	case "length":
		return integer(l.count(r)), true
	case "revindex":
		return integer(l.count(r) - l.index), true
	case "revindex0":
		return integer(l.count(r) - l.index - 1), true
	case "depth":
		return integer(l.depth + 1), true
	case "depth0":
		return integer(l.depth), true
	case "previtem":
		if l.index == 0 {
			return absent(&undefined{hint: "there is no previous item"}), true
		}
		return l.before, true
	case "nextitem":
		if v, ok := l.peek(); ok {
			return v, true
		}
		return absent(&undefined{hint: "there is no next item"}), true
	case "cycle":
		return function(func(r *run, a *arguments) Value {
			if len(r.only("loop.cycle", a, 0, len(a.pos))) == 0 {
				r.fail(Type, "loop.cycle needs an argument")
			}
			return a.pos[l.index%len(a.pos)]
		}), true
	case "changed":
		return function(func(r *run, a *arguments) Value {
			now := r.only("loop.changed", a, 0, len(a.pos))
			same := l.changed != nil && r.equal(tuple(l.changed), tuple(now))
			l.changed = append([]Value{}, now...)
			return verdict(!same)
		}), true
	}
	return Value{}, false
}

// item returns v[by] as Jinja does: the item, then the attribute of that name; undefined if there is neither.
func (r *run) item(v, by Value) Value {
	r.refuseUndefined(v)
	if d, ok := v.ref.(*Dict); ok {
		r.chargeHash(by)
		if by.kind == KindString {
			if i := d.find(by.str); i >= 0 {
				return d.entries[i].value
			}
		} else if h, _, ok := hashOf(by); ok {
			if i := d.locate(h); i >= 0 {
				return d.entries[i].value
			}
		}
	} else if (by.kind == KindInt || by.kind == KindBool) && !by.wide() {
		if n := r.size(v); n >= 0 {
			i := by.int()
			if i < 0 {
				i += int64(n)
			}
			if i >= 0 && i < int64(n) {
				return r.element(v, int(i))
			}
		}
	}
	if by.kind == KindString {
		return r.attribute(v, by.str, methodsNamed(by.str))
	}
	u := lacks(v, r.str(by).s)
	u.why().number = true
	return u
}

// size returns the length of what can be indexed by numbers, or -1.
func (r *run) size(v Value) int {
	switch v.kind {
	case KindString:
		r.step(1 + len(v.str)/64)
		return utf8.RuneCountInString(v.str)
	case KindList, kindTuple:
		return len(v.items())
	case kindRange:
		return int(v.ref.(*rangeOf).length)
	}
	return -1
}

// element returns the element i of what has a size.
func (r *run) element(v Value, i int) Value {
	switch v.kind {
	case KindString:
		t := r.text(v)
		if isASCII(t.s) {
			return textValue(t.slice(i, i+1))
		}
		from := skipRunes(t.s, 0, i)
		_, n := utf8.DecodeRuneInString(t.s[from:])
		return textValue(t.slice(from, from+n))
	case kindRange:
		of := v.ref.(*rangeOf)
		return integer(int(of.start + of.step*int64(i)))
	}
	return v.items()[i]
}

// skipRunes returns the offset n characters behind from.
func skipRunes(s string, from, n int) int {
	for ; n > 0 && from < len(s); n-- {
		_, w := utf8.DecodeRuneInString(s[from:])
		from += w
	}
	return from
}

// bound returns a slice's bound, or def for None.
func (r *run) bound(v Value, def int64) int64 {
	switch {
	case v.kind == KindNone:
		return def
	case (v.kind == KindInt || v.kind == KindBool) && !v.wide():
		return v.int()
	case v.wide():
		if v.big().Sign() < 0 {
			return -1 << 62
		}
		return 1 << 62
	}
	r.fail(Type, "slice indices must be integers or none, not %s", v.typeName())
	return 0
}

// slice returns v[start:stop:step].
func (r *run) slice(v, start, stop, step Value) Value {
	r.refuseUndefined(v)
	n := r.size(v)
	if n < 0 {
		r.fail(Type, "%s object cannot be sliced", quote(v.typeName()))
	}
	by := r.bound(step, 1)
	if by == 0 {
		r.fail(Type, "slice step cannot be zero")
	}
	length := int64(n)
	low, high := int64(0), length
	if by < 0 {
		low, high = -1, length-1
	}
	clamp := func(v Value, def int64) int64 {
		i := r.bound(v, def)
		if v.kind == KindNone {
			return def
		}
		if i < 0 {
			i += length
		}
		return min(max(i, low), high)
	}
	first, last := low, high
	if by < 0 {
		first, last = high, low
	}
	first, last = clamp(start, first), clamp(stop, last)
	count := 0
	if by > 0 && first < last {
		count = int((last-first-1)/by) + 1
	} else if by < 0 && first > last {
		count = int((first-last-1)/-by) + 1
	}
	if of, ok := v.ref.(*rangeOf); ok {
		return object(kindRange, &rangeOf{of.start + of.step*first, of.start + of.step*last, of.step * by, int64(count)})
	}
	return r.pick(v, int(first), int(by), count)
}

// pick returns count elements of a string, a list or a tuple from first on.
func (r *run) pick(v Value, first, by, count int) Value {
	if v.kind == KindString {
		return textValue(r.pickText(r.text(v), first, by, count))
	}
	from := v.items()
	if by == 1 {
		return object(v.kind, &sequence{items: from[first : first+count : first+count]})
	}
	r.allocItems(count)
	items := make([]Value, count)
	for i := range items {
		items[i] = from[first+i*by]
	}
	return object(v.kind, &sequence{items: items})
}

func (r *run) pickText(t text, first, by, count int) text {
	if count == 0 {
		return text{trusted: true}
	}
	at := offsets(t.s)
	offset := func(i int) int {
		if at == nil {
			return i
		}
		return at[i]
	}
	if at != nil {
		r.alloc(8 * len(at))
	}
	if by == 1 {
		return t.slice(offset(first), offset(first+count))
	}
	r.alloc(len(t.s))
	var b builder
	for i := range count {
		from, to := offset(first+i*by), offset(first+i*by+1)
		b.write(t.s[from:to], t.at(from))
	}
	return b.text()
}

// iterator returns a function that returns the next element of v.
func (r *run) iterator(v Value) func() (Value, bool) {
	i := 0
	switch of := v.ref.(type) {
	case *sequence:
		return func() (Value, bool) {
			if i >= len(of.items) {
				return Value{}, false
			}
			i++
			return of.items[i-1], true
		}
	case *Dict:
		return func() (Value, bool) {
			if i >= len(of.entries) {
				return Value{}, false
			}
			i++
			return of.entries[i-1].key, true
		}
	case *view:
		return func() (Value, bool) {
			if i >= len(of.of.entries) {
				return Value{}, false
			}
			i++
			e := of.of.entries[i-1]
			switch of.what {
			case "keys":
				return e.key, true
			case "values":
				return e.value, true
			}
			r.allocItems(2)
			return tuple([]Value{e.key, e.value}), true
		}
	case *rangeOf:
		return func() (Value, bool) {
			if int64(i) >= of.length {
				return Value{}, false
			}
			i++
			return integer(int(of.start + of.step*int64(i-1))), true
		}
	case *generator:
		return of.next
	}
	switch v.kind {
	case KindUndefined:
		return func() (Value, bool) { return Value{}, false }
	case KindString:
		t := r.text(v)
		return func() (Value, bool) {
			if i >= len(t.s) {
				return Value{}, false
			}
			_, n := utf8.DecodeRuneInString(t.s[i:])
			i += n
			return textValue(t.slice(i-n, i)), true
		}
	}
	r.fail(Type, "%s object is not iterable", quote(v.typeName()))
	return nil
}

// each calls f with the elements of v until f returns false.
func (r *run) each(v Value, f func(Value) bool) {
	next := r.iterator(v)
	for {
		item, ok := next()
		if !ok {
			return
		}
		r.step(1)
		if !f(item) {
			return
		}
	}
}

// collect returns the elements of v as a new slice.
func (r *run) collect(v Value) []Value {
	var items []Value
	r.each(v, func(item Value) bool {
		r.alloc(itemSize)
		items = append(items, item)
		return true
	})
	return items
}

// length is Python's len.
func (r *run) length(v Value) int {
	switch of := v.ref.(type) {
	case *Dict:
		return of.Len()
	case *view:
		return of.of.Len()
	case *loop:
		return of.count(r)
	}
	if n := r.size(v); n >= 0 {
		return n
	}
	if v.kind == KindUndefined {
		return 0
	}
	r.fail(Type, "%s object has no length", quote(v.typeName()))
	return 0
}
