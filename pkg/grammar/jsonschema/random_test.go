package jsonschema

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
)

// A maker makes random schemas and values from few names and few constants, so that they
// often interact.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m maker) name() string { return m.pick("a", "b", "ab", "c") }

func (m maker) value(depth int) string {
	n := m.IntN(12)
	switch {
	case n < 2 && depth > 0:
		return "[" + m.list(3, func() string { return m.value(depth - 1) }) + "]"
	case n < 6 && depth > 0:
		names := []string{"a", "b", "ab", "c"}
		m.Shuffle(4, func(i, j int) { names[i], names[j] = names[j], names[i] })
		var members []string
		for _, name := range names[:m.IntN(4)] {
			members = append(members, fmt.Sprintf("%q:%s", name, m.value(depth-1)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return m.pick("null", "true", "false", "0", "1", "2", "3", "1.5", "-1", `""`, `"a"`, `"b"`, `"ab"`, `"bb"`)
}

// list returns up to n results of make.
func (m maker) list(n int, make func() string) string {
	var list []string
	for range m.IntN(n + 1) {
		list = append(list, make())
	}
	return strings.Join(list, ",")
}

func (m maker) members(n int, make func() string) string {
	var list, names []string
	for range 1 + m.IntN(n) {
		if name := m.name(); !slices.Contains(names, name) {
			names = append(names, name)
			list = append(list, fmt.Sprintf("%q:%s", name, make()))
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (m maker) schema(depth int) string {
	if depth == 0 || m.IntN(12) == 0 {
		return m.pick(`{}`, `true`, `false`, `{"type":"string"}`, `{"type":"integer"}`, `{"type":"null"}`, `{"const":"a"}`, `{"enum":[1,"b",null]}`, `{"minimum":2}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/x"}`)
	}
	var keys []string
	have := map[string]bool{}
	for range 1 + m.IntN(3) {
		key, value := m.keyword(depth)
		if !have[key] {
			have[key] = true
			keys = append(keys, fmt.Sprintf("%q:%s", key, value))
		}
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func (m maker) keyword(depth int) (key, value string) {
	sub := func() string { return m.schema(depth - 1) }
	subs := func() string { return "[" + sub() + "," + sub() + "]" }
	switch m.IntN(30) {
	case 0, 1:
		return "type", m.pick(`"object"`, `"array"`, `"string"`, `"integer"`, `"number"`, `["object","null"]`, `["string","boolean"]`)
	case 2:
		return "enum", "[" + m.value(1) + "," + m.value(2) + "," + m.value(1) + "]"
	case 3:
		return "const", m.value(1)
	case 4, 5, 6:
		return "properties", m.members(3, sub)
	case 7, 8:
		return "required", m.pick(`["a"]`, `["b"]`, `["a","b"]`, `["c"]`)
	case 9:
		return "additionalProperties", sub()
	case 10:
		return "patternProperties", fmt.Sprintf(`{%q:%s,%q:%s}`, m.pick("^a", "c"), sub(), m.pick("b", "b$"), sub())
	case 11:
		return m.pick("minProperties", "maxProperties", "minItems", "maxItems", "minLength", "maxLength"), m.pick("0", "1", "2")
	case 12:
		return "items", sub()
	case 13:
		return "prefixItems", subs()
	case 14:
		return m.pick("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), m.pick("0", "1", "2", "1.5")
	case 15:
		return m.pick("pattern", "propertyNames"), ""
	case 16:
		return "allOf", subs()
	case 17, 18:
		return "anyOf", subs()
	case 19, 20:
		return "oneOf", subs()
	case 21:
		return "not", sub()
	case 22, 23:
		return "unevaluatedProperties", m.pick("false", sub())
	case 24:
		return "unevaluatedItems", m.pick("false", sub())
	case 25:
		return "contains", sub()
	case 26:
		return "if", sub()
	case 27:
		return "dependentSchemas", fmt.Sprintf(`{"a":%s,"b":%s}`, sub(), sub())
	case 28:
		return "dependencies", fmt.Sprintf(`{"a":%s,"b":["c"]}`, sub())
	}
	return "if", sub() + `,"then":` + sub() + `,"else":` + sub()
}

// Programs have the valid values and no others. The judge evaluates the schema; it shares
// only the reading of schemas with the compiler.
func TestRandom(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	schemas, values, accepted := 0, 0, 0
	for range 3000 {
		raw := `{"$defs":{"x":` + m.schema(2) + `},"allOf":[` + m.schema(3) + `]}`
		raw = strings.ReplaceAll(strings.ReplaceAll(raw, `"pattern":`, `"pattern":"^a|bb"`), `"propertyNames":`, `"propertyNames":{"maxLength":1}`)
		compiling := newCompiler(automaton.Limits{})
		p, err := compiling.compile([]byte(raw))
		none := err != nil && err.Error() == "no value is valid for the schema"
		if f := (*fault.Error)(nil); err != nil && !errors.As(err, &f) {
			t.Fatalf("%s: %v", raw, err)
		}
		if err != nil && !none {
			continue
		}
		schemas++
		for range 20 {
			instance := m.value(2)
			v, _, err := decode([]byte(instance))
			if err != nil {
				t.Fatal(instance, err)
			}
			c, s := reading(t, raw)
			want, err := c.valid(v, s)
			if err != nil {
				continue // of a place that the program does not reach
			}
			got := !none
			if got {
				_, got = spell(p, p.Start, v)
			}
			if values++; got {
				accepted++
			}
			if got != want && !(want && compiling.narrowed != nil) {
				t.Errorf("%s: %s is accepted: %v", raw, instance, got)
				break
			}
		}
	}
	t.Logf("%d schemas, %d values, %d of them valid", schemas, values, accepted)
	if schemas < 1500 || accepted < values/20 {
		t.Error("too few to tell")
	}
}

func reading(t *testing.T, raw string) (*compiler, *schema) {
	root, named, err := decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := newCompiler(automaton.Limits{})
	c.root, c.named, c.draft = root, named, draftOf(root)
	return c, c.schemaAt(root)
}
