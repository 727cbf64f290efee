package calls

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/jsonschema"
	"glossa/pkg/grammar/pushdown"
)

var (
	braces = &Syntax{Trigger: "{", Call: `{"name": "`, Middle: `", "args": `, End: "}", Between: "; "}
	tags   = &Syntax{Trigger: "<call>", Call: "<call>\n{\"name\": \"", Middle: `", "args": `, End: "}\n</call>", Between: "\n"}
)

const count = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

// compile compiles the tools with the given names; a table has their schemas.
func compile(t *testing.T, syntax *Syntax, names string, must, one bool) *pushdown.Program {
	t.Helper()
	schemas := map[string]string{"count": count, "counter": count, "count2": count, "any": "", "null": " null ", "open": "{}"}
	var tools []Tool
	for _, name := range strings.Fields(names) {
		tools = append(tools, Tool{Name: name, Parameters: []byte(schemas[name])})
	}
	p, err := Compile(syntax, tools, Form{Must: must, One: one}, automaton.Generating())
	if err != nil {
		t.Fatal(err)
	}
	check(t, p)
	return p
}

// check checks the invariants in the comments of [pushdown.Program].
func check(t *testing.T, p *pushdown.Program) {
	t.Helper()
	edges := func(rule int, edges []automaton.Edge, states int) {
		for i, e := range edges {
			if e.Lo > e.Hi || int(e.To) >= states || i > 0 && edges[i-1].Hi >= e.Lo {
				t.Errorf("rule %d: edges %v", rule, edges)
			}
		}
	}
	called := func(ids ...pushdown.ID) {
		for _, id := range ids {
			if id < 0 || int(id) >= len(p.Rules) {
				t.Errorf("rule %d of %d", id, len(p.Rules))
			}
		}
	}
	for i, r := range p.Rules {
		called(r.Any...)
		if r.Text != nil {
			for _, s := range r.Text.DFA.States {
				edges(i, s.Edges, len(r.Text.DFA.States))
			}
		}
		if r.Proc != nil {
			for _, s := range r.Proc.States {
				edges(i, s.Edges, len(r.Proc.States))
				for _, c := range s.Calls {
					called(c.Rule)
				}
			}
		}
	}
}

func TestCompile(t *testing.T) {
	for _, test := range []struct {
		syntax    *Syntax
		tools     string
		must, one bool
		yes, no   []string
	}{
		{
			syntax: braces, tools: "count counter count2 any",
			yes: []string{
				"", "Hello", " {", "é{", "\u0800\uD7FF\uE000\U00010000\U0010FFFF", "\x00", "It is {\"name\": \"count\"",
				`{"name": "count", "args": {"n":1}}`, `{"name": "counter", "args": {"n":12}}`, `{"name": "count2", "args": {"n":0}}`,
				`{"name": "any", "args": {}}`, `{"name": "any", "args": {"x":"}","y":[{},1]}}`,
				`{"name": "count", "args": {"n":1}}; {"name": "any", "args": {}}; {"name": "count", "args": {"n":2}}`,
			},
			no: []string{
				"{", "{}", `{"name": "count"}`, `{"name": "coun", "args": {"n":1}}`, `{"name": "count", "args": {}}`, `{"name": "count", "args": {"n":"1"}}`,
				`{"name": "any", "args": 1}`, `{"name": "any", "args": []}`, `{"name": "count", "args": {"n":1}}; `,
				`{"name": "count", "args": {"n":1}}; Hello`, `{"name": "count", "args": {"n":1}}{"name": "count", "args": {"n":1}}`,
				`{"name":"count","args":{"n":1}}`, "\x80", "\xff", "a\xc0\x80", "\xed\xa0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "a\xc3", "\xf0\x80\x80\x80",
			},
		},
		{
			syntax: tags, tools: "count",
			yes: []string{
				"", "<", "<cal", "<think>", "<é", "<call", "<calx>", "a<call>", "{}",
				"<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>",
				"<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>\n<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>",
			},
			no: []string{"<call>", "<call>a", "<\xff", "<c\x80", "<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}", "<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>\n"},
		},
		{
			syntax: braces, tools: "null open", must: true,
			yes: []string{
				`{"name": "null", "args": {}}`, `{"name": "open", "args": {"a":{}}}`, `{"name": "open", "args": {}}; {"name": "null", "args": {}}`,
			},
			no: []string{"", "Hello", "{", `{"name": "open", "args": ""}`, `{"name": "null", "args": null}`},
		},
		{
			syntax: tags, tools: "any", one: true,
			yes: []string{"", "Hello", "<call>\n{\"name\": \"any\", \"args\": {}}\n</call>"},
			no:  []string{"<call>\n{\"name\": \"any\", \"args\": {}}\n</call>\n", "<call>\n{\"name\": \"any\", \"args\": {}}\n</call>\n<call>\n{\"name\": \"any\", \"args\": {}}\n</call>"},
		},
		{
			syntax: tags, tools: "any", must: true, one: true,
			yes: []string{"<call>\n{\"name\": \"any\", \"args\": {}}\n</call>"},
			no:  []string{"", "<", "Hello", "<call>\n{\"name\": \"any\", \"args\": {}}\n</call>\n<call>\n{\"name\": \"any\", \"args\": {}}\n</call>"},
		},
	} {
		p := compile(t, test.syntax, test.tools, test.must, test.one)
		for _, text := range test.yes {
			if !matches(p, text) {
				t.Errorf("%s, must %t, one %t: %q does not match", test.tools, test.must, test.one, text)
			}
		}
		for _, text := range test.no {
			if matches(p, text) {
				t.Errorf("%s, must %t, one %t: %q matches", test.tools, test.must, test.one, text)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, test := range []struct {
		tools []Tool
		want  string
	}{
		{nil, "there is no function to call"},
		{[]Tool{{Name: "f"}, {Name: "g"}, {Name: "f"}}, `there are two functions "f"`},
		{[]Tool{{Name: ""}}, `"" is not a name of a function: 1 to 64 letters, digits, _ and -`},
		{[]Tool{{Name: "a b"}}, `"a b" is not a name of a function: 1 to 64 letters, digits, _ and -`},
		{[]Tool{{Name: `a"`}}, `"a\"" is not a name of a function: 1 to 64 letters, digits, _ and -`},
		{[]Tool{{Name: "é"}}, `"é" is not a name of a function: 1 to 64 letters, digits, _ and -`},
		{[]Tool{{Name: long}}, `"` + long + `" is not a name of a function: 1 to 64 letters, digits, _ and -`},
		{[]Tool{{Name: "f", Parameters: []byte(`{"type":"string"}`)}}, `the parameters of "f": must be an object`},
	} {
		if _, err := Compile(braces, test.tools, Form{}, automaton.Generating()); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if _, err := Compile(braces, []Tool{{Name: "aZ09_-" + long[:58]}}, Form{}, automaton.Generating()); err != nil {
		t.Error(err)
	}
}

// The error of an unsupported schema names its tool and the place in it.
func TestUnsupported(t *testing.T) {
	tools := []Tool{{Name: "good"}, {Name: "bad", Parameters: []byte(`{"type":"object","properties":{"x":{"type":"strnig"}}}`)}}
	_, err := Compile(tags, tools, Form{}, automaton.Generating())
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || !strings.HasPrefix(f.Pointer, "/properties/x") || !strings.HasPrefix(err.Error(), `the parameters of "bad": `+f.Pointer) {
		t.Errorf("got %v", err)
	}
}

// Shifted rules call each other, and the rules of the schema do not change.
func TestShift(t *testing.T) {
	rules := []pushdown.Rule{
		{Any: []pushdown.ID{1, 2}},
		{Array: &pushdown.Array{Prefix: []pushdown.ID{0}, Items: -1, Max: 1}},
		{Array: &pushdown.Array{Items: 3, Max: -1}},
		{Object: &pushdown.Object{Props: []pushdown.Prop{{Name: "a", Value: 1}}, Extra: []pushdown.Extra{{Key: 2, Value: 3}}}},
		{Proc: &pushdown.Proc{States: []pushdown.ProcState{{Calls: []pushdown.Call{{Rule: 1, Return: 7}}}}}},
	}
	for range 2 { // the second time from the same rules
		var s []pushdown.Rule
		for i := range rules {
			s = append(s, shift(&rules[i], 10))
		}
		got := []pushdown.ID{
			s[0].Any[0], s[0].Any[1], s[1].Array.Prefix[0], s[1].Array.Items, s[2].Array.Items,
			s[3].Object.Props[0].Value, s[3].Object.Extra[0].Key, s[3].Object.Extra[0].Value, s[4].Proc.States[0].Calls[0].Rule,
		}
		for i, want := range []pushdown.ID{11, 12, 10, -1, 13, 11, 12, 13, 11} {
			if got[i] != want {
				t.Errorf("%d: got %d, want %d", i, got[i], want)
			}
		}
		if s[4].Proc.States[0].Calls[0].Return != 7 {
			t.Error("a state of the caller was shifted")
		}
	}
}

// All UTF-8 that does not begin with the mark is text, and nothing else is.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "<", "<call>", "<c\xc3", "a\xed\xa0\x80", "\U0010FFFF"} {
		f.Add(text)
	}
	p, err := Compile(tags, []Tool{{Name: "f"}}, Form{}, automaton.Generating())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, tags.Begin()) || len(text) > 1<<10 {
			return
		}
		if want := utf8.ValidString(text) && !strings.HasPrefix(text, tags.Trigger); matches(p, text) != want {
			t.Errorf("%q: want %t", text, want)
		}
	})
}

// The objects among nested alternatives of a schema are found, each once.
func TestObjects(t *testing.T) {
	b := builder{rules: []pushdown.Rule{
		{Any: []pushdown.ID{1, 2, 3}}, {Any: []pushdown.ID{3, 0, 4}}, {Text: &pushdown.Text{DFA: automaton.Text()}}, {Object: &pushdown.Object{}}, {Object: &pushdown.Object{}},
	}}
	if got := b.objects(0, nil, map[pushdown.ID]bool{}); len(got) != 2 || got[0] != 3 || got[1] != 4 {
		t.Errorf("got %v", got)
	}
}

// A text that has a form follows it, without a call before or after it.
func TestFormedText(t *testing.T) {
	text, err := jsonschema.Compile([]byte(`{"type":"object","properties":{"name":{"enum":["count","<call>"]}},"required":["name"]}`), automaton.Generating())
	if err != nil {
		t.Fatal(err)
	}
	anywhere := *tags
	anywhere.Anywhere = true
	marked := *tags
	marked.Text = "<text>"
	for _, test := range []struct {
		syntax  *Syntax
		form    Form
		yes, no []string
	}{
		{
			syntax: braces,
			yes:    []string{`{"name":"count"}`, `{"name":"<call>"}`, `{"name": "count", "args": {"n":1}}`, `{"name": "count", "args": {"n":1}}; {"name": "count", "args": {"n":2}}`},
			no:     []string{"", "Hello", `{"name": "count"}`, `{"name":"x"}`, `{"name":"count"}; {"name": "count", "args": {"n":1}}`, `{"name": "count", "args": {"n":1}}{"name":"count"}`},
		},
		{
			syntax: &anywhere, form: Form{One: true},
			yes: []string{`{"name":"<call>"}`, "<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>"},
			no:  []string{"", "a", `{"name":"<call>"}<call>`, "{\"name\":\"count\"}<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>"},
		},
		{
			syntax: &marked,
			yes:    []string{`<text>{"name":"<call>"}`, "<call>\n{\"name\": \"count\", \"args\": {\"n\":1}}\n</call>"},
			no:     []string{"", "<text>", "<text>a", `{"name":"<call>"}`},
		},
		{
			syntax: braces, form: Form{Must: true},
			yes: []string{`{"name": "count", "args": {"n":1}}`},
			no:  []string{"", `{"name":"count"}`},
		},
	} {
		test.form.Text = text
		p, err := Compile(test.syntax, []Tool{{Name: "count", Parameters: []byte(count)}}, test.form, automaton.Generating())
		if err != nil {
			t.Fatal(err)
		}
		check(t, p)
		for _, text := range test.yes {
			if !matches(p, text) {
				t.Errorf("%q does not match", text)
			}
		}
		for _, text := range test.no {
			if matches(p, text) {
				t.Errorf("%q matches", text)
			}
		}
	}
}
