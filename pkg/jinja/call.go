package jinja

// arguments are the evaluated arguments of a call.
type arguments struct {
	pos   []Value
	named []namedValue
}

type namedValue struct {
	name  string
	value Value
}

// eval evaluates the arguments.
func (l *argList) eval(r *run) *arguments {
	a := &arguments{}
	if len(l.pos) > 0 {
		a.pos = make([]Value, 0, len(l.pos))
		for _, e := range l.pos {
			a.pos = append(a.pos, e.eval(r))
		}
	}
	for i, e := range l.named {
		a.named = append(a.named, namedValue{l.names[i], e.eval(r)})
	}
	if l.dynPos != nil {
		r.each(l.dynPos.eval(r), func(v Value) bool {
			r.allocItems(1)
			a.pos = append(a.pos, v)
			return true
		})
	}
	if l.dynNamed != nil {
		v := l.dynNamed.eval(r)
		if v.kind != KindDict {
			r.refuseUndefined(v)
			r.fail(Type, "the argument after ** must be a dict, not %s", v.typeName())
		}
		if v.dict().Len() > maxArguments {
			r.fail(Limit, "the call has more than %d named arguments", maxArguments)
		}
		r.allocItems(v.dict().Len())
		for _, e := range v.dict().entries {
			if e.key.kind != KindString {
				r.fail(Type, "keywords must be strings")
			}
			if _, ok := a.take(e.key.str); ok {
				r.fail(Type, "got multiple values for the argument %s", quote(e.key.str))
			}
			a.named = append(a.named, namedValue{e.key.str, e.value})
		}
	}
	return a
}

// take returns a named argument.
func (a *arguments) take(name string) (Value, bool) {
	for _, n := range a.named {
		if n.name == name {
			return n.value, true
		}
	}
	return Value{}, false
}

// bind matches the arguments with parameters of which the first least are required.
// A parameter that was not given has the kind missing.
func (r *run) bind(what string, a *arguments, least int, params ...string) []Value {
	if len(a.pos) > len(params) {
		r.fail(Type, "%s takes at most %s, got %d", what, plural(len(params), "argument"), len(a.pos))
	}
	out := make([]Value, len(params))
	copy(out, a.pos)
	for i := len(a.pos); i < len(out); i++ {
		out[i] = missing
	}
next:
	for _, n := range a.named {
		for i, p := range params {
			if p == n.name {
				if i < len(a.pos) {
					r.fail(Type, "%s got multiple values for the argument %s", what, quote(p))
				}
				out[i] = n.value
				continue next
			}
		}
		r.fail(Type, "%s has no argument %s", what, quote(n.name))
	}
	for i := range least {
		if out[i].kind == kindMissing {
			r.fail(Type, "%s needs the argument %s", what, quote(params[i]))
		}
	}
	return out
}

// only matches positional arguments: between least and most of them.
func (r *run) only(what string, a *arguments, least, most int) []Value {
	if len(a.named) > 0 {
		r.fail(Type, "%s takes no keyword arguments", what)
	}
	if len(a.pos) < least || len(a.pos) > most {
		want := plural(most, "argument")
		if most > least {
			want = itoa(least) + " to " + want
		}
		r.fail(Type, "%s takes %s, got %d", what, want, len(a.pos))
	}
	return a.pos
}

func plural(n int, noun string) string {
	s := itoa(n) + " " + noun
	if n != 1 {
		s += "s"
	}
	return s
}

// builtin is the data of a function, whose identity is its address.
type builtin struct {
	call func(r *run, a *arguments) Value
}

func function(call func(r *run, a *arguments) Value) Value {
	return object(kindFunction, &builtin{call})
}

// macro is a macro with the scope of its definition.
type macro struct {
	def   *macroDef
	frame *frame
}

func (e *callExpr) eval(r *run) Value { return e.evalWith(r, nil) }

// evalWith evaluates the call, with the body of a call block as the argument caller unless it is nil.
func (e *callExpr) evalWith(r *run, caller *Value) Value {
	r.step(1)
	if m, ok := e.of.(*attrExpr); ok {
		of := m.of.eval(r)
		r.at = m.at
		if call := m.methods.of(of.kind); call != nil {
			a := e.args.eval(r)
			r.at = e.at
			return call(r, of, a)
		}
		return e.invoke(r, r.attribute(of, m.name, m.methods), caller)
	}
	return e.invoke(r, e.of.eval(r), caller)
}

func (e *callExpr) invoke(r *run, of Value, caller *Value) Value {
	a := e.args.eval(r)
	if caller != nil {
		a.named = append(a.named, namedValue{"caller", *caller})
	}
	r.at = e.at
	return r.call(of, a)
}

// call calls a value.
func (r *run) call(of Value, a *arguments) Value {
	switch f := of.ref.(type) {
	case *builtin:
		return f.call(r, a)
	case *macro:
		return r.callMacro(f, a)
	case *loop:
		v := r.only("loop", a, 1, 1)
		if f.recurse == nil {
			r.fail(Type, "the loop must be marked recursive to be called")
		}
		return f.recurse(r, v[0], f.depth+1)
	case *cycler, *joiner:
		return r.callHelper(of, a)
	}
	r.refuseUndefined(of)
	r.fail(Type, "%s object is not callable", quote(of.typeName()))
	return Value{}
}

// callMacro calls a macro and returns what it wrote.
func (r *run) callMacro(m *macro, a *arguments) Value {
	r.enter()
	defer r.leave()
	at, outer := r.at, r.frame
	inner := &frame{parent: m.frame}
	r.bindMacro(m.def, inner, a)
	r.frame = inner
	for i, slot := range m.def.params {
		if v := inner.values[i]; v.kind == kindMissing {
			if d := m.def.defaults[i]; d != nil {
				inner.bind(slot, d.eval(r))
			} else {
				inner.bind(slot, absent(&undefined{hint: "parameter " + quote(m.def.names[i]) + " was not provided"}))
			}
		}
	}
	t := r.capture(func() { r.block(m.def.body) })
	r.frame, r.at = outer, at
	return textValue(t)
}

// bindMacro binds the parameters of a macro, as Macro.__call__ in jinja2.runtime does.
func (r *run) bindMacro(def *macroDef, inner *frame, a *arguments) {
	used := 0
	for i, slot := range def.params {
		v := missing
		if i < len(a.pos) {
			v = a.pos[i]
		} else if n, ok := a.take(def.names[i]); ok {
			v = n
			used++
		}
		inner.slots, inner.values = append(inner.slots, slot), append(inner.values, v)
	}
	var rest []namedValue
	for _, n := range a.named {
		isParam := false
		for i := len(a.pos); i < len(def.names); i++ {
			isParam = isParam || def.names[i] == n.name
		}
		if !isParam {
			rest = append(rest, n)
		}
	}
	if def.usesCaller && !def.explicitCaller {
		caller := absent(&undefined{hint: "no caller is defined: the macro was not called with {% call %}"})
		for i, n := range rest {
			if n.name == "caller" {
				caller = n.value
				rest = append(rest[:i:i], rest[i+1:]...)
				break
			}
		}
		inner.bind(def.caller, caller)
	}
	if def.usesKwargs {
		d := &Dict{}
		for _, n := range rest {
			d.put(Trusted(n.name), n.value)
		}
		r.allocItems(2 * len(rest))
		inner.bind(def.kwargs, Map(d))
	} else if len(rest) > 0 {
		r.fail(Type, "macro %s takes no keyword argument %s", quote(def.name), quote(rest[0].name))
	}
	if extra := a.pos[min(len(def.params), len(a.pos)):]; def.usesVarargs {
		inner.bind(def.varargs, tuple(extra))
	} else if len(extra) > 0 {
		r.fail(Type, "macro %s takes at most %s", quote(def.name), plural(len(def.params), "argument"))
	}
}
