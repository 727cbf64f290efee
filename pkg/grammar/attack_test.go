package grammar_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"glossa/pkg/grammar"
)

// An attack is a schema that is large or demands much work. It is refused with a place, or
// compiled.
type attack struct {
	name, source     string
	pointer, keyword string // of the refusal; "" if compiled
	says             string
}

const compiled = "compiled"

// each joins the results for the numbers from 0 on.
func each(n int, what func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = what(i)
	}
	return strings.Join(parts, ",")
}

func eachf(n int, format string) string {
	return each(n, func(i int) string { return strings.ReplaceAll(format, "#", fmt.Sprint(i)) })
}

func inObject(keyword, members string) string {
	return `{"type":"object","` + keyword + `":{` + members + `}}`
}

func nested(n int, open, inner, shut string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
}

func attacks() []attack {
	ok := func(name, source string) attack { return attack{name: name, source: source, says: compiled} }
	return []attack{
		ok("oneOf of constants", `{"oneOf":[`+eachf(10_000, `{"const":"c#"}`)+`]}`),
		ok("oneOf of numbers", `{"oneOf":[`+eachf(10_000, `{"const":#}`)+`]}`),
		ok("anyOf of constants", `{"anyOf":[`+eachf(10_000, `{"const":"c#"}`)+`]}`),
		ok("oneOf of tagged objects", `{"oneOf":[`+eachf(10_000, `{"type":"object","properties":{"k":{"const":"k#"},"v":{"type":"string"}},"required":["k"]}`)+`]}`),
		ok("oneOf of objects by their second tag", `{"oneOf":[`+eachf(3000, `{"properties":{"of":{"const":1},"k":{"enum":["k#","l#"]}},"required":["of","k"],"type":"object"}`)+`]}`),
		{"oneOf of ranges", `{"oneOf":[` + eachf(5000, `{"type":"integer","minimum":1#,"maximum":1#.5}`) + `]}`, "", "oneOf", "exceeds the limit"},
		{"oneOf of required", `{"oneOf":[` + eachf(5000, `{"required":["a#"]}`) + `]}`, "*", "*", "exceeds the limit"},
		{"patterns of properties", inObject("properties", each(50, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string","pattern":"a.{10}b{%d}x"}`, i, i) })), "/properties/p4", "pattern", "exceeds the limit"},
		{"overlapping patternProperties", inObject("patternProperties", each(6, func(i int) string { return fmt.Sprintf(`"%c.{6}%c":{"maximum":%d}`, 'a'+i, 'a'+i, i) })), "", "patternProperties", "exceeds the limit"},
		{"anyOf of patterns", `{"anyOf":[` + eachf(500, `{"type":"string","pattern":"a.{9}b#x"}`) + `]}`, "*", "pattern", "exceeds the limit"},
		{"allOf of patterns", `{"type":"string","allOf":[{"pattern":"a.{9}x"},{"pattern":"b.{9}y"},{"pattern":"c.{9}z"}]}`, "/allOf/2", "pattern", "too large"},
		{"a pattern and minLength", `{"type":"string","pattern":"ab.*cd","minLength":30000}`, "", "pattern", "too large"},
		{"not enum", `{"type":"string","not":{"enum":[` + eachf(60_000, `"value #"`) + `]}}`, "", "not", "too large"},
		{"not enum of numbers", `{"type":"integer","not":{"enum":[` + each(60_000, func(i int) string { return fmt.Sprint(3 * i) }) + `]}}`, "", "minimum", "exceeds the limit"},
		{"repeats", `{"type":"string","pattern":"((ab){1000}){1000}"}`, "", "pattern", "too large"},
		ok("the same twice", `{"type":"string","pattern":"^(a|a)*`+strings.Repeat("(a|a)*", 5000)+`$"}`),
		{"a long pattern", `{"type":"string","pattern":"` + strings.Repeat("abc[a-z]", 100_000) + `"}`, "", "pattern", "too large"},
		{"classes", `{"type":"string","pattern":"` + strings.Repeat(`[\\p{L}\\p{Alpha}]`, 40_000) + `"}`, "", "pattern", ""},
		{"a class of ranges", `{"type":"string","pattern":"[` + each(40_000, func(i int) string { return fmt.Sprintf(`\\u{%x}-\\u{%x}`, 0x100+64*i/3, 0x100+64*i/3+30) }) + `]"}`, "", compiled, ""},
		{"doubling references", `{"$ref":"#/$defs/0","$defs":{` + each(40, func(i int) string {
			return fmt.Sprintf(`"%d":{"type":"array","prefixItems":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}],"minItems":2}`, i, i+1, i+1)
		}) + `,"40":{"type":"null"}}}`, "/$defs/18", "minItems", "limit of 16777216 bytes"},
		{"minItems", `{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":2147483648}}}`, "/properties/a", "minItems", "limit of 16777216 bytes"},
		{"minLength", `{"type":"string","minLength":9007199254740992}`, "", "minLength", "limit of 16777216 bytes"},
		ok("keys of one letter", `{"type":"object","patternProperties":{"^[ab]$":true},"additionalProperties":false,"minProperties":2}`),
		{"too few keys of one letter", `{"type":"object","patternProperties":{"^[ab]$":true},"additionalProperties":false,"minProperties":3}`, "", "", "no value is valid"},
		ok("as many keys of one letter, one not as the pattern says", `{"type":"object","patternProperties":{"^[ab]$":true},"additionalProperties":false,"minProperties":2,"not":{"patternProperties":{"^a$":{"type":"string"}}}}`),
		{"a key of its own and a pattern's", `{"type":"object","properties":{"a":{}},"patternProperties":{"^a$":true},"additionalProperties":false,"minProperties":2}`, "", "", "no value is valid"},
		{"long values of other keys", `{"type":"object","minProperties":1,"additionalProperties":{"type":"string","minLength":9007199254740992}}`, "/additionalProperties", "minLength", "limit of 16777216 bytes"},
		{"a long item", `{"type":"array","contains":{"type":"string","minLength":9007199254740992}}`, "/contains", "minLength", "limit of 16777216 bytes"},
		{"doubling contains", `{"$ref":"#/$defs/0","$defs":{` + each(40, func(i int) string {
			return fmt.Sprintf(`"%d":{"type":"array","contains":{"$ref":"#/$defs/%d"},"minContains":2}`, i, i+1)
		}) + `,"40":{"type":"null"}}}`, "/$defs/17", "contains", "limit of 16777216 bytes"},
		{"counting by many", `{"type":"array","allOf":[` + eachf(4, `{"contains":{"const":#},"minContains":5,"maxContains":6}`) + `]}`, "/allOf/0", "contains", "more than 2048 states"},
		{"unevaluated members of many alternatives", `{"type":"object","anyOf":[` + eachf(60, `{"properties":{"p#":{"const":#}}}`) + `],"unevaluatedProperties":false}`, "*", "*", ""},
		{"unevaluated members of many choices", `{"type":"object","allOf":[` + eachf(40, `{"anyOf":[{"properties":{"p#":{"const":1}}},{"properties":{"q#":{"const":2}}}]}`) + `],"unevaluatedProperties":false}`, "*", "*", ""},
		{"unevaluated members in each other", nested(60, `{"anyOf":[{"properties":{"a":{}}},`, `{}`, `],"unevaluatedProperties":{"type":"null"}}`), "*", "*", ""},
		{"unevaluated members of dependent schemas", `{"type":"object","dependentSchemas":{` + eachf(500, `"p#":{"properties":{"q#":{}}}`) + `},"unevaluatedProperties":false}`, "*", "*", ""},
		ok("unevaluated members of a long chain", `{"$ref":"#/$defs/0","unevaluatedProperties":false,"$defs":{`+each(900, func(i int) string {
			return fmt.Sprintf(`"%d":{"properties":{"p%d":{}},"$ref":"#/$defs/%d"}`, i, i, i+1)
		})+`,"900":{}}}`),
		{"many objects of unevaluated members", inObject("properties", eachf(3000, `"p#":{"$ref":"#/$defs/w","unevaluatedProperties":false}`)) + ``, "*", "*", ""},
		{"many copies of a wide object", `{"type":"object","properties":{` + eachf(3000, `"p#":{"$ref":"#/$defs/w","unevaluatedProperties":false}`) + `},"$defs":{"w":` + inObject("properties", eachf(2000, `"p#":{}`)) + `}}`, "*", "*", ""},
		{"not unevaluated", `{"type":"object","not":{"anyOf":[` + eachf(5, `{"properties":{"p#":{"const":#}}}`) + `],"unevaluatedProperties":false}}`, "*", "*", ""},
		{"negated maps", `{"type":"object","not":{"anyOf":[` + eachf(300, `{"additionalProperties":{"const":#}}`) + `]}}`, "*", "*", ""},
		{"negated closed objects", `{"type":"object","not":{"anyOf":[` + eachf(300, `{"properties":{"p#":{"const":#}},"additionalProperties":false}`) + `]}}`, "*", "*", ""},
		{"oneOf of closed objects", `{"oneOf":[` + eachf(60, `{"type":"object","properties":{"p#":{"const":#},"q":{}},"additionalProperties":false}`) + `]}`, "*", "*", ""},
		{"different items counted by many", `{"type":"array","uniqueItems":true,"allOf":[` + eachf(8, `{"contains":{"type":"string","pattern":"^#"},"minContains":8}`) + `]}`, "*", "*", ""},
		{"many different items counted", `{"type":"array","uniqueItems":true,"minItems":64,"contains":{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":50}}},"minContains":60}`, "*", "*", ""},
		{"arrays of different counted items", inObject("properties", eachf(100, `"p#":{"type":"array","uniqueItems":true,"minItems":20,"contains":{"type":"string","pattern":"^#[ab]{40}$"},"minContains":10}`)), "*", "*", ""},
		ok("different strings", `{"type":"array","uniqueItems":true,"minItems":64,"items":{"type":"string","minLength":100}}`),
		ok("different constants", `{"type":"array","uniqueItems":true,"minItems":64,"items":{"enum":[`+eachf(5000, `"value #"`)+`]}}`),
		{"different long arrays", `{"type":"array","uniqueItems":true,"minItems":64,"items":{"type":"array","minItems":40,"items":{"type":"array","minItems":40,"items":{"type":"string","pattern":"^a{30}[bc]*$"}}}}`, "", "uniqueItems", "limit of 1024 bytes"},
		{"different arrays of different arrays", nested(3, `{"type":"array","uniqueItems":true,"minItems":30,"items":`, `{"type":"string"}`, `}`), "", "uniqueItems", "limit of 1024 bytes"},
		{"different arrays of different strings", nested(2, `{"type":"array","uniqueItems":true,"minItems":60,"items":`, `{"type":"string"}`, `}`), "", "uniqueItems", "exceeds the limit"},
		{"many arrays of different items", inObject("properties", eachf(200, `"p#":{"type":"array","uniqueItems":true,"minItems":64,"items":{"type":"string","pattern":"^#[ab]{40}$"}}`)), "*", "*", ""},
		{"excluded classes", inObject("properties", eachf(300, `"p#":{"type":"string","not":{"pattern":"^\\w+#[\\w\\d]*$"}}`)), "*", "*", "exceeds the limit"},
		{"excluded multiples", `{"type":"number","not":{"anyOf":[` + eachf(50, `{"multipleOf":1#}`) + `]}}`, "*", "multipleOf", "exceeds the limit"},
		{"excluded objects", `{"not":{"enum":[` + eachf(500, `{"a":#,"b":[#,1]}`) + `]}}`, "*", "*", "exceeds the limit"},
		ok("look-aheads", `{"type":"string","pattern":"^`+strings.Repeat("(?=.*a)(?!.*bc)", 200)+`.*$"}`),
		ok("look-aheads that repeat", `{"type":"string","pattern":"^(?:(?!`+strings.Repeat("abc|", 2000)+`x).)*$"}`),
		{"patterns with many look-behinds", inObject("properties", each(200, func(i int) string {
			return fmt.Sprintf(`"p%d":{"type":"string","pattern":"(?<=a.{%d})b(?<!c.{%d})"}`, i, i%12, i%11)
		})), "*", "pattern", "too large"},
		{"patterns with word boundaries", inObject("properties", eachf(200, `"p#":{"type":"string","pattern":"\\b\\w{#}\\b"}`)), "*", "pattern", "exceeds the limit"},
		{"a look-behind with many ends", `{"type":"string","pattern":"(?<!` + strings.Join(strings.Split(eachf(20, `b{#}(?=.{#}a)(?=.{#}c)`), ","), "|") + `)x"}`, "", "pattern", "too large"},
		ok("required", `{"type":"object","required":[`+eachf(60_000, `"p#"`)+`]}`),
		ok("properties", inObject("properties", eachf(30_000, `"p#":{"type":"string"}`))),
		ok("an enum", `{"enum":[`+eachf(60_000, `"value #"`)+`]}`),
		ok("a constant", `{"const":"`+strings.Repeat("x", 1_000_000)+`"}`),
		ok("a key", `{"type":"object","required":["`+strings.Repeat("x", 1_000_000)+`"]}`),
		{"brackets", strings.Repeat("[", 100_000), "", "", "not JSON"},
		{"a tower of not", nested(95, `{"not":{"anyOf":[{"type":"null"},`, `{}`, `]}}`), "*", "", "more than 200 deep"},
		ok("dependent schemas", inObject("dependentSchemas", eachf(100, `"p#":{"properties":{"q#":{"type":"string"}}}`))),
		{"dependent keys", inObject("dependentRequired", eachf(1000, `"p#":["p1#"]`)), "", "dependentRequired", "exceeds the limit"},
		{"copies of a wide object", `{"anyOf":[` + eachf(8000, `{"allOf":[{"$ref":"#/$defs/w"}],"maxProperties":1#00,"minProperties":900}`) + `],"$defs":{"w":` + inObject("properties", eachf(200, `"p#":{}`)) + `}}`, "*", "*", ""},
		{"copies of long keys", `{"anyOf":[` + eachf(8000, `{"allOf":[{"$ref":"#/$defs/w"}],"maxProperties":1#00}`) + `],"$defs":{"w":` + inObject("properties", eachf(20, `"`+strings.Repeat("k", 5000)+`#":{}`)) + `}}`, "*", "*", ""},
		{"arrays in each other", `{"$ref":"#/$defs/0","$defs":{` + each(9000, func(i int) string {
			return fmt.Sprintf(`"%d":{"type":"array","minItems":1,"items":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}}`, i, i+1, i+2)
		}) + `,"9000":{"type":"null"},"9001":{"type":"null"}}}`, "*", "*", ""},
		{"a deep constant", `{"const":` + nested(190, `["`+strings.Repeat("x", 5000)+`",`, "1", "]") + `}`, "*", "*", ""},
	}
}

// mostAllocated bounds the bytes that a compilation allocates in all, freed or not.
const mostAllocated = 320 << 20

// Every schema is answered with bounded work, and errors name the place.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute under the race detector, and nothing runs in parallel")
	}
	v := vocabularies(t)[0].ready
	for _, a := range attacks() {
		err := bounded(t, a.name, func(c *grammar.Compiler) error {
			g, err := c.Schema([]byte(a.source), grammar.Generating())
			if err == nil {
				_, err = c.Bind(g, v)
			}
			return err
		})
		e, _ := errors.AsType[*grammar.Error](err)
		switch {
		case a.says == compiled && err != nil:
			t.Errorf("%s: %v", a.name, err)
		case a.says == compiled || a.keyword == compiled && err == nil || a.keyword == "*" && err == nil:
		case err == nil:
			t.Errorf("%s compiles", a.name)
		case e == nil || a.pointer != "*" && e.Pointer != a.pointer || a.keyword != "*" && a.keyword != e.Keyword || !strings.Contains(e.Message, a.says):
			t.Errorf("%s: %v, want %s: %s: %s", a.name, err, a.pointer, a.keyword, a.says)
		}
	}
}

// bounded runs a compilation and checks its allocations.
func bounded(t *testing.T, name string, compile func(*grammar.Compiler) error) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := grammar.NewCompiler(context.Background())
	err := compile(c)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > mostAllocated {
		t.Errorf("%s: %d MB are allocated, %d MB counted", name, took>>20, c.Bytes()>>20)
	}
	return err
}

// Alternatives with distinct constants take work in proportion to their number.
func TestLinear(t *testing.T) {
	for name, one := range map[string]string{
		"constants": `{"const":"c#"}`,
		"objects":   `{"type":"object","properties":{"k":{"const":"k#"},"v":{"type":"string"}},"required":["k","v"],"additionalProperties":false}`,
	} {
		bytes := func(n int) int {
			c := grammar.NewCompiler(context.Background())
			if _, err := c.Schema([]byte(`{"oneOf":[`+eachf(n, one)+`]}`), grammar.Generating()); err != nil {
				t.Fatalf("%d %s: %v", n, name, err)
			}
			return c.Bytes()
		}
		if few, many := bytes(1250), bytes(5000); many > 5*few {
			t.Errorf("%s: %d bytes for 1250, %d for 5000", name, few, many)
		}
	}
}

// The same budget bounds grammars.
func TestGrammarAttacks(t *testing.T) {
	v := vocabularies(t)[0].ready
	lines := func(n int, format string) string {
		return strings.ReplaceAll(eachf(n, format), ",", "\n")
	}
	for name, source := range map[string]string{
		"stars":        "root ::= " + nested(190, "(", `"a"`, ")*"),
		"repeats":      `root ::= ((("a" | "b"){1000}){50} "c"){3}`,
		"any and more": `root ::= .* "a" .{15}`,
		"three of it":  `root ::= .* "a" .{9} | .* "b" .{9} | .* "c" .{9}`,
		"doubling":     "root ::= r0\n" + each(60, func(i int) string { return fmt.Sprintf("r%d ::= r%d r%d\n", i, i+1, i+1) }) + "r60 ::= \"x\"",
		"many rules": "root ::= r0\n" + strings.ReplaceAll(each(4000, func(i int) string {
			return fmt.Sprintf("r%d ::= \"a\" r%d | \"b\" r%d r%d", i, (i+1)%4001, (i*7+3)%4001, (i*13+1)%4001)
		}), ",", "\n") + "\nr4000 ::= \"x\"",
		"a literal": `root ::= "` + strings.Repeat("x", 250_000) + `"`,
		"words":     `root ::= ` + strings.ReplaceAll(eachf(20_000, `"w#"`), ",", "|"),
		"classes":   "root ::= " + strings.Repeat("[^\"\\\\a-zé-ÿ]", 12_000),
		"ambiguous": "root ::= s\ns ::= \"a\" s s \"b\" | \"a\" s s | \"a\"",
		"rules":     "root ::= r1\n" + lines(4000, `r# ::= "a"`),
	} {
		source = strings.ReplaceAll(source, "\n,", "\n")
		err := bounded(t, name, func(c *grammar.Compiler) error {
			g, err := c.GBNF(source)
			if err == nil {
				_, err = c.Bind(g, v)
			}
			return err
		})
		if e, _ := errors.AsType[*grammar.Error](err); err != nil && (e == nil || !strings.HasPrefix(e.Pointer, "line ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A thousand functions compile; many with patterns are refused, and the error names one.
func TestToolAttacks(t *testing.T) {
	syntax := &grammar.CallSyntax{Trigger: "<", Call: "<call>{\"name\":\"", Middle: "\",\"arguments\":", End: "}</call>", Between: "\n"}
	tools := func(n int, parameters func(i int) string) (list []grammar.Tool) {
		for i := range n {
			list = append(list, grammar.Tool{Name: fmt.Sprint("f", i), Parameters: []byte(parameters(i))})
		}
		return list
	}
	for _, x := range []struct {
		tools []grammar.Tool
		says  string // "": it compiles
	}{
		{tools(1000, func(int) string {
			return `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number","minimum":0}},"required":["a"]}`
		}), ""},
		{tools(100, func(i int) string {
			return inObject("properties", each(10, func(j int) string { return fmt.Sprintf(`"p%d":{"type":"string","pattern":"a.{9}b{%d}x"}`, j, i*10+j) }))
		}), `the parameters of "f0": /properties/p`},
	} {
		err := bounded(t, "tools", func(c *grammar.Compiler) error {
			_, err := c.Calls(syntax, x.tools, grammar.CallForm{}, grammar.Generating())
			return err
		})
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%d tools: %v, want %q", len(x.tools), err, x.says)
		}
	}
}

// A compilation ends with its context and returns the context's error.
func TestCompilerCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, compile := range map[string]func(c *grammar.Compiler) (*grammar.Grammar, error){
		"a schema": func(c *grammar.Compiler) (*grammar.Grammar, error) {
			return c.Schema([]byte(`{"type":"string","pattern":"a.{9}x"}`), grammar.Generating())
		},
		"a grammar": func(c *grammar.Compiler) (*grammar.Grammar, error) { return c.GBNF(`root ::= [ab]* "a" [ab]{12}`) },
	} {
		if _, err := compile(grammar.NewCompiler(ctx)); err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A search through very many ways at once gives up.
func TestCanonicalWays(t *testing.T) {
	var list []string
	for i := range 4000 {
		list = append(list, fmt.Sprintf(`{"type":"object","properties":{"n":{"type":"array","items":{"type":"number"}},"k":{"const":%d}},"required":["n","k"]}`, i))
	}
	g, err := grammar.Schema([]byte(`{"oneOf":[`+strings.Join(list, ",")+`]}`), grammar.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for numbers, want := range map[int]bool{10: true, 5000: false} {
		value := decode(t, []byte(`{"n":[`+strings.Repeat(`1e1,`, numbers)+`1],"k":3999}`))
		if _, ok := g.Canonical(value); ok != want {
			t.Errorf("%d numbers: %t", numbers, ok)
		}
	}
}
