package jinja

import "strings"

// maxRange is the sandbox's bound on the length of a range.
const maxRange = 100000

// global returns a function that every template has, or a missing value.
func global(name string) Value {
	switch name {
	case "raise_exception":
		return function(raise)
	case "range":
		return function(makeRange)
	case "namespace":
		return function(makeNamespace)
	case "dict":
		return function(func(r *run, a *arguments) Value { return Map(r.makeDict(name, a)) })
	case "joiner":
		return function(makeJoiner)
	case "cycler":
		return function(makeCycler)
	}
	return missing
}

func raise(r *run, a *arguments) Value {
	r.fail(Raised, "%s", r.str(r.bind("raise_exception", a, 1, "message")[0]).s)
	return Value{}
}

func makeRange(r *run, a *arguments) Value {
	args := r.only("range", a, 1, 3)
	bounds := [3]int64{0, 0, 1}
	for i, v := range args {
		bounds[i] = int64(r.wantInt("range", v))
		if bounds[i] > 1<<60 || bounds[i] < -1<<60 {
			r.fail(Limit, "range is too long: at most %d elements", maxRange)
		}
	}
	if len(args) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	of := &rangeOf{start: bounds[0], stop: bounds[1], step: bounds[2]}
	switch {
	case of.step == 0:
		r.fail(Type, "the step of range must not be zero")
	case of.step > 0 && of.start < of.stop:
		of.length = (of.stop-of.start-1)/of.step + 1
	case of.step < 0 && of.start > of.stop:
		of.length = (of.start-of.stop-1)/-of.step + 1
	}
	if of.length > maxRange {
		r.fail(Limit, "range is too long: at most %d elements", maxRange)
	}
	return object(kindRange, of)
}

// makeDict is Python's dict.
func (r *run) makeDict(what string, a *arguments) *Dict {
	d := &Dict{}
	if len(a.pos) > 1 {
		r.fail(Type, "%s takes at most 1 positional argument, got %d", what, len(a.pos))
	}
	if len(a.pos) == 1 {
		from := a.pos[0]
		r.refuseUndefined(from)
		switch of := from.ref.(type) {
		case *Dict:
			r.allocItems(2 * of.Len())
			d = of.clone()
		default:
			r.each(from, func(pair Value) bool {
				kv := r.collect(pair)
				if len(kv) != 2 {
					r.fail(Type, "%s wants pairs, got an element of length %d", what, len(kv))
				}
				r.put(d, kv[0], kv[1])
				return true
			})
		}
	}
	r.allocItems(2 * len(a.named))
	for _, n := range a.named {
		d.put(Trusted(n.name), n.value)
	}
	return d
}

func makeNamespace(r *run, a *arguments) Value {
	d := r.makeDict("namespace", a)
	for _, e := range d.entries {
		if e.key.kind == KindString && strings.HasPrefix(e.key.str, "_") {
			r.fail(Forbidden, "a namespace cannot hold the attribute %s: its name begins with an underscore", quote(e.key.str))
		}
	}
	return object(kindNamespace, &namespace{d})
}

// joiner is the data of what joiner() returns.
type joiner struct {
	sep  Value
	used bool
}

// cycler is the data of what cycler() returns.
type cycler struct {
	items []Value
	pos   int
}

func makeJoiner(r *run, a *arguments) Value {
	sep := r.bind("joiner", a, 0, "sep")[0]
	if sep.kind == kindMissing {
		sep = Trusted(", ")
	}
	return object(kindJoiner, &joiner{sep: sep})
}

func makeCycler(r *run, a *arguments) Value {
	items := r.only("cycler", a, 0, len(a.pos))
	if len(items) == 0 {
		r.fail(Type, "cycler needs an argument")
	}
	return object(kindCycler, &cycler{items: items})
}

// callHelper calls a joiner.
func (r *run) callHelper(of Value, a *arguments) Value {
	j, ok := of.ref.(*joiner)
	if !ok {
		r.fail(Type, "%s object is not callable", quote(of.typeName()))
	}
	r.only("joiner", a, 0, 0)
	if !j.used {
		j.used = true
		return Trusted("")
	}
	return j.sep
}

func (c *cycler) attribute(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "next":
		return function(func(r *run, a *arguments) Value {
			r.only("cycler.next", a, 0, 0)
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v
		}), true
	case "reset":
		return function(func(r *run, a *arguments) Value {
			r.only("cycler.reset", a, 0, 0)
			c.pos = 0
			return None()
		}), true
	}
	return Value{}, false
}
