package grammar_test

import (
	"encoding/json"
	"testing"

	"glossa/pkg/grammar"
)

// Long numbers are short texts, and are recognised in all of their spellings.
func TestExponents(t *testing.T) {
	bytes := make([]string, 256)
	for i := range bytes {
		bytes[i] = string([]byte{byte(i)})
	}
	v := grammar.NewVocabulary(bytes)
	for _, c := range []struct {
		schema string
		value  json.Number
		min    int
	}{
		{`{"type":"number","minimum":1e300}`, "1.5e+300", 5},
		{`{"type":"number","maximum":-1e300}`, "-15e299", 6},
		{`{"type":"number","exclusiveMinimum":0,"maximum":1e-300}`, "1.0e-301", 6},
		{`{"const":1.5e300}`, "1.50e+300", 6},
		{`{"enum":[-1E-300]}`, "-0.1e-299", 7},
		{`{"const":{"a":[1e300]}}`, "", 13},
		{`{"const":1000000000000000000000000}`, "1e24", 25},
		{`{"type":"integer","minimum":1e30}`, "1e30", 31},
	} {
		g, err := grammar.Schema([]byte(c.schema), grammar.Generating())
		if err != nil {
			t.Fatal(err)
		}
		bound, err := g.Bind(v)
		if err != nil || bound.Min() != c.min {
			t.Errorf("%s: %d tokens suffice, not %d, %v", c.schema, bound.Min(), c.min, err)
		}
		if c.value == "" {
			continue
		}
		for _, l := range []grammar.Limits{{}, grammar.Generating()} {
			if g, err = grammar.Schema([]byte(c.schema), l); err != nil {
				t.Fatal(err)
			}
			if _, ok := g.Canonical(c.value); !ok {
				t.Errorf("%s, %v: %s has no text", c.schema, l, c.value)
			}
			if text, ok := g.Canonical("2.5e20"); ok {
				t.Errorf("%s, %v: 2.5e20 has the text %s", c.schema, l, text)
			}
		}
	}
}
