package grammar_test

import (
	"testing"

	"glossa/pkg/grammar"
)

// A text keeps the members of each object, also if a name is empty or has NUL.
func TestCanonicalNames(t *testing.T) {
	const integers = `{"type":"object","minProperties":1,"additionalProperties":{"type":["integer","null"]}}`
	for _, test := range []struct {
		schema, value string
		ok            bool
	}{
		{`{}`, `[{},{"":1}]`, true},
		{`{}`, `[{"":1},{}]`, true},
		{`{}`, `[{"a\u0000b":1},{"a":2,"b":3}]`, true},
		{`{}`, `[{"a":2,"b":3},{"a\u0000b":1}]`, true},
		{`{}`, `[{"a0:b":1},{"a":2,"b":3},{"a1:b":4},{"1:a":5}]`, true},
		{`{"type":"array","items":` + integers + `}`, `[{"":1},{}]`, false},
		{`{"type":"array","items":{"type":"object","additionalProperties":{"type":["integer"]}}}`, `[{"":1},{}]`, true},
		{`{"type":"object","properties":{"":{"type":"object","additionalProperties":false}}}`, `{"":{}}`, true},
	} {
		g, err := grammar.Schema([]byte(test.schema), grammar.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := g.Canonical(decode(t, []byte(test.value))); ok != test.ok || ok && got != test.value {
			t.Errorf("%s: %s becomes %s, %v", test.schema, test.value, got, ok)
		}
	}
}
