package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// flat returns a schema of n properties of the usual kinds.
func flat(n int) string {
	kinds := []string{
		`{"type":"string","description":"a few words about what belongs here"}`,
		`{"type":"integer","minimum":0,"maximum":120}`,
		`{"type":"number"}`, `{"type":"boolean"}`,
		`{"enum":["red","green","blue"]}`,
		`{"type":"array","items":{"type":"string","minLength":1,"maxLength":40},"minItems":1,"maxItems":5}`,
		`{"type":["string","null"]}`,
		`{"type":"string","pattern":"^[A-Z]{2}-\\d+$"}`,
		`{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false}`,
		`{"type":"string","format":"date"}`,
	}
	var props, names []string
	for i := range n {
		props = append(props, fmt.Sprintf(`"field%d":%s`, i, kinds[i%len(kinds)]))
		names = append(names, fmt.Sprintf("%q", fmt.Sprint("field", i)))
	}
	return `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`
}

// tagged returns a oneOf of n objects that differ in the constant of a member.
func tagged(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"type":"object","properties":{"kind":{"const":"k%d"},"v%d":{"type":"string"}},"required":["kind","v%d"],"additionalProperties":false}`, i, i, i))
	}
	return `{"oneOf":[` + strings.Join(list, ",") + `]}`
}

const tree = `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"]}}}`

func BenchmarkCompile(b *testing.B) {
	for _, x := range []struct{ name, schema string }{
		{"flat10", flat(10)}, {"flat20", flat(20)}, {"flat200", flat(200)}, {"tree", tree}, {"tagged10", tagged(10)}, {"tagged50", tagged(50)},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(int64(len(x.schema)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile([]byte(x.schema), automaton.Generating()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// The time to read the JSON alone, for comparison.
	b.Run("flat20/decode", func(b *testing.B) {
		raw := []byte(flat(20))
		for b.Loop() {
			if _, _, err := decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("flat20/unmarshal", func(b *testing.B) {
		raw := []byte(flat(20))
		for b.Loop() {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
