package wire

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

type shared struct {
	Model string `json:"model"`
	Inner
}

// Inner is embedded, exported and a level down.
type Inner struct {
	Seed *int `json:"seed"`
}

type part struct {
	Type string `json:"type"`
}

type everything struct {
	shared
	*Pointed
	Parts  []part             `json:"parts"`
	Stop   Many[string]       `json:"stop"`
	Some   Many[part]         `json:"some"`
	Raws   Many[rawValue]     `json:"raws"`
	Bias   map[string]float64 `json:"bias"`
	Named  map[string]part    `json:"named"`
	Any    any                `json:"any"`
	Raw    json.RawMessage    `json:"raw,omitempty"`
	Opts   *part              `json:"opts"`
	Bytes  []byte             `json:"bytes"`
	Bare   bool
	Hidden int `json:"-"`
	secret int
}

type rawValue = json.RawMessage

// Pointed is embedded by pointer.
type Pointed struct {
	Deep int `json:"deep"`
}

func TestKeys(t *testing.T) {
	got := slices.Sorted(func(yield func(string) bool) {
		for key := range Keys(reflect.TypeFor[everything]()) {
			if !yield(key) {
				return
			}
		}
	})
	want := []string{"Bare", "any", "bias", "bytes", "deep", "model", "named", "opts", "parts", "raw", "raws", "seed", "some", "stop"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	_ = everything{}.secret
}

func TestUnmarshal(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"model":"m","seed":1,"deep":2,"parts":[{"type":"a"},{}],"stop":"x","some":{"type":"b"},"Bare":true}`, ""},
		{`{"stop":["x","y"],"some":[{"type":"b"}],"raws":[{"free":1}],"bias":{"5":1},"named":{"n":{"type":""}},"any":{"a":1,"a":2}}`, ""},
		{`{"raw":{"free":1,"free":2},"raws":{"free":1},"opts":null,"bytes":"AAA=","parts":null,"stop":null}`, ""},
		{"\n {} \t", ""},
		{"", "invalid : the body is empty: a JSON object is expected"},
		{" \n", "invalid : the body is empty: a JSON object is expected"},
		{"{\"model\":\"\xff\"}", "invalid : the body is not valid UTF-8"},
		{"null", "invalid : the body must be an object, not null"},
		{`[{"model":"m"}]`, "invalid : the body must be an object, not array"},
		{`"model"`, "invalid : the body must be an object, not string"},
		{`{"model":"m"`, "invalid : the body is not valid JSON: unexpected end of JSON input"},
		{`{"model":"m"} {}`, "invalid : the body is not valid JSON: invalid character '{' after top-level value"},
		{`{"model":1}`, "invalid model: must be a string, not number"},
		{`{"seed":1.5}`, "invalid seed: must be an integer, not number 1.5"},
		{`{"seed":245.0,"deep":-2.450e2,"Bare":true}`, ""},
		{`{"seed":1E2,"deep":0.0}`, ""},
		{`{"seed":245.5}`, "invalid seed: must be an integer, not number 245.5"},
		{`{"seed":2455e-1}`, "invalid seed: must be an integer, not number 2455e-1"},
		{`{"seed":1e30}`, "invalid seed: must be an integer from -9223372036854775808 to 9223372036854775807, not 1e30"},
		{`{"seed":1e400}`, "invalid seed: must be an integer from -9223372036854775808 to 9223372036854775807, not 1e400"},
		{`{"seed":-9223372036854775809}`, "invalid seed: must be an integer from -9223372036854775808 to 9223372036854775807, not -9223372036854775809"},
		{`{"bias":{"5":1e400}}`, "invalid bias: must be a number from -1.7976931348623157e+308 to 1.7976931348623157e+308, not 1e400"},
		{`{"seed":1.0,"nope":1}`, "unknown_parameter nope: unknown parameter"},
		{`{"seed":1.0,"seed":2}`, "invalid seed: appears twice"},
		{`{"model":1.0,"seed":1.0}`, "invalid model: must be a string, not number"},
		{`{"seed":1e99}`, "invalid seed: must be an integer from -9223372036854775808 to 9223372036854775807, not 1e99"},
		{`{"deep":"x"}`, "invalid deep: must be an integer, not string"},
		{`{"parts":{}}`, "invalid parts: must be an array, not object"},
		{`{"parts":[{"type":true}]}`, "invalid parts.type: must be a string, not bool"},
		{`{"stop":5}`, "invalid stop: must be a string, not number"},
		{`{"stop":["a",5]}`, "invalid stop: must be a string, not number"},
		{`{"bias":{"5":"x"}}`, "invalid bias: must be a number, not string"},
		{`{"Bare":"x"}`, "invalid Bare: must be a boolean, not string"},
		{`{"nope":1}`, "unknown_parameter nope: unknown parameter"},
		{`{"Model":"m"}`, "unknown_parameter Model: unknown parameter"},
		{`{"Hidden":1}`, "unknown_parameter Hidden: unknown parameter"},
		{`{"secret":1}`, "unknown_parameter secret: unknown parameter"},
		{`{"shared":{}}`, "unknown_parameter shared: unknown parameter"},
		{`{"model":"a","model":"b"}`, "invalid model: appears twice"},
		{`{"mod\u0065l":"a","model":"b"}`, "invalid model: appears twice"},
		{`{"parts":[{},{"type":"a","Type":"b"}]}`, "unknown_parameter parts[1].Type: unknown parameter"},
		{`{"some":[{},{"x":1}]}`, "unknown_parameter some[1].x: unknown parameter"},
		{`{"some":{"x":1}}`, "unknown_parameter some.x: unknown parameter"},
		{`{"named":{"n":{"x":1}}}`, "unknown_parameter named.n.x: unknown parameter"},
		{`{"bias":{"5":1,"5":2}}`, `invalid bias: "5" appears twice`},
		{`{"opts":{"type":"a","type":"a"}}`, "invalid opts.type: appears twice"},
	} {
		if got := describe(Unmarshal([]byte(test.body), new(everything))); got != test.want {
			t.Errorf("%s: got %q, want %q", test.body, got, test.want)
		}
	}
}

func TestUnmarshalAt(t *testing.T) {
	for body, want := range map[string]string{
		`[{"type":"a"}]`:         "",
		`[{"type":"a"},{"b":1}]`: "unknown_parameter m[2].content[1].b: unknown parameter",
		`[{"type":3}]`:           "invalid m[2].content.type: must be a string, not number",
		`7`:                      "invalid m[2].content: must be an array, not number",
	} {
		if got := describe(UnmarshalAt("m[2].content", []byte(body), new([]part))); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestMany(t *testing.T) {
	for body, want := range map[string]Many[string]{
		`{}`:                {},
		`{"stop":null}`:     {},
		`{"stop":"a"}`:      {Values: []string{"a"}},
		`{"stop":[]}`:       {Values: []string{}, List: true},
		`{"stop":["a",""]}`: {Values: []string{"a", ""}, List: true},
	} {
		var in everything
		if err := Unmarshal([]byte(body), &in); err != nil || !reflect.DeepEqual(in.Stop, want) {
			t.Errorf("%s: got %+v, %v", body, in.Stop, err)
		}
	}
}

// describe returns the code, the parameter and the message of an error.
func describe(err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return "no llm.Error: " + err.Error()
	}
	return string(e.Code) + " " + e.Param + ": " + e.Message
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"parts":[{"type":"a"}],"stop":["x"],"some":{"type":"b"},"raws":[[1]],"named":{"n":{}},"any":[{}]}`))
	f.Add([]byte(`{"model":"a","Model":"b"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in everything
		if err := Unmarshal(b, &in); err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Invalid && e.Code != UnknownParam {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatalf("%q was taken: %v", b, err)
		}
		known := Keys(reflect.TypeFor[everything]())
		for key := range keys {
			if !known[key] {
				t.Errorf("%q: the key %q was taken", b, key)
			}
		}
	})
}

// Strings are decoded as by encoding/json, with errors in the same cases.
func TestUnmarshalStrings(t *testing.T) {
	for _, text := range []string{
		`""`, `"a"`, `"é€😀"`, `"a\nb"`, `"\""`, `"\\"`, `"\u0041"`, `"\ud800"`, "\"a\nb\"", "\"\x00\"", "\"\x7f\"", "\"\xff\"", `"a"b"`, `"`, `""""`, `"a\"`, `"a`, `a"`, ` "a"`, `"a" `,
		`null`, `1`, `["a"]`, ``,
	} {
		var want, got string
		wantErr, err := json.Unmarshal([]byte(text), &want), UnmarshalAt("x", []byte(text), &got)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %q %v, want %q %v", text, got, err, want, wantErr)
		}
	}
}

// TestInteger: integers of JSON Schema are accepted in any spelling.
func TestInteger(t *testing.T) {
	for literal, want := range map[string]int64{
		"0": 0, "-0": 0, "-0.0": 0, "0e9": 0, "245": 245, "245.0": 245, "-245.000": -245, "2.45e2": 245, "2450E-1": 245, "24.5e+1": 245,
		"9223372036854775807.0": math.MaxInt64, "-9223372036854775808.0": math.MinInt64, "9.007199254740993e15": 9007199254740993, "00.0": 0,
	} {
		if n, ok := Integer(literal); !ok || n != want {
			t.Errorf("%s: %d, %v", literal, n, ok)
		}
	}
	for _, literal := range []string{
		"", "-", ".", ".0", "e1", "245.5", "2455e-1", "1e19", "1e30", "1e400", "9223372036854775808", "-9223372036854775809", "1e-1", "0x10", "1_0", "NaN", "+1", "1e",
		"1" + strings.Repeat("0", maxLiteral) + "e-64", "1e99999999999999999999",
	} {
		if n, ok := Integer(literal); ok {
			t.Errorf("%q: %d", literal, n)
		}
	}
}

// TestIntegersAnywhere: integers in lists, in maps, behind pointers and embedded.
func TestIntegersAnywhere(t *testing.T) {
	type inner struct {
		IDs   []*int         `json:"ids"`
		Small int8           `json:"small"`
		Count map[string]int `json:"count"`
		Any   any            `json:"any"`
		Raw   rawValue       `json:"raw"`
		X     float64        `json:"x"`
		Many  Many[int]      `json:"many"`
	}
	var got inner
	const body = `{"ids":[1.0, 2,3e0 ],"small":12.0e1,"count":{"a.0":1.0},"any":1.0,"raw":{"a":1.0},"x":2.0,"many":[4.0,5]}`
	if err := Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := inner{IDs: []*int{new(1), new(2), new(3)}, Small: 120, Count: map[string]int{"a.0": 1}, Any: 1.0, Raw: rawValue(`{"a":1.0}`), X: 2, Many: Many[int]{[]int{4, 5}, true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got, want := describe(Unmarshal([]byte(`{"small":128.0}`), &got)), "invalid small: must be an integer from -128 to 127, not 128"; got != want {
		t.Error(got)
	}
	var list []int
	if err := UnmarshalAt("ids", []byte(`[7.0]`), &list); err != nil || !slices.Equal(list, []int{7}) {
		t.Errorf("%v, %v", list, err)
	}
}

// Many small values would become gigabytes.
func TestMaxValues(t *testing.T) {
	many := strings.Repeat("0,", maxValues) + "0"
	for body, want := range map[string]string{
		`{"parts":[` + many + `]}`:      "invalid : the body has more than 262144 values",
		`{"any":[` + many[:9999] + `]}`: "",
		`{"model":"` + many + `"}`:      "",
		`{"model":"\"` + many + `"}`:    "",
		`{"parts":[` + many + `}`:       "invalid : the body is not valid JSON: invalid character '}' after array element",
	} {
		if got := describe(Unmarshal([]byte(body), new(everything))); got != want {
			t.Errorf("%.20s: got %q, want %q", body, got, want)
		}
	}
}
