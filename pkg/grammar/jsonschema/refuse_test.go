package jsonschema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
)

func TestRefusals(t *testing.T) {
	for _, x := range []struct{ schema, pointer, keyword string }{
		{`{"type":5}`, "", "type"},
		{`{"type":[]}`, "", "type"},
		{`{"type":"any"}`, "", "type"},
		{`{"type":"object","properties":[]}`, "", "properties"},
		{`{"type":"object","properties":{"a/b":{"minLength":-1}}}`, "/properties/a~1b", "minLength"},
		{`{"maxLength":1.5}`, "", "maxLength"},
		{`{"minItems":"1"}`, "", "minItems"},
		{`{"required":["a",1]}`, "", "required"},
		{`{"required":true}`, "", "required"},
		{`{"enum":5}`, "", "enum"},
		{`{"minimum":"1"}`, "", "minimum"},
		{`{"multipleOf":0}`, "", "multipleOf"},
		{`{"multipleOf":1e999999999}`, "/multipleOf", ""},
		{`{"type":"string","pattern":"("}`, "", "pattern"},
		{`{"type":"string","pattern":5}`, "", "pattern"},
		{`{"type":"object","patternProperties":{"(":{}}}`, "", "patternProperties"},
		{`{"allOf":{}}`, "", "allOf"},
		{`{"anyOf":[]}`, "", "anyOf"},
		{`{"anyOf":[1]}`, "/anyOf/0", ""},
		{`{"properties":{"deep":{"properties":{"a":null}}}}`, "/properties/deep/properties/a", ""},
		{`{"const":"\ud800"}`, "/const", ""},
		{`{"enum":["a",{"title":["\udc00\ud800"]}]}`, "/enum/1/title/0", ""},
		{`{"const":{"title":"\ud800\u0041"}}`, "/const/title", ""},
		{`{"properties":{"\ud83d":{}}}`, "/properties", ""},
		{`{"required":["\\\ud83d\\ude00"]}`, "/required/0", ""},
		{`{"not":[]}`, "", "not"},
		{`{"items":5}`, "", "items"},
		{`{"additionalProperties":"string"}`, "", "additionalProperties"},
		{`{"dependentRequired":{"a":{}}}`, "", "dependentRequired"},
		{`{"type":"array","uniqueItems":true,"minItems":65}`, "", "uniqueItems"},
		{`{"type":"array","uniqueItems":true,"minItems":3,"items":{"enum":[1,"a"]}}`, "", ""},
		{`{"type":"array","uniqueItems":true,"minItems":4,"prefixItems":[{"enum":["a","b"]},{"enum":["a","c"]},{"enum":["c","b"]},{"enum":["a","b","c"]}]}`, "", ""},
		{`{"type":"array","uniqueItems":true,"minItems":3,"prefixItems":[{"type":"string"},{"const":"a"},{"const":"a"}]}`, "", ""},
		{`{"type":"array","uniqueItems":true,"minItems":2,"prefixItems":[{"const":1.0},{"const":1}]}`, "", ""},
		{`{"type":"array","contains":{"const":1},"minContains":2,"uniqueItems":true}`, "", "uniqueItems"},
		{`{"type":"array","contains":{},"minContains":65,"uniqueItems":true}`, "", "uniqueItems"},
		{`{"type":"array","contains":{"const":1},"minItems":65,"uniqueItems":true}`, "", "uniqueItems"},
		{`{"type":"array","contains":{"const":1},"minContains":3000}`, "", "contains"},
		{`{"type":"object","not":{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}},{"properties":{"c":{}}},{"properties":{"d":{}}},{"properties":{"e":{}}},{"properties":{"f":{}}}],"unevaluatedProperties":false}}`, "/not", "unevaluatedProperties"},
		{`{"type":"array","not":{"anyOf":[{"prefixItems":[{}]},{"prefixItems":[{}]},{"prefixItems":[{}]},{"prefixItems":[{}]},{"prefixItems":[{}]},{"prefixItems":[{}]}],"unevaluatedItems":{"type":"null"}}}`, "/not", "unevaluatedItems"},
		{`{"$dynamicRef":"#x"}`, "", "$ref"},
		{`{"items":{"$dynamicRef":"a#x"},"$defs":{"a":{"$id":"a","$dynamicAnchor":"x"},"b":{"$id":"b","$dynamicAnchor":"x"}}}`, "/items", "$dynamicRef"},
		{`{"$id":"http://a/b","items":{"$ref":"c"},"$defs":{"a":{"$id":"a","$recursiveAnchor":true},"c":{"$id":"c","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}}}`, "/$defs/c/items", "$recursiveRef"},
		{`{"$ref":5}`, "", "$ref"},
		{`{"$ref":"#/definitions/x"}`, "", "$ref"},
		{`{"$ref":"http://json-schema.org/draft-07/schema#"}`, "", "$ref"},
		{`{"items":{"$ref":"other.json"}}`, "/items", "$ref"},
		{`{"$ref":"#/type","type":"null"}`, "/type", ""},
		{`{"$ref":"#"}`, "", "$ref"},
		{`{"anyOf":[{"type":"null"},{"$ref":"#"}]}`, "", "$ref"},
		{`{"not":{"$ref":"#"}}`, "", "$ref"},
		{`{"type":"object","not":{"anyOf":[{"additionalProperties":{"type":"null"}},{"additionalProperties":{"const":1}},{"additionalProperties":{"const":2}},{"additionalProperties":{"const":3}},{"propertyNames":{"maxLength":1}}]}}`, "/not/anyOf/4", "propertyNames"},
		{`{"type":"array","not":{"uniqueItems":true}}`, "/not", "uniqueItems"},
		{`{"type":"array","not":{"uniqueItems":true,"items":{"type":"string"}}}`, "/not", "uniqueItems"},
		{`{"oneOf":[{"type":"array","uniqueItems":true,"minItems":2},{"type":"array","minItems":2}]}`, "", "oneOf"},
		{`false`, "", ""},
		{`{"type":"object","required":["p"],"properties":{"p":{"type":"object","required":["q"],"properties":{"q":{"type":"string","minLength":5,"maxLength":2}}}}}`, "/properties/p/properties/q", ""},
		{`{"type":"object","required":["p"],"properties":{"o":{"enum":[]},"p":{"type":"array","minItems":2,"prefixItems":[{},{"type":"array","minItems":1,"items":{"enum":[]}}]}}}`, "/properties/p/prefixItems/1/items", ""},
		{`{"type":"object","required":["a"],"properties":{"a":{"type":"object","required":["b"],"properties":{"b":{"$ref":"#"}}}}}`, "", ""},
		{`{"type":"string","minLength":2,"maxLength":1}`, "", ""},
		{`{"type":"object","required":["a"],"additionalProperties":false}`, "", ""},
		{`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`, "", ""},
		{`{"enum":["a"],"type":"integer"}`, "", ""},
		{`{"type":"array","minItems":3,"prefixItems":[{},{}],"items":false}`, "", ""},
		{`{"type":"array","minItems":1,"items":{"$ref":"#"}}`, "", ""},
		{`{"type":"object","minProperties":1000000000}`, "", "minProperties"},
		{`{"type":"string","type":"string"}`, "", "type"},
		{`{`, "", ""}, {``, "", ""}, {`{} {}`, "", ""}, {`[]`, "", ""}, {`null`, "", ""},
	} {
		_, err := Compile([]byte(x.schema), automaton.Limits{})
		f := (*fault.Error)(nil)
		if !errors.As(err, &f) || f.Pointer != x.pointer || f.Keyword != x.keyword {
			t.Errorf("%s: %#v", x.schema, err)
		}
	}
	try(t, []example{{`{"title":"\ud83d","properties":{"a":{"description":"\ud83d"}},"enum":["\ud83d\ude00","\\ud83d"]}`, `"😀" "\\ud83d"`, `"a"`}})
	// The message names both alternatives.
	_, err := Compile([]byte(`{"oneOf":[{"type":"array","uniqueItems":true,"minItems":2},{"type":"null"},{"type":"array","minItems":2}]}`), automaton.Limits{})
	if err == nil || !strings.Contains(err.Error(), "/oneOf/0 and /oneOf/2") {
		t.Error(err)
	}
}

// hostile returns schemas that are large or demand much work.
func hostile() map[string]string {
	list := func(n int, what func(i int) string) string {
		var parts []string
		for i := range n {
			parts = append(parts, what(i))
		}
		return strings.Join(parts, ",")
	}
	chain := func(n int, link string) string {
		return `{"$ref":"#/$defs/0","$defs":{` + list(n, func(i int) string { return fmt.Sprintf(`"%d":`+link, i, i+1) }) + fmt.Sprintf(`,"%d":{"type":"null"}}}`, n)
	}
	return map[string]string{
		"deep":       strings.Repeat(`{"not":`, 10000) + `{}` + strings.Repeat(`}`, 10000),
		"deep array": strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000),
		"large":      `{"enum":["` + strings.Repeat("x", 2<<20) + `"]}`,
		"chain":      chain(20000, `{"$ref":"#/$defs/%d"}`),
		"values":     chain(5000, `{"type":"array","items":{"$ref":"#/$defs/%d"}}`),
		"properties": `{"type":"object","properties":{` + list(20000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}}`,
		"enum":       `{"enum":[` + list(60000, func(i int) string { return fmt.Sprintf(`"value %d"`, i) }) + `]}`,
		"enums": `{"allOf":[` + list(300, func(i int) string {
			return `{"enum":[` + list(300, func(j int) string { return fmt.Sprint(i + j) }) + `]}`
		}) + `]}`,
		"all":      `{"allOf":[` + list(20000, func(i int) string { return fmt.Sprintf(`{"maximum":%d}`, i) }) + `]}`,
		"choices":  `{"allOf":[` + list(40, func(i int) string { return fmt.Sprintf(`{"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, i, i) }) + `]}`,
		"one of":   `{"oneOf":[` + list(2000, func(i int) string { return fmt.Sprintf(`{"required":["a%d"]}`, i) }) + `]}`,
		"patterns": `{"type":"object","patternProperties":{` + list(200, func(i int) string { return fmt.Sprintf(`"a%db":{"maximum":%d}`, i, i) }) + `}}`,
		"lengths":  `{"type":"object","properties":{` + list(2000, func(i int) string { return fmt.Sprintf(`"p%d":{"pattern":"^(a|bc)*%d$","maxLength":400}`, i, i) }) + `}}`,
		"sets": `{"$ref":"#/$defs/a0","$defs":{` + list(30, func(i int) string {
			return fmt.Sprintf(`"a%d":{"properties":{"x":{"$ref":"#/$defs/a%d"},"y":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}}}`, i, (i+1)%30, (i+7)%30, (i*i+3)%30)
		}) + `}}`,
		"negations": strings.Repeat(`{"not":{"anyOf":[{"type":"null"},`, 40) + `{}` + strings.Repeat(`]}}`, 40),
		"prefix":    `{"not":{"prefixItems":[` + list(20000, func(int) string { return `{}` }) + `]}}`,
	}
}

// Every schema is answered within the budget, and little more for the step that exceeds it.
func TestHostile(t *testing.T) {
	for name, schema := range hostile() {
		budget := automaton.NewBudget(t.Context())
		p, err := CompileWithin(budget, []byte(schema), automaton.Generating())
		if f := (*fault.Error)(nil); err != nil && !errors.As(err, &f) {
			t.Errorf("%s: %v", name, err)
		}
		if p != nil && len(p.Rules) > maxRules {
			t.Errorf("%s: %d rules", name, len(p.Rules))
		}
		steps, bytes := budget.Spent()
		if steps > 100_000_000 || bytes > 256<<20 {
			t.Errorf("%s: %d steps, %d bytes", name, steps, bytes)
		}
		t.Log(name, steps, bytes, err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, schema := range []string{tree, flat(10), tagged(3), `{"not":{"required":["a"]},"oneOf":[{"enum":[1]},{"type":"string","pattern":"^a"}]}`,
		`{"type":"object","patternProperties":{"^a":{}},"propertyNames":{"maxLength":3},"dependencies":{"a":["b"]},"if":{"minProperties":2},"then":{"required":["c"]}}`} {
		f.Add([]byte(schema))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Compile(raw, automaton.Generating())
		if fe := (*fault.Error)(nil); err != nil && !errors.As(err, &fe) {
			t.Fatalf("%v is no fault", err)
		}
		if err == nil && !some(p) {
			t.Fatal("the program has no text")
		}
	})
}

// A schema that depends on a format that only annotates is refused: otherwise the program
// would accept texts that a validator with format assertions refuses.
func TestUnassertedFormats(t *testing.T) {
	const free = `{"format":"idn-hostname"}`
	for _, x := range []struct{ schema, pointer, keyword string }{
		{`{"type":"string","not":` + free + `}`, "/not", "format"},
		{`{"type":"string","oneOf":[` + free + `,{"format":"ipv4"}],"minLength":3}`, "", "oneOf"},
		{`{"type":"string","oneOf":[` + free + `,{"format":"iri"}],"minLength":3}`, "", "oneOf"},
		{`{"type":"string","not":{"anyOf":[` + free + `,{"format":"ipv4"}]}}`, "/not/anyOf/0", "format"},
		{`{"type":"string","anyOf":[{"not":` + free + `},{"minLength":3}]}`, "/anyOf/0/not", "format"},
		{`{"type":"string","if":` + free + `,"then":{"minLength":3},"else":{"maxLength":2}}`, "/if", "format"},
		{`{"enum":["a","b"],"not":` + free + `}`, "/not", "format"},
		{`{"enum":["a","b"],"oneOf":[` + free + `,{"format":"iri"}]}`, "", "format"},
		{`{"enum":["a","b"],"not":{"oneOf":[` + free + `,{"format":"iri"}]}}`, "/not", "format"},
		{`{"type":"object","not":{"properties":{"a":{"type":"string","format":"iri"}},"required":["a"]}}`, "/not/properties/a", "format"},
	} {
		_, err := Compile([]byte(x.schema), automaton.Limits{})
		f := (*fault.Error)(nil)
		if !errors.As(err, &f) || f.Pointer != x.pointer || f.Keyword != x.keyword {
			t.Errorf("%s: %#v", x.schema, err)
		}
	}
	try(t, []example{
		{`{"type":"string","oneOf":[{"format":"hostname"},{"format":"ipv4"}],"minLength":3}`, `"abc" "a.b"`, `"1.2.3.4" "a" "a_b" "xn--a"`},
		{`{"type":"string","not":{"format":"hostname"}}`, `"a_b" ""`, `"abc" "xn--a" "abc."`},
		{`{"anyOf":[` + free + `,{"type":"null"}]}`, `"x" null 1`, ``},
		{`{"oneOf":[{"type":"string","format":"iri"},{"type":"null"}]}`, `"x" null`, `1`},
		{`{"allOf":[` + free + `],"type":"string","properties":{"a":` + free + `}}`, `"x"`, `1`},
	})
}
