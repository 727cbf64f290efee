package jsonschema

import (
	"testing"

	"glossa/pkg/grammar/automaton"
)

// The overlaps that the sieve finds agree with oneOf.
func TestSieve(t *testing.T) {
	tagged := func(tag, more string) string {
		return `{"type":"object","properties":{"k":` + tag + more + `},"required":["k"],"additionalProperties":false}`
	}
	for _, x := range []struct {
		schema string
		in     []string
		out    []string
	}{
		{`{"oneOf":[{"const":1},{"const":2},{"const":1.0},{"enum":[3,"1"]}]}`, []string{`2`, `3`, `"1"`}, []string{`1`}},
		{`{"oneOf":[{"const":1},{"type":"string"},{"enum":["a",null]}]}`, []string{`1`, `"b"`, `null`}, []string{`"a"`}},
		{
			`{"oneOf":[` + tagged(`{"const":"a"}`, "") + `,` + tagged(`{"enum":["b","c"]}`, "") + `,` + tagged(`{"const":"c"}`, `,"n":{"type":"null"}`) + `,{"const":{"k":"d"}},{"const":{}}]}`,
			[]string{`{"k":"a"}`, `{"k":"b"}`, `{"k":"c","n":null}`, `{"k":"d"}`, `{}`}, []string{`{"k":"c"}`, `{"k":"b","n":null}`},
		},
		{
			`{"oneOf":[` + tagged(`{"const":"a"}`, "") + `,{"type":"object","properties":{"k":{"type":"string","maxLength":1}},"additionalProperties":false}]}`,
			[]string{`{"k":"b"}`, `{}`}, []string{`{"k":"a"}`},
		},
		{`{"oneOf":[{"type":["integer","null"]},{"const":7},{"const":null},{"type":"array","items":false}]}`, []string{`8`, `[]`}, []string{`7`, `null`}},
	} {
		p, err := Compile([]byte(x.schema), automaton.Limits{})
		if err != nil {
			t.Errorf("%s: %v", x.schema, err)
			continue
		}
		for _, text := range x.in {
			if !matches(p, text) {
				t.Errorf("%s: %s does not match", x.schema, text)
			}
		}
		for _, text := range x.out {
			if matches(p, text) {
				t.Errorf("%s: %s matches", x.schema, text)
			}
		}
	}
}
