package engine

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// quoting is the schema of an object that quotes the marks of calls.
const quoting = `{"type":"object","properties":{"name":{"enum":["f","<tool_call>","[TOOL_CALLS]f[ARGS]{}","<function_calls>f()","a"]},"n":{"type":"integer"}},"required":["name"],"additionalProperties":false}`

var quoted = []string{"f", "<tool_call>", "[TOOL_CALLS]f[ARGS]{}", "<function_calls>f()", "a"}

// isQuoting reports whether a text is of the schema quoting.
func isQuoting(text string) bool {
	var is struct{ Name string }
	return strings.HasPrefix(text, `{"name":"`) && json.Unmarshal([]byte(text), &is) == nil && slices.Contains(quoted, is.Name)
}

// bytesEngine is an engine without a model whose tokens are bytes and a few texts.
func bytesEngine(s toolcall.Syntax) (e *Engine, tokens []string) {
	tokens = []string{"<tool_call>\n", `{"name": "`, `{"name":"`, `": {"`, "}}", `\"`}
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	v := grammar.NewVocabulary(tokens)
	vocabulary := func() (*grammar.Vocabulary, error) { return v, nil }
	return &Engine{constraints: &constraintCache{vocabulary: vocabulary}, calls: callSyntax{Syntax: s}, ends: map[int]bool{0: true}}, tokens
}

// An answer with tools and a schema is calls or a text of the schema, however a family writes
// calls, and whatever the text quotes.
func TestFormedToolDraws(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tools := []llm.Tool{{Name: "f"}, {Name: "f2", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}}
	several := 0 // calls after the first of a row
	for _, syntax := range toolcall.Families() {
		e, tokens := bytesEngine(syntax)
		texts, called := 0, 0
		for _, p := range []llm.Params{
			{Tools: tools, Schema: json.RawMessage(quoting)},
			{Tools: tools, Schema: json.RawMessage(quoting), OneCall: new(true)},
			{Tools: tools, Schema: json.RawMessage(quoting), MustCall: new(true)},
			{Tools: tools, Grammar: new(`root ::= "{\"name\":\"" ("f" | "<tool_call>" | "[TOOL_CALLS]f[ARGS]{}") "\"}"`)},
		} {
			c, err := e.constraint(t.Context(), &p)
			if err != nil {
				t.Fatalf("%s: %v", syntax.Family, err)
			}
			for budget := c.Min(); budget < c.Min()+60; budget++ {
				row := splitCalls(t, e.calls.of(&p), tools, draw(t, c, tokens, budget, random))
				checkRow(t, row, or(p.MustCall, false), or(p.OneCall, false))
				if len(row.Calls) == 0 != isQuoting(row.Text) || len(row.Calls) > 0 && row.Text != "" {
					t.Fatalf("%s: %+v", syntax.Family, row)
				}
				if len(row.Calls) == 0 {
					texts++
				} else {
					called++
				}
				several += max(0, len(row.Calls)-1)
			}
		}
		if texts == 0 || called == 0 {
			t.Errorf("%s: %d texts, %d calls", syntax.Family, texts, called)
		}
	}
	if several == 0 {
		t.Error("no row has two calls")
	}
}

// Tools and a schema are refused together where an answer could be both, with the parameter
// that is wrong.
func TestFormedToolsRefused(t *testing.T) {
	f := []llm.Tool{{Name: "f"}}
	for _, test := range []struct {
		syntax       toolcall.Syntax
		p            llm.Params
		param, wants string // "": it compiles
	}{
		{toolcall.Hermes(), llm.Params{Tools: f, Schema: json.RawMessage(`{}`)}, "", ""},
		{toolcall.Lines(), llm.Params{Tools: f, Schema: json.RawMessage(`{}`)}, "", ""},
		{toolcall.Lines(), llm.Params{Tools: f, Schema: json.RawMessage(`{"type":"strnig"}`)}, "schema", "type: it must be"},
		{toolcall.Lines(), llm.Params{Tools: f, MustCall: new(true), Schema: json.RawMessage(`{"type":"strnig"}`)}, "schema", "type: it must be"},
		{toolcall.Lines(), llm.Params{Tools: f, Grammar: new(`root ::= (`)}, "grammar", "line 1"},
		{toolcall.Lines(), llm.Params{Tools: f, Grammar: new(`root ::= "{" [^}]* "}"`)}, "tools", `a text that does not call could begin with "{\"name\": \"", as calls do`},
		{toolcall.Hermes(), llm.Params{Tools: f, Grammar: new(`root ::= "<" [^}]* "}"`)}, "tools", `a text that does not call could begin with "<tool_call>\n{\"name\": \"", as calls do`},
		{toolcall.Harmony(), llm.Params{Tools: f, Grammar: new(`root ::= "<" [^}]* "}"`)}, "", ""},
		{toolcall.Hermes(), llm.Params{Tools: f, Grammar: new(`root ::= "a"`), Schema: json.RawMessage(`{}`)}, "grammar", "cannot be combined with a schema"},
		{toolcall.Hermes(), llm.Params{Tools: f, Schema: json.RawMessage(`{}`), Stop: []string{"x"}}, "stop", "cannot be combined with a schema"},
		{toolcall.Hermes(), llm.Params{Tools: []llm.Tool{{Name: "f g"}}, Schema: json.RawMessage(`{}`)}, "tools", "is not a name"},
	} {
		e, _ := bytesEngine(test.syntax)
		_, err := e.constraint(t.Context(), &test.p)
		if test.param == "" {
			if err != nil {
				t.Errorf("%s: %v", test.syntax.Family, err)
			}
			continue
		}
		if fault := llm.AsError(err); fault.Code != llm.Invalid || fault.Param != test.param || !strings.Contains(fault.Message, test.wants) {
			t.Errorf("%s: %v, want %s: %s", test.syntax.Family, err, test.param, test.wants)
		}
	}
}

// The cache tells the same tools with other forms of text apart.
func TestFormedToolsCached(t *testing.T) {
	e, _ := bytesEngine(toolcall.Hermes())
	f := []llm.Tool{{Name: "f"}}
	for range 2 {
		for i, p := range []llm.Params{
			{Tools: f}, {Tools: f, Schema: json.RawMessage(`"a"`)}, {Tools: f, Grammar: new(`"a"`)},
			{Tools: f, Schema: json.RawMessage(`{"const":"a"}`)}, {Tools: f, Schema: json.RawMessage(`{"const":"b"}`)}, {Tools: f, Grammar: new(`root ::= "a"`)},
		} {
			c, err := e.constraint(t.Context(), &p)
			if i == 1 || i == 2 {
				if err == nil {
					t.Errorf("%d: there is no error", i)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			text := map[int]string{0: "Hello", 3: `"a"`, 4: `"b"`, 5: "a"}[i]
			m := c.Start()
			for _, b := range []byte(text) {
				if !m.Take(6 + int(b)) {
					t.Fatalf("%d: %q is not taken after %q", i, b, m.Text())
				}
			}
			if !m.Accepts() {
				t.Errorf("%d: %q is not whole", i, text)
			}
		}
	}
}

// A model that cannot write the text would call for ever, and says so.
func TestFormedToolsUnspelled(t *testing.T) {
	e, _ := bytesEngine(toolcall.Hermes())
	var tokens []string
	for b := range 0x80 {
		tokens = append(tokens, string(rune(b)))
	}
	v := grammar.NewVocabulary(tokens)
	e.constraints.vocabulary = func() (*grammar.Vocabulary, error) { return v, nil }
	_, err := e.constraint(t.Context(), &llm.Params{Tools: []llm.Tool{{Name: "f"}}, Grammar: new(`root ::= "é"`)})
	if fault := llm.AsError(err); fault.Code != llm.Unsupported || fault.Param != "grammar" {
		t.Errorf("%v", err)
	}
}

// A chat with tools and a schema ends in calls or in a text of the schema with any maximum of
// tokens, with reasoning before it or without, and a stream has the same.
func TestFormedTools(t *testing.T) {
	for _, syntax := range []toolcall.Syntax{toolcall.Lines(), toolcall.Hermes(), toolcall.Mistral(), toolcall.GLM()} {
		e := markedEngine(t, characters(t), syntax)
		texts, called := 0, 0
		for seed := range int64(30) {
			p := llm.Params{
				Tools: []llm.Tool{{Name: "f"}}, Schema: json.RawMessage(quoting), Seed: &seed, Temperature: new(1.0), MaxTokens: new(90 + int(seed)),
			}
			req := &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "q"}}}}}}, N: 1, Params: p}
			rows, _ := collect(t, e, req)
			row := rows[0]
			if row.Guarantee != llm.Enforced || len(row.Calls) == 0 != isQuoting(row.Text) || len(row.Calls) > 0 && row.Text != "" {
				t.Fatalf("%s, seed %d: %+v", syntax.Family, seed, row)
			}
			checkRow(t, row, false, false)
			if len(row.Calls) == 0 {
				texts++
			} else {
				called++
			}
			req.Stream = true
			again, _ := collect(t, e, req)
			if got := again[0]; got.Text != row.Text || len(got.Calls) != len(row.Calls) || len(got.Calls) > 0 && got.Calls[0].Arguments != row.Calls[0].Arguments {
				t.Errorf("%s: a stream has %+v, want %+v", syntax.Family, got, row)
			}
		}
		if texts == 0 || called == 0 {
			t.Errorf("%s: %d texts, %d calls", syntax.Family, texts, called)
		}
	}
}
