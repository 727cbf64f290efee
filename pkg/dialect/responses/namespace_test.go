package responses

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// inNamespaces are tools as Codex sends those of MCP servers.
const inNamespaces = `"tools":[{"type":"function","name":"time"},{"type":"namespace","name":"mcp__sky","description":"Weather.","tools":[
	{"type":"function","name":"time","description":"Sunrise.","parameters":{"type":"object"}},{"type":"custom","name":"chart"}]}]`

// TestNamespaces: models know a tool by its namespace and its name. The description of the namespace
// comes once, before that of its first tool. Calls have the names that the client sent.
func TestNamespaces(t *testing.T) {
	const calls = `[{"role":"user","content":"hi"},{"type":"function_call","call_id":"1","namespace":"mcp__sky","name":"time","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"1","namespace":"mcp__sky","output":"6:00"}]`
	var in createRequest
	if err := createTable.Decode([]byte(`{"input":`+calls+`,`+inNamespaces+`}`), &in); err != nil {
		t.Fatal(err)
	}
	g, err := in.request()
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Tool{
		{Name: "time", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
		{Name: "mcp__sky__time", Description: "Weather.\n\nSunrise.", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "mcp__sky__chart", Parameters: json.RawMessage(customSchema)},
	}
	if !reflect.DeepEqual(g.Tools, want) || g.Declared != nil {
		t.Errorf("got %+v, declared %+v", g.Tools, g.Declared)
	}
	if got := g.Prompts[0].Messages[1].Calls[0].Name; got != "mcp__sky__time" {
		t.Errorf("the model reads a call of %q", got)
	}
	a := answer{gen: g}
	chunks := []llm.Chunk{
		{Calls: []llm.Call{{ID: "a", Name: "mcp__sky__time", Arguments: "{}"}}},
		{Calls: []llm.Call{{Index: 1, ID: "b", Name: "mcp__sky__chart", Arguments: `{"input":"x"}`}}},
		{Calls: []llm.Call{{Index: 2, ID: "c", Name: "time", Arguments: "{}"}}},
	}
	got := []string{}
	for _, c := range chunks {
		if err := a.add(c); err != nil {
			t.Fatal(err)
		}
	}
	a.end(completed)
	for _, item := range a.Output {
		got = append(got, item.Type+" "+item.Namespace+" "+item.Name)
	}
	if want := []string{"function_call mcp__sky time", "custom_tool_call mcp__sky chart", "function_call  time"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestUncalled: an output without a call, as Codex sends the objective of a goal, gets one. The
// calls of a message stay together.
func TestUncalled(t *testing.T) {
	const call = `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},`
	const uncalled = `{"type":"function_call_output","name":"objective","namespace":"agent","output":"o"}`
	var in createRequest
	if err := createTable.Decode([]byte(`{"input":[`+call+uncalled+`,{"type":"function_call_output","call_id":"1","output":"x"},`+uncalled+`]}`), &in); err != nil {
		t.Fatal(err)
	}
	output := func(id, text string) llm.Message {
		return llm.Message{Role: "tool", CallID: id, Parts: []llm.Part{{Text: text}}}
	}
	f, objective := llm.Call{ID: "1", Name: "f", Arguments: "{}"}, llm.Call{Index: 1, ID: "uncalled_1", Name: "agent__objective", Arguments: "{}"}
	want := []llm.Message{
		{Role: "assistant", Calls: []llm.Call{f, objective}}, output("uncalled_1", "o"), output("1", "x"),
		{Role: "assistant", Calls: []llm.Call{{ID: "uncalled_3", Name: "agent__objective", Arguments: "{}"}}}, output("uncalled_3", "o"),
	}
	if got, err := in.messages(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestHosted: a hosted tool, as Codex offers it, is left out if the model's record says so.
func TestHosted(t *testing.T) {
	const search = `"tools":[{"type":"web_search"}]`
	if w := ask(testHandler(), `{"model":"drops",`+hi+`,`+search+`}`); w.Code != 200 || w.Header().Get(httpx.IgnoredHeader) != "tools[0]" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := ask(testHandler(), `{`+hi+`,`+search+`}`); w.Code != 400 || !strings.Contains(w.Body.String(), `or have the model's record leave others out: \"unsupported\": \"drop\"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestBadNamespaces: errors name the place in the request, also those of models.
func TestBadNamespaces(t *testing.T) {
	for _, test := range []struct{ body, param, has string }{
		{`"tools":[{"type":"namespace","name":"n"}]`, "tools[0].tools", "is required"},
		{`"tools":[{"type":"namespace","tools":[]}]`, "tools[0].name", "is required"},
		{`"tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]`, "tools[0].tools[0].type", "web_search"},
		{`"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"},{"type":"custom","name":"f"}]}]`, "tools[0].tools[1].name", `n__f`},
		{`"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"` + strings.Repeat("f", 62) + `"}]}]`, "tools[0].tools[0].name", "1 to 64"},
		{inNamespaces + `,"tool_choice":{"type":"custom","name":"chart"}`, "tool_choice.name", "not one of the tools"},
		{`"model":"picky","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"g"},{"type":"function","name":"f"}]}]`, "tools[0].tools[0].parameters", "too deep"},
	} {
		w := ask(testHandler(), `{`+hi+`,`+test.body+`}`)
		var got struct {
			Error struct{ Message, Param string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 400 || got.Error.Param != test.param || !strings.Contains(got.Error.Message, test.has) {
			t.Errorf("%s: got %d %s", test.body, w.Code, w.Body)
		}
	}
}
