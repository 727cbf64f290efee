package resilience

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"

	"glossa/pkg/llm"
)

// full returns a value of the type t in which nothing is nil, empty or zero.
func full(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.String:
		v.SetString("three")
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(full(t.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(full(t.Elem()))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(full(t.Key()), full(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(full(t.Field(i).Type))
		}
	default:
		panic("a request has a " + t.String() + ": the key must know what to make of it")
	}
	return v
}

// variants calls f with each change of v, and undoes it: every leaf gets another
// value, everything nilable is nil once, everything that can be empty is empty once,
// and every list has one more element.
func variants(path string, v reflect.Value, f func(path string)) {
	set := func(what string, to reflect.Value) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		v.Set(to)
		f(path + what)
		v.Set(was)
	}
	t := v.Type()
	switch t.Kind() {
	case reflect.Bool:
		set("", reflect.ValueOf(!v.Bool()).Convert(t))
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Float64:
		set("", reflect.ValueOf(4).Convert(t))
	case reflect.String:
		set("", reflect.ValueOf("four").Convert(t))
	case reflect.Struct:
		for i := range t.NumField() {
			variants(path+"."+t.Field(i).Name, v.Field(i), f)
		}
	case reflect.Pointer:
		set(" nil", reflect.Zero(t))
		if t.Elem().Kind() != reflect.Bool { // for bool, this is the other value
			set(" zero", reflect.New(t.Elem()))
		}
		variants(path, v.Elem(), f)
	case reflect.Slice:
		set(" nil", reflect.Zero(t))
		set(" empty", reflect.MakeSlice(t, 0, 0))
		set(" twice", reflect.AppendSlice(v, v))
		variants(path+"[0]", v.Index(0), f)
	case reflect.Map:
		k := full(t.Key())
		set(" nil", reflect.Zero(t))
		set(" empty", reflect.MakeMap(t))
		other := reflect.MakeMap(t)
		other.SetMapIndex(k, reflect.Zero(t.Elem()))
		set(" value", other)
		other = reflect.MakeMap(t)
		other.SetMapIndex(reflect.Zero(t.Key()), v.MapIndex(k))
		set(" key", other)
	}
}

// Every change of a request, at any depth, changes the key. A field of a type that the
// key does not support fails here.
func TestKeyHasEveryField(t *testing.T) {
	req := full(reflect.TypeFor[llm.Request]())
	seen := map[key]string{}
	look := func(path string) {
		k, ok := keyOf("generate", [3]string{}, req.Interface())
		if !ok {
			t.Errorf("%s: no key", path)
		}
		if before, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", path, before)
		}
		seen[k] = path
	}
	look("the request itself")
	variants("request", req, look)
	if len(seen) < 150 {
		t.Errorf("only %d variants were looked at", len(seen))
	}
	again, _ := keyOf("generate", [3]string{}, full(reflect.TypeFor[llm.Request]()).Interface())
	if seen[again] != "the request itself" {
		t.Error("the same request has two keys")
	}
}

// These values could be confused with each other.
func TestKeysDiffer(t *testing.T) {
	seen := map[key]string{}
	for _, values := range [][]any{
		{"ab", "c"}, {"a", "bc"}, {"abc"}, {"a", "b", "c"}, {},
		{[]string{"ab", "c"}}, {[]string{"a", "bc"}}, {[]string(nil)}, {[]string{}}, {nil}, {""},
		{json.Number("1")}, {"1"}, {1}, {1.0}, {true}, {json.Number("1.0")}, {int64(1)},
		{map[string]any{}}, {map[string]any(nil)}, {map[string]any{"a": nil}}, {map[string]any{"a": "b"}}, {map[string]any{"a": []any{"b"}}}, {map[string]any{"a": map[string]any{"b": nil}}},
		{json.RawMessage(`{}`)}, {"{}"}, {json.RawMessage(`{ }`)}, {json.RawMessage(nil)},
		{[]any{"a", []any{"b"}}}, {[]any{"a", "b", []any{}}}, {[]any{[]any{"a"}, "b"}},
		{math.NaN()}, {math.Inf(1)}, {math.Copysign(0, -1)}, {0.0},
	} {
		k, ok := keyOf(values...)
		if before, there := seen[k]; there || !ok {
			t.Errorf("%#v: %v, is that of %s", values, ok, before)
		}
		seen[k] = fmt.Sprintf("%#v", values)
	}
}

// The order of a map's entries does not affect the key.
func TestKeyOfMaps(t *testing.T) {
	first, _ := keyOf(bias())
	for range 20 {
		if k, ok := keyOf(bias()); k != first || !ok {
			t.Fatal("one map, two keys")
		}
	}
	for _, v := range []any{func() {}, make(chan int), map[float64]int{1: 1}, map[string]any{"f": func() {}}} {
		if _, ok := keyOf(v); ok {
			t.Errorf("%T has a key", v)
		}
	}
}

func bias() (map[int]float64, map[string]any) {
	m, n := map[int]float64{}, map[string]any{}
	for i := range 50 {
		m[i], n[fmt.Sprint(i)] = float64(i), json.Number(fmt.Sprint(i))
	}
	return m, n
}
