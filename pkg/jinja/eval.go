package jinja

func (e *constExpr) eval(*run) Value { return e.value }

func (e *nameExpr) eval(r *run) Value {
	v := r.lookup(e.slot)
	if v.kind == kindMissing {
		return absent(e.why)
	}
	return v
}

func (e *listExpr) eval(r *run) Value {
	r.allocItems(len(e.items))
	items := make([]Value, len(e.items))
	for i, item := range e.items {
		items[i] = item.eval(r)
	}
	if e.tuple {
		return tuple(items)
	}
	return list(items)
}

func (e *dictExpr) eval(r *run) Value {
	r.allocItems(2 * len(e.keys))
	d := &Dict{}
	for i := range e.keys {
		k := e.keys[i].eval(r)
		r.at = e.at
		r.put(d, k, e.values[i].eval(r))
	}
	return Map(d)
}

// chargeHash charges the work of hashing a key.
func (r *run) chargeHash(key Value) {
	switch {
	case key.kind == KindString:
		r.step(len(key.str) / 64)
	case key.kind == kindTuple:
		for _, item := range key.items() {
			r.alloc(16 + len(item.str))
		}
	case key.wide():
		r.step(key.big().BitLen() / 4)
	}
}

// put binds a key that must be hashable.
func (r *run) put(d *Dict, key, v Value) {
	r.chargeHash(key)
	if _, name, ok := hashOf(key); !ok {
		r.fail(Type, "unhashable type: %s", quote(name))
	}
	d.put(key, v)
}

// locate returns the place of a key, or -1. Python's objects without a value, such as generators, can be looked up too.
func (r *run) locate(d *Dict, key Value) int {
	r.chargeHash(key)
	h, name, ok := hashOf(key)
	if ok {
		return d.locate(h)
	}
	if key.kind == KindList || key.kind == KindDict || key.kind == kindTuple {
		r.fail(Type, "unhashable type: %s", quote(name))
	}
	return -1
}

func (e *attrExpr) eval(r *run) Value {
	r.step(1)
	v := e.of.eval(r)
	r.at = e.at
	return r.attribute(v, e.name, e.methods)
}

func (e *itemExpr) eval(r *run) Value {
	r.step(1)
	v := e.of.eval(r)
	by := e.by.eval(r)
	r.at = e.at
	return r.item(v, by)
}

func (e *sliceExpr) eval(r *run) Value {
	r.step(1)
	v := e.of.eval(r)
	var bounds [3]Value
	for i, b := range []expr{e.start, e.stop, e.step} {
		bounds[i] = None()
		if b != nil {
			bounds[i] = b.eval(r)
		}
	}
	r.at = e.at
	return r.slice(v, bounds[0], bounds[1], bounds[2])
}

func (e *filterExpr) eval(r *run) Value {
	r.step(1)
	return e.call.apply(r, e.of.eval(r))
}

// apply applies the filter to a value.
func (f *filterCall) apply(r *run, v Value) Value {
	a := f.args.eval(r)
	r.at = f.at
	if f.fn == nil {
		r.fail(Unsupported, "%s", unknownFilter(f.name))
	}
	return f.fn(r, v, a)
}

func (e *testExpr) eval(r *run) Value {
	r.step(1)
	v := e.of.eval(r)
	a := e.args.eval(r)
	r.at = e.at
	if e.test == nil {
		r.fail(Unsupported, "%s", unknownTest(e.name))
	}
	return verdict(e.test(r, v, a) != e.negate)
}

func (e *unaryExpr) eval(r *run) Value {
	v := e.of.eval(r)
	r.at = e.at
	return r.sign(e.op, v)
}

func (e *binaryExpr) eval(r *run) Value {
	r.step(1)
	a := e.left.eval(r)
	b := e.right.eval(r)
	r.at = e.at
	return r.binary(e.op, a, b)
}

func (e *concatExpr) eval(r *run) Value {
	var b builder
	for _, part := range e.parts {
		t := r.str(part.eval(r))
		r.alloc(len(t.s))
		b.writeText(t)
	}
	return textValue(b.text())
}

func (e *notExpr) eval(r *run) Value { return verdict(!r.truth(e.of.eval(r))) }

func (e *logicExpr) eval(r *run) Value {
	r.step(1)
	v := e.left.eval(r)
	if r.truth(v) == e.or {
		return v
	}
	return e.right.eval(r)
}

func (e *compareExpr) eval(r *run) Value {
	r.step(1)
	left := e.first.eval(r)
	for i, op := range e.ops {
		right := e.rest[i].eval(r)
		r.at = e.at
		if !r.compare(op, left, right) {
			return verdict(false)
		}
		left = right
	}
	return verdict(true)
}

func (e *condExpr) eval(r *run) Value {
	r.step(1)
	if r.truth(e.test.eval(r)) {
		return e.yes.eval(r)
	}
	if e.no == nil {
		return absent(&undefined{hint: "the condition is false and the expression has no else"})
	}
	return e.no.eval(r)
}

// truth is Python's bool.
func (r *run) truth(v Value) bool {
	switch v.kind {
	case KindUndefined:
		return false
	case KindNone:
		return false
	case KindBool:
		return v.num != 0
	case KindInt:
		return v.num != 0 || v.ref != nil
	case KindFloat:
		return v.float() != 0
	case KindString:
		return v.str != ""
	case KindList, kindTuple:
		return len(v.items()) > 0
	case KindDict:
		return v.dict().Len() > 0
	case kindView:
		return v.ref.(*view).of.Len() > 0
	case kindRange:
		return v.ref.(*rangeOf).length > 0
	case kindLoop:
		return v.ref.(*loop).count(r) > 0
	}
	return true
}

// refuseUndefined fails for undefined values.
func (r *run) refuseUndefined(v Value) {
	if v.kind == KindUndefined {
		fault := Undefined
		if u := v.why(); u != nil && u.unsafe {
			fault = Forbidden
		}
		r.fail(fault, "%s", v.why().message())
	}
}
