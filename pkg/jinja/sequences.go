package jinja

import "sort"

func filterBatch(r *run, v Value, a *arguments) Value {
	args := r.bind("batch", a, 1, "linecount", "fill_with")
	n := r.wantInt("batch", args[0])
	next, done := r.lazy(v), false
	return r.generate(func() (Value, bool) {
		var items []Value
		for !done && (len(items) < n || len(items) == 0) {
			item, ok := next()
			if !ok {
				done = true
				break
			}
			r.allocItems(1)
			items = append(items, item)
		}
		if len(items) == 0 {
			return Value{}, false
		}
		if !none(args[1]) && len(items) < n {
			r.allocItems(n - len(items))
			for len(items) < n {
				items = append(items, args[1])
			}
		}
		return list(items), true
	})
}

func filterSlice(r *run, v Value, a *arguments) Value {
	args := r.bind("slice", a, 1, "slices", "fill_with")
	n, items := r.wantInt("slice", args[0]), r.collect(v)
	if n == 0 {
		r.fail(Type, "division by zero")
	}
	r.allocItems(max(n, 0))
	each, extra := len(items)/n, len(items)%n
	from, i := 0, 0
	return r.generate(func() (Value, bool) {
		if i >= n {
			return Value{}, false
		}
		to := from + each
		if i < extra {
			to++
		}
		part := append([]Value(nil), items[from:to]...)
		if !none(args[1]) && i >= extra {
			part = append(part, args[1])
		}
		from = to
		i++
		return list(part), true
	})
}

// keyed is an element with what it is sorted by.
type keyed struct{ key, value Value }

// sorted sorts elements by their keys. Equal ones keep their order, also in reverse.
func (r *run) sorted(items []keyed, reverse bool) []Value {
	sort.SliceStable(items, func(i, j int) bool {
		r.step(1)
		if reverse {
			i, j = j, i
		}
		return r.compare("<", items[i].key, items[j].key)
	})
	out := make([]Value, len(items))
	for i, item := range items {
		out[i] = item.value
	}
	return out
}

// keys returns the elements of v with their keys.
func (r *run) keys(v Value, key func(Value) Value) []keyed {
	var items []keyed
	r.each(v, func(item Value) bool {
		r.allocItems(3)
		items = append(items, keyed{key(item), item})
		return true
	})
	return items
}

func filterSort(r *run, v Value, a *arguments) Value {
	args := r.bind("sort", a, 0, "reverse", "case_sensitive", "attribute")
	exact := r.flag(args[1])
	paths := [][]Value{r.path(args[2])}
	if args[2].kind == KindString {
		paths = nil
		for _, part := range r.splitBy(r.text(args[2]), ",", -1, false).items() {
			paths = append(paths, r.path(part))
		}
	}
	items := r.keys(v, func(item Value) Value {
		parts := make([]Value, len(paths))
		for i, path := range paths {
			parts[i] = r.fold(r.follow(item, path, missing), exact)
		}
		return list(parts)
	})
	return list(r.sorted(items, r.flag(args[0])))
}

func filterDictsort(r *run, v Value, a *arguments) Value {
	args := r.bind("dictsort", a, 0, "case_sensitive", "by", "reverse")
	r.refuseUndefined(v)
	if v.kind != KindDict {
		r.fail(Type, "dictsort wants a dict, not %s", v.typeName())
	}
	by := "key"
	if args[1].kind != kindMissing {
		by = r.wantString("dictsort", args[1]).s
	}
	if by != "key" && by != "value" {
		r.fail(Type, "dictsort sorts by 'key' or 'value'")
	}
	exact := r.flag(args[0])
	items := r.keys(object(kindView, &view{v.dict(), "items"}), func(pair Value) Value {
		return r.fold(pair.items()[btoi(by == "value")], exact)
	})
	return list(r.sorted(items, r.flag(args[2])))
}

func filterUnique(r *run, v Value, a *arguments) Value {
	args := r.bind("unique", a, 0, "case_sensitive", "attribute")
	exact, path := r.flag(args[0]), r.path(args[1])
	next, seen := r.lazy(v), &Dict{}
	return r.generate(func() (Value, bool) {
		for {
			item, ok := next()
			if !ok {
				return item, false
			}
			r.allocItems(2)
			n := seen.Len()
			if r.put(seen, r.fold(r.follow(item, path, missing), exact), None()); seen.Len() > n {
				return item, true
			}
		}
	})
}

// groupNames are the attributes of groups.
var groupNames = []string{"grouper", "list"}

func filterGroupby(r *run, v Value, a *arguments) Value {
	args := r.bind("groupby", a, 1, "attribute", "default", "case_sensitive")
	path, exact := r.path(args[0]), r.flag(args[2])
	key := func(item Value) Value { return r.follow(item, path, args[1]) }
	var groups []Value
	var members []Value
	flush := func() {
		if len(members) > 0 {
			r.allocItems(4)
			groups = append(groups, object(kindTuple, &sequence{[]Value{key(members[0]), list(members)}, groupNames}))
		}
	}
	var last Value
	fold := func(item Value) Value { return r.fold(key(item), exact) }
	for _, item := range r.sorted(r.keys(v, fold), false) {
		k := fold(item)
		if len(members) > 0 && !r.equal(k, last) {
			flush()
			members = nil
		}
		last = k
		members = append(members, item)
	}
	flush()
	return list(groups)
}

func filterSum(r *run, v Value, a *arguments) Value {
	args := r.bind("sum", a, 0, "attribute", "start")
	path, total := r.path(args[0]), integer(0)
	if args[1].kind != kindMissing {
		total = args[1]
	}
	if total.kind == KindString {
		r.fail(Type, "sum cannot add strings; use the filter join")
	}
	r.each(v, func(item Value) bool {
		total = r.binary("+", total, r.follow(item, path, missing))
		return true
	})
	return total
}

// filterExtreme returns min and max.
func filterExtreme(name string) filterFunc {
	op := map[string]string{"min": "<", "max": ">"}[name]
	return func(r *run, v Value, a *arguments) Value {
		args := r.bind(name, a, 0, "case_sensitive", "attribute")
		exact, path := r.flag(args[0]), r.path(args[1])
		best, bestKey := absent(&undefined{hint: "no aggregated item, sequence was empty"}), missing
		r.each(v, func(item Value) bool {
			k := r.fold(r.follow(item, path, missing), exact)
			if bestKey.kind == kindMissing || r.compare(op, k, bestKey) {
				best, bestKey = item, k
			}
			return true
		})
		return best
	}
}
