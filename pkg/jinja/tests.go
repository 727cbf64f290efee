package jinja

// A testFunc is a test, the right side of "is".
type testFunc func(r *run, v Value, a *arguments) bool

func unknownTest(name string) string { return "there is no test named " + quote(name) }

// testNamed returns a test, or nil.
func testNamed(name string) testFunc {
	switch name {
	case "==", "eq", "equalto":
		return comparison("==")
	case "!=", "ne":
		return comparison("!=")
	case ">", "gt", "greaterthan":
		return comparison(">")
	case ">=", "ge":
		return comparison(">=")
	case "<", "lt", "lessthan":
		return comparison("<")
	case "<=", "le":
		return comparison("<=")
	case "in":
		return comparison("in")
	case "odd", "even", "divisibleby":
		return divisible(name)
	case "sameas":
		return testSameas
	case "filter", "test":
		return testExists(name)
	}
	if is := property(name); is != nil {
		return func(r *run, v Value, a *arguments) bool {
			r.only("the test "+name, a, 0, 0)
			return is(r, v)
		}
	}
	return nil
}

// property returns a test without arguments, or nil.
func property(name string) func(r *run, v Value) bool {
	kind := func(kinds ...Kind) func(*run, Value) bool {
		return func(_ *run, v Value) bool {
			for _, k := range kinds {
				if v.kind == k {
					return true
				}
			}
			return false
		}
	}
	switch name {
	case "undefined":
		return kind(KindUndefined)
	case "defined":
		return func(_ *run, v Value) bool { return v.kind != KindUndefined }
	case "none":
		return kind(KindNone)
	case "boolean":
		return kind(KindBool)
	case "true", "false":
		return func(_ *run, v Value) bool { return v.kind == KindBool && (v.num != 0) == (name == "true") }
	case "integer":
		return kind(KindInt)
	case "float":
		return kind(KindFloat)
	case "number":
		return kind(KindInt, KindFloat, KindBool)
	case "string":
		return kind(KindString)
	case "mapping":
		return kind(KindDict)
	case "sequence":
		return kind(KindString, KindList, KindDict, kindTuple, kindRange, KindUndefined)
	case "iterable":
		return kind(KindString, KindList, KindDict, kindTuple, kindRange, kindView, kindGenerator, kindLoop, KindUndefined)
	case "callable":
		return kind(kindFunction, kindMacro, kindLoop, kindJoiner, KindUndefined)
	case "escaped":
		return func(_ *run, v Value) bool { return v.markup() }
	case "lower", "upper":
		return func(r *run, v Value) bool {
			t := r.str(v)
			r.scan(t.s)
			return classified("is"+name, t.s)
		}
	}
	return nil
}

func comparison(op string) testFunc {
	return func(r *run, v Value, a *arguments) bool {
		return r.compare(op, v, r.only("the test "+op, a, 1, 1)[0])
	}
}

func divisible(name string) testFunc {
	return func(r *run, v Value, a *arguments) bool {
		by, want := integer(2), integer(btoi(name == "odd"))
		if name == "divisibleby" {
			by = r.bind("divisibleby", a, 1, "num")[0]
		} else {
			r.only("the test "+name, a, 0, 0)
		}
		return r.equal(r.binary("%", v, by), want)
	}
}

// testSameas is Python's "is", which for numbers and strings we take as equality of type and value.
func testSameas(r *run, v Value, a *arguments) bool {
	other := r.bind("sameas", a, 1, "other")[0]
	if v.kind != other.kind {
		return false
	}
	switch v.kind {
	case KindNone, KindBool, KindInt, KindFloat, KindString, KindUndefined:
		return r.equal(v, other)
	}
	return v.ref == other.ref
}

func testExists(what string) testFunc {
	return func(r *run, v Value, a *arguments) bool {
		r.only("the test "+what, a, 0, 0)
		if _, name, ok := hashOf(v); !ok {
			r.fail(Type, "unhashable type: %s", quote(name))
		}
		if v.kind != KindString {
			return false
		}
		if what == "filter" {
			return filterNamed(v.str) != nil
		}
		return testNamed(v.str) != nil
	}
}
