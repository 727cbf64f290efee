package schema

import (
	"maps"
	"slices"
)

// A place is a value in a document and the object or list that holds it.
type place struct {
	value any
	in    any // map[string]any or []any; nil for the document itself
	name  string
	index int
}

// put replaces the value of a place. It does nothing for the document itself.
func (p place) put(v any) {
	switch in := p.in.(type) {
	case map[string]any:
		in[p.name] = v
	case []any:
		in[p.index] = v
	}
}

// A walk follows a path, within a budget.
type walk struct {
	doc    *document // for the order of members
	budget int       // values that it may still visit
}

// Budgets, in values: for one path in a request, for one path in the defaults of a
// record, for all paths in an answer. Documents of many megabytes reach them, and
// short ones in which several .. visit the same values repeatedly.
const (
	maxRequest  = 1 << 20
	maxDefaults = 1 << 16
	maxAnswer   = 1 << 22
)

// along calls yield with the places of p, starting from at, in the document's order,
// until yield returns false; along then returns false, also if the budget ends.
func (w *walk) along(p path, at place, yield func(place) bool) bool {
	if len(p) == 0 {
		return yield(at)
	}
	return w.step(p[0], at, func(next place) bool { return w.along(p[1:], next, yield) })
}

// step calls yield with the places of one step.
func (w *walk) step(s step, at place, yield func(place) bool) bool {
	if w.budget--; w.budget < 0 {
		return false
	}
	switch s.kind {
	case member, element:
		if next, ok := s.only(at); ok {
			return yield(next)
		}
	case members:
		m, _ := at.value.(map[string]any)
		return w.members(m, yield)
	case slice:
		return w.slice(s, at, yield)
	case descend:
		return w.descend(at, yield)
	}
	return true
}

// only returns the single place of a step to a member or an element.
func (s step) only(at place) (next place, ok bool) {
	if s.kind == member {
		m, _ := at.value.(map[string]any)
		v, ok := m[s.name]
		return place{value: v, in: at.value, name: s.name}, ok
	}
	list, _ := at.value.([]any)
	i := s.index
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return place{}, false
	}
	return place{value: list[i], in: at.value, index: i}, true
}

// only returns the single place of a definite path.
func (p path) only(doc any) (at place, ok bool) {
	at, ok = place{value: doc}, true
	for i := 0; ok && i < len(p); i++ {
		at, ok = p[i].only(at)
	}
	return at, ok
}

func (w *walk) members(m map[string]any, yield func(place) bool) bool {
	for _, name := range w.doc.names(m) {
		if !yield(place{value: m[name], in: m, name: name}) {
			return false
		}
	}
	return true
}

// slice treats a value that is not a list as a list of itself, as jsonpath-ng does:
// [*] of an object is the object. null is an empty list.
func (w *walk) slice(s step, at place, yield func(place) bool) bool {
	list, isList := at.value.([]any)
	n := len(list)
	if !isList && at.value != nil {
		n = 1
	}
	for i := bound(s.from, 0, n); i < bound(s.to, n, n); i += s.stride {
		next := at
		if isList {
			next = place{value: list[i], in: list, index: i}
		}
		if !yield(next) {
			return false
		}
	}
	return true
}

// bound returns an end of a slice of n values, in Python's counting.
func bound(at *int, otherwise, n int) int {
	if at == nil {
		return otherwise
	}
	i := *at
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

// descend visits a value before its contents.
func (w *walk) descend(at place, yield func(place) bool) bool {
	if w.budget--; w.budget < 0 || !yield(at) {
		return false
	}
	deeper := func(next place) bool { return w.descend(next, yield) }
	if m, ok := at.value.(map[string]any); ok {
		return w.members(m, deeper)
	}
	list, _ := at.value.([]any)
	for i, v := range list {
		if !deeper(place{value: v, in: list, index: i}) {
			return false
		}
	}
	return true
}

// places returns all places of p in doc; ok is false if there are too many.
func (p path) places(doc any, budget int) (found []place, ok bool) {
	w := &walk{budget: budget}
	ok = w.along(p, place{value: doc}, func(at place) bool {
		found = append(found, at)
		return true
	})
	return found, ok
}

// set puts v in all places of p in doc, and reports whether there is one. It cannot
// replace the document itself.
func (p path) set(doc any, v any) bool {
	if p.definite() {
		at, ok := p.only(doc)
		if ok = ok && at.in != nil; ok {
			at.put(v)
		}
		return ok
	}
	found, ok := p.places(doc, maxRequest)
	if !ok {
		return false
	}
	some := false
	for _, at := range found {
		at.put(v)
		some = some || at.in != nil
	}
	return some
}

// names returns the members of m in the order of the text, or sorted.
func (d *document) names(m map[string]any) []string {
	if d != nil {
		if names, ok := d.order[identity(m)]; ok {
			return names
		}
	}
	return slices.Sorted(maps.Keys(m))
}
