package tabletest

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"glossa/pkg/table"
)

// values checks that stored values come back, by Put and by Update.
func values(t *testing.T, tab *table.Table) {
	nested := any("deep")
	for range 31 {
		nested = []any{nested}
	}
	for name, v := range map[string]any{
		"null": nil, "true": true, "false": false, "string": "x", "empty string": "", "lines": "a\r\n\tb\u2028\x00", "unicode": "é 日本 😀 \ufeff\ufffd",
		"markup": `<a href="x">&amp;</a>`, "empty list": []any{}, "empty map": map[string]any{}, "list": []any{nil, true, "", []any{}, map[string]any{"": nil}},
		"map": map[string]any{"a.b": "1", "#n": []any{false}, ":v": map[string]any{"é": ""}}, "nested": nested, "size": "reserved word", "a.b[0]": "path", "é#:": "name",
	} {
		k := place(t, name)
		want := with(k, table.Item{name: v})
		put(t, tab, want)
		holds(t, tab, k, want)
		k.SK += " updated"
		got, err := tab.Update(t.Context(), k, table.Change{Set: table.Item{name: v}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want["sk"] = k.SK
		if !maps.EqualFunc(got, want, func(a, b any) bool { return same(a, b) }) {
			t.Errorf("%s: update returns %v, want %v", name, got, want)
		}
		holds(t, tab, k, want)
	}
	k := place(t, "item")
	put(t, tab, with(k, table.Item{"inner": table.Item{"a": "1"}}))
	holds(t, tab, k, with(k, table.Item{"inner": map[string]any{"a": "1"}}))
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// numbers checks that numbers keep their value, in one format.
func numbers(t *testing.T, tab *table.Table) {
	for _, c := range []struct {
		given any
		want  json.Number
	}{
		{0, "0"}, {-7, "-7"}, {int64(math.MaxInt64), "9223372036854775807"}, {int64(math.MinInt64), "-9223372036854775808"},
		{0.1, "0.1"}, {1e21, "1000000000000000000000"}, {-1.5e-7, "-0.00000015"}, {0.0, "0"}, {math.Pi, "3.141592653589793"},
		{json.Number("0.10"), "0.1"}, {json.Number("1E2"), "100"}, {json.Number("-0"), "0"}, {json.Number("-0.0e99999999999"), "0"},
		{json.Number("12345678901234567890123456789012345678"), "12345678901234567890123456789012345678"},
		{json.Number("0.00012345678901234567890123456789012345678"), "0.00012345678901234567890123456789012345678"},
		{json.Number("1e125"), json.Number("1" + strings.Repeat("0", 125))}, {json.Number("1e-130"), json.Number("0." + strings.Repeat("0", 129) + "1")},
	} {
		k := place(t, "n")
		put(t, tab, with(k, table.Item{"n": c.given, "list": []any{c.given}}))
		holds(t, tab, k, with(k, table.Item{"n": c.want, "list": []any{c.want}}))
	}
}

// large checks items up to the limit of 400 KB and beyond.
func large(t *testing.T, tab *table.Table) {
	k := place(t, "x")
	fit := 400<<10 - len("pk") - len(k.PK) - len("sk") - len(k.SK) - len("text")
	most := with(k, table.Item{"text": strings.Repeat("x", fit)})
	put(t, tab, most)
	holds(t, tab, k, most)
	long := secret + strings.Repeat("x", fit)
	fails(t, tab.Put(t.Context(), with(k, table.Item{"text": long})), "PutItem")
	_, err := tab.Update(t.Context(), k, table.Change{Set: table.Item{"text": long}})
	fails(t, err, "UpdateItem")
	holds(t, tab, k, most)
}

// refused checks invalid values: the error names the attribute, and nothing is written.
func refused(t *testing.T, tab *table.Table) {
	deep := any(secret)
	for range 33 {
		deep = map[string]any{"in": deep}
	}
	round := map[string]any{}
	round["in"] = round
	k := place(t, "kept")
	kept := with(k, table.Item{"bad one": "good"})
	put(t, tab, kept)
	for name, v := range map[string]any{
		"type": []string{secret}, "struct": struct{ s string }{secret}, "pointer": new(string), "bytes": []byte(secret), "unsigned": uint(1),
		"channel": make(chan int), "deep": deep, "round": round, "NaN": math.NaN(), "infinite": math.Inf(-1), "huge": math.MaxFloat64, "tiny": 5e-324,
		"not a number": json.Number(secret), "no number": json.Number(""), "space": json.Number("1 "), "string": json.Number(`"` + secret + `"`), "list": json.Number("[1]"),
		"hexadecimal": json.Number("0x10"), "zeros": json.Number("007"), "true": json.Number("true"),
		"39 digits": json.Number("123456789012345678901234567890123456789"), "1e126": json.Number("1e126"), "1e-131": json.Number("1e-131"),
		"exponent": json.Number("1e99999999999999999999"), "UTF-8": secret + "\xff", "name": map[string]any{"\xff": secret},
	} {
		nested := map[string]any{"outer": []any{map[string]any{"bad one": v}}}
		fails(t, tab.Put(t.Context(), with(k, table.Item{"bad one": v})), `"bad one"`)
		fails(t, tab.Put(t.Context(), with(k, nested)), `"outer": element 0: "bad one"`)
		fails(t, tab.Put(t.Context(), with(k, nil), table.Equal("bad one", v)), `"bad one"`)
		fails(t, tab.Delete(t.Context(), k, table.Equal("bad one", v)), `"bad one"`)
		_, err := tab.Update(t.Context(), k, table.Change{Set: table.Item{"bad one": v}})
		fails(t, err, `"bad one"`)
		_, err = tab.Update(t.Context(), k, table.Change{Remove: []string{"bad one"}}, table.Equal("bad one", v))
		fails(t, err, `"bad one"`)
		if t.Failed() {
			t.Fatalf("it was %s", name)
		}
	}
	holds(t, tab, k, kept)
}
