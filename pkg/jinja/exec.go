package jinja

func (s *dataStmt) exec(r *run) flow {
	r.write(trusted(s.value))
	return flowNext
}

func (s *printStmt) exec(r *run) flow {
	for _, value := range s.values {
		r.at = s.at
		v := value.eval(r)
		r.at = s.at
		r.write(r.str(v))
	}
	return flowNext
}

func (s *ifStmt) exec(r *run) flow {
	for i, test := range s.tests {
		r.step(1)
		if r.truth(test.eval(r)) {
			return r.block(s.bodies[i])
		}
	}
	return r.block(s.other)
}

func (s *setStmt) exec(r *run) flow {
	v := s.value.eval(r)
	r.assign(&s.target, v)
	return flowNext
}

func (s *setBlock) exec(r *run) flow {
	var f flow
	t := r.capture(func() { r.scope(r.frame, func() { f = r.block(s.body) }) })
	if f != flowNext {
		return f // break and continue discard the text
	}
	v := textValue(t)
	for i := range s.filter {
		v = s.filter[i].apply(r, v)
	}
	r.assign(&s.target, v)
	return flowNext
}

func (s *filterBlock) exec(r *run) flow {
	var f flow
	t := r.capture(func() { r.scope(r.frame, func() { f = r.block(s.body) }) })
	if f != flowNext {
		return f
	}
	v := textValue(t)
	for i := range s.filter {
		v = s.filter[i].apply(r, v)
	}
	r.at = s.at
	r.write(r.str(v))
	return flowNext
}

func (s *macroStmt) exec(r *run) flow {
	r.frame.bind(s.name, object(kindMacro, &macro{s.def, r.frame}))
	return flowNext
}

func (s *callStmt) exec(r *run) flow {
	caller := object(kindMacro, &macro{s.def, r.frame})
	v := s.call.evalWith(r, &caller)
	r.at = s.at
	r.write(r.str(v))
	return flowNext
}

func (s *withStmt) exec(r *run) flow {
	values := make([]Value, len(s.values))
	for i, e := range s.values {
		values[i] = e.eval(r)
	}
	var f flow
	r.scope(r.frame, func() {
		for i := range s.targets {
			r.assign(&s.targets[i], values[i])
		}
		f = r.block(s.body)
	})
	return f
}

func (s *generationStmt) exec(r *run) flow {
	start := len(r.out.buf)
	var f flow
	r.scope(r.frame, func() { f = r.block(s.body) })
	if r.out == r.root {
		r.generated = append(r.generated, Range{start, len(r.out.buf)})
	}
	return f
}

func (s *jumpStmt) exec(*run) flow { return s.to }

// assign binds a target.
func (r *run) assign(t *target, v Value) {
	switch {
	case t.tuple:
		r.at = t.at
		var items []Value
		r.each(v, func(item Value) bool {
			items = append(items, item)
			return len(items) <= len(t.parts)
		})
		switch {
		case len(items) < len(t.parts):
			r.fail(Type, "not enough values to unpack: want %d, got %d", len(t.parts), len(items))
		case len(items) > len(t.parts):
			r.fail(Type, "too many values to unpack: want %d", len(t.parts))
		}
		for i := range t.parts {
			r.assign(&t.parts[i], items[i])
		}
	case t.attr != "":
		r.at = t.at
		ns, ok := r.lookup(t.slot).ref.(*namespace)
		if !ok {
			r.fail(Type, "cannot assign attribute %s: the object is not a namespace", quote(t.attr))
		}
		r.setAttribute(ns, t.attr, v)
	default:
		r.step(len(r.frame.slots) / 16)
		r.frame.bind(t.slot, v)
	}
}

// setAttribute sets an attribute of a namespace; transformers forbids names with an underscore in front.
func (r *run) setAttribute(ns *namespace, name string, v Value) {
	if name != "" && name[0] == '_' {
		r.fail(Forbidden, "a namespace cannot hold the attribute %s: its name begins with an underscore", quote(name))
	}
	r.alloc(itemSize)
	ns.attrs.put(Trusted(name), v)
}

// A loop is the value of the name "loop".
type loop struct {
	next    func() (Value, bool)
	index   int // from 0; -1 before the first
	depth   int // from 0
	length  int // -1: not known yet
	before  Value
	current Value
	ahead   []Value // read before their turn
	done    bool    // next is exhausted
	changed []Value
	recurse func(r *run, of Value, depth int) Value
}

// peek returns the next element without moving.
func (l *loop) peek() (Value, bool) {
	if len(l.ahead) > 0 {
		return l.ahead[0], true
	}
	if l.done {
		return Value{}, false
	}
	v, ok := l.next()
	if !ok {
		l.done = true
		return Value{}, false
	}
	l.ahead = append(l.ahead, v)
	return v, true
}

// advance moves to the next element.
func (l *loop) advance() bool {
	v, ok := l.peek()
	if !ok {
		return false
	}
	l.ahead = l.ahead[1:]
	l.index++
	l.before, l.current = l.current, v
	return true
}

// count returns the number of elements; it reads all of an iterator.
func (l *loop) count(r *run) int {
	if l.length < 0 {
		for !l.done {
			v, ok := l.next()
			if !ok {
				l.done = true
				break
			}
			r.allocItems(1)
			l.ahead = append(l.ahead, v)
		}
		l.length = l.index + 1 + len(l.ahead)
	}
	return l.length
}

func (s *forStmt) exec(r *run) flow {
	r.at = s.at
	v := s.iter.eval(r)
	return s.iterate(r, v, 0, r.frame)
}

// iterate runs the loop over a value. Its scopes lie in parent.
func (s *forStmt) iterate(r *run, over Value, depth int, parent *frame) flow {
	r.at = s.at
	outer := r.frame
	inner := &frame{parent: parent}
	l := &loop{next: r.iterator(over), index: -1, depth: depth, length: -1}
	if s.test != nil {
		l.next = s.filtered(r, l.next, parent)
	}
	if s.recursive {
		l.recurse = func(r *run, of Value, depth int) Value {
			r.enter()
			defer r.leave()
			return textValue(r.capture(func() { s.iterate(r, of, depth, parent) }))
		}
	}
	loopValue := object(kindLoop, l)
	finished := false // Jinja runs else unless an iteration reached the end of the body
	for l.advance() {
		r.step(1)
		inner.clear()
		r.frame = inner
		if s.usesLoop {
			inner.bind(s.loop, loopValue)
		}
		r.assign(&s.target, l.current)
		f := r.block(s.body)
		if f == flowBreak {
			break
		}
		finished = finished || f == flowNext
	}
	r.frame = outer
	if !finished && s.other != nil {
		var f flow
		r.scope(parent, func() { f = r.block(s.other) })
		return f
	}
	return flowNext
}

// filtered returns the elements for which the loop's condition holds.
func (s *forStmt) filtered(r *run, next func() (Value, bool), parent *frame) func() (Value, bool) {
	scope := &frame{parent: parent}
	return func() (Value, bool) {
		for {
			v, ok := next()
			if !ok {
				return v, false
			}
			outer := r.frame
			scope.clear()
			r.frame = scope
			r.step(1)
			r.assign(&s.target, v)
			keep := r.truth(s.test.eval(r))
			r.frame = outer
			if keep {
				return v, true
			}
		}
	}
}
