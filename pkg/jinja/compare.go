package jinja

import (
	"math"
	"math/big"
	"strings"
)

// isNumber reports whether v takes part in arithmetic.
func isNumber(v Value) bool { return v.kind == KindBool || v.kind == KindInt || v.kind == KindFloat }

// compare evaluates a comparison operator.
func (r *run) compare(op string, a, b Value) bool {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		return !r.equal(a, b)
	case "in":
		return r.contains(b, a)
	case "not in":
		return !r.contains(b, a)
	}
	c, ok := r.order(op, a, b)
	switch op {
	case "<":
		return ok && c < 0
	case "<=":
		return ok && c <= 0
	case ">":
		return ok && c > 0
	}
	return ok && c >= 0
}

// compareNumbers compares two numbers; false says that one is not a number in the sense of IEEE 754.
func compareNumbers(a, b Value) (int, bool) {
	if a.kind != KindFloat && b.kind != KindFloat {
		if !a.wide() && !b.wide() {
			switch x, y := a.int(), b.int(); {
			case x < y:
				return -1, true
			case x > y:
				return 1, true
			}
			return 0, true
		}
		return a.big().Cmp(b.big()), true
	}
	x, ok1 := exact(a)
	y, ok2 := exact(b)
	if !ok1 || !ok2 {
		return 0, false
	}
	return x.Cmp(y), true
}

// exact returns a number without rounding; false for NaN.
func exact(v Value) (*big.Float, bool) {
	if v.kind != KindFloat {
		return new(big.Float).SetInt(v.big()), true
	}
	f := v.float()
	if math.IsNaN(f) {
		return nil, false
	}
	return big.NewFloat(f), true
}

// equal is Python's ==. Provenance does not matter.
func (r *run) equal(a, b Value) bool {
	if isNumber(a) && isNumber(b) {
		c, ok := compareNumbers(a, b)
		return ok && c == 0
	}
	if a.kind != b.kind {
		return false
	}
	r.step(1)
	switch a.kind {
	case KindString:
		r.step(min(len(a.str), len(b.str)) / 64)
		return a.str == b.str
	case KindNone, KindUndefined:
		return true
	case KindList, kindTuple:
		return r.equalItems(a.items(), b.items())
	case KindDict:
		return r.equalDicts(a.dict(), b.dict())
	case kindView:
		return r.equalViews(a.ref.(*view), b.ref.(*view))
	case kindRange:
		x, y := a.ref.(*rangeOf), b.ref.(*rangeOf)
		return x.length == y.length && (x.length == 0 || x.start == y.start && (x.length == 1 || x.step == y.step))
	}
	return a.ref == b.ref
}

func (r *run) equalItems(x, y []Value) bool {
	if len(x) != len(y) {
		return false
	}
	r.enter()
	defer r.leave()
	for i := range x {
		if !r.equal(x[i], y[i]) {
			return false
		}
	}
	return true
}

// equalViews compares keys and items as sets; values are equal only to themselves.
func (r *run) equalViews(x, y *view) bool {
	switch {
	case x.what != y.what || x.what == "values":
		return x == y
	case x.what == "items":
		return r.equalDicts(x.of, y.of)
	}
	r.step(x.of.Len())
	for _, e := range x.of.entries {
		if h, _, _ := hashOf(e.key); y.of.locate(h) < 0 {
			return false
		}
	}
	return x.of.Len() == y.of.Len()
}

func (r *run) equalDicts(x, y *Dict) bool {
	if x.Len() != y.Len() {
		return false
	}
	r.enter()
	defer r.leave()
	for _, e := range x.entries {
		h, _, _ := hashOf(e.key)
		i := y.locate(h)
		if i < 0 || !r.equal(e.value, y.entries[i].value) {
			return false
		}
	}
	return true
}

// order compares a and b; false says that they have no order.
func (r *run) order(op string, a, b Value) (int, bool) {
	r.refuseUndefined(a)
	r.refuseUndefined(b)
	if isNumber(a) && isNumber(b) {
		return compareNumbers(a, b)
	}
	r.step(1)
	if a.kind == b.kind {
		switch a.kind {
		case KindString:
			r.step(min(len(a.str), len(b.str)) / 64)
			return strings.Compare(a.str, b.str), true
		case KindList, kindTuple:
			r.enter()
			defer r.leave()
			x, y := a.items(), b.items()
			for i := range min(len(x), len(y)) {
				if !r.equal(x[i], y[i]) {
					return r.order(op, x[i], y[i])
				}
			}
			return len(x) - len(y), true
		}
	}
	r.fail(Type, "%s is not supported between %s and %s", quote(op), quote(a.typeName()), quote(b.typeName()))
	return 0, false
}

// contains is Python's "item in v".
func (r *run) contains(v, item Value) bool {
	switch of := v.ref.(type) {
	case *Dict:
		return r.locate(of, item) >= 0
	case *view:
		if of.what == "keys" {
			return r.contains(Map(of.of), item)
		}
	case *namespace:
		r.fail(Type, "%s object is not iterable", quote(v.typeName()))
	}
	if v.kind == KindString {
		if item.kind != KindString {
			r.fail(Type, "'in <string>' requires a string on its left, not %s", item.typeName())
		}
		r.step(1 + len(v.str)/64)
		return strings.Contains(v.str, item.str)
	}
	found := false
	r.each(v, func(element Value) bool {
		found = r.equal(element, item)
		return !found
	})
	return found
}
