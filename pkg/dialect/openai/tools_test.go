package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// Tools as clients send them.
const (
	weather = `{"type":"function","function":{"name":"weather","description":"of a city","parameters":{ "type":"object", "b":1, "a":2 },"strict":true}}`
	clock   = `{"type":"function","function":{"name":"time"}}`
	spell   = `{"type":"function","function":{"name":"spell","parameters":null,"description":null}}`
)

// TestStructure: response_format and tools reach the request, with schemas as they were sent.
func TestStructure(t *testing.T) {
	w := llm.Tool{Name: "weather", Description: "of a city", Parameters: json.RawMessage(`{ "type":"object", "b":1, "a":2 }`)}
	c := llm.Tool{Name: "time", Parameters: json.RawMessage(openaiapi.NoArguments)}
	s := llm.Tool{Name: "spell", Parameters: json.RawMessage(openaiapi.NoArguments)}
	const two, three = `"tools":[` + weather + `,` + clock + `]`, `"tools":[` + weather + `,` + clock + `,` + spell + `]`
	allowed := func(mode, names string) string {
		return `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"` + mode + `","tools":[` + names + `]}},` + three
	}
	name := func(s string) string { return `{"type":"function","function":{"name":"` + s + `"}}` }
	for body, want := range map[string]llm.Params{
		`"response_format":null`:                   {},
		`"response_format":{"type":"text"}`:        {},
		`"response_format":{"type":"json_object"}`: {Schema: json.RawMessage(`{"type":"object"}`)},
		`"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{ "b":1, "a":{"type":"int"} }}}`: {Schema: json.RawMessage(`{ "b":1, "a":{"type":"int"} }`)},
		`"response_format":{"type":"json_schema","json_schema":{"schema":{},"strict":null,"name":null,"description":"x"}}`:         {Schema: json.RawMessage(`{}`)},
		two: {Tools: []llm.Tool{w, c}},
		`"tools":null,"tool_choice":"auto","parallel_tool_calls":false`: {},
		`"tool_choice":null,` + three:                                   {Tools: []llm.Tool{w, c, s}},
		`"tool_choice":"auto",` + two:                                   {Tools: []llm.Tool{w, c}},
		`"tool_choice":"none","parallel_tool_calls":false,` + two:       {},
		`"tool_choice":"required",` + two:                               {Tools: []llm.Tool{w, c}, MustCall: new(true)},
		`"tool_choice":` + name("time") + `,` + two:                     {Tools: []llm.Tool{c}, MustCall: new(true)},
		`"parallel_tool_calls":false,` + two:                            {Tools: []llm.Tool{w, c}, OneCall: new(true)},
		`"parallel_tool_calls":true,` + two:                             {Tools: []llm.Tool{w, c}},
		allowed("auto", name("spell")+`,`+name("weather")):              {Tools: []llm.Tool{w, s}},
		allowed("required", name("time")):                               {Tools: []llm.Tool{c}, MustCall: new(true)},
		`"response_format":{"type":"json_object"},` + two:               {Schema: json.RawMessage(`{"type":"object"}`), Tools: []llm.Tool{w, c}},
	} {
		if got, err := translate(`{` + hi + `,` + body + `}`); err != nil || !reflect.DeepEqual(got.Params, want) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

// TestBadStructure compares the whole answer to each body.
func TestBadStructure(t *testing.T) {
	const value, unknown, unsupported = "invalid_value", "unknown_parameter", "unsupported_parameter"
	const long = "a name that is longer than sixty-four letters, digits, _ and - can be"
	h := testHandler()
	format := func(s string) string { return `"response_format":{"type":"json_schema","json_schema":` + s + `}` }
	choice := func(s string) string { return `"tool_choice":` + s + `,"tools":[` + weather + `]` }
	call := func(s string) string { return `"messages":[{"role":"assistant","tool_calls":[` + s + `]}]` }
	for _, test := range []struct{ body, message, param, code string }{
		{`"response_format":"json"`, "must be an object, not string", "response_format", value},
		{`"response_format":{}`, "is required", "response_format.type", value},
		{`"response_format":{"type":"xml"}`, `must be text, json_object or json_schema, not "xml"`, "response_format.type", value},
		{`"response_format":{"type":"json_object","schema":{}}`, "", "response_format.schema", unknown},
		{`"response_format":{"type":"json_object","json_schema":{"schema":{}}}`, "is only accepted with type json_schema", "response_format.json_schema", value},
		{`"response_format":{"type":"json_schema"}`, "is required", "response_format.json_schema", value},
		{format(`{"name":"x"}`), "is required", "response_format.json_schema.schema", value},
		{format(`{"name":"x","schema":[]}`), "must be an object", "response_format.json_schema.schema", value},
		{format(`{"name":"x","schema":{},"strict":"yes"}`), "must be a boolean, not string", "response_format.json_schema.strict", value},
		{format(`{"name":"x","schema":{},"schema":{}}`), "appears twice", "response_format.json_schema.schema", value},
		{`"tools":{}`, "must be an array, not object", "tools", value},
		{`"tools":[null]`, "must be an object, not null", "tools[0]", value},
		{`"tools":[{"function":{"name":"f"}}]`, "is required", "tools[0].type", value},
		{`"tools":[{"type":"web_search"}]`, `must be function, not "web_search"`, "tools[0].type", value},
		{`"tools":[{"type":"custom","custom":{"name":"x"}}]`, "custom tools are not supported", "tools[0].custom", unsupported},
		{`"tools":[` + clock + `,{"type":"function"}]`, "is required", "tools[1].function.name", value},
		{`"tools":[{"type":"function","function":{"name":"` + long + `"}}]`, `must be 1 to 64 letters, digits, _ or -, not "` + long + `"`, "tools[0].function.name", value},
		{`"tools":[{"type":"function","function":{"name":"a.b"}}]`, `must be 1 to 64 letters, digits, _ or -, not "a.b"`, "tools[0].function.name", value},
		{`"tools":[{"type":"function","function":{"name":"f","parameters":true}}]`, "must be an object", "tools[0].function.parameters", value},
		{`"tools":[{"type":"function","function":{"name":"f","returns":{}}}]`, "", "tools[0].function.returns", unknown},
		{`"tools":[` + clock + `,` + clock + `]`, `another tool is named "time"`, "tools[1].function.name", value},
		{`"tools":[` + clock + strings.Repeat(`,`+clock, 128) + `]`, "at most 128 tools", "tools", value},
		{`"tool_choice":"required"`, "there are no tools to call", "tool_choice", value},
		{choice(`"any"`), `must be none, auto, required or an object, not "any"`, "tool_choice", value},
		{choice(`5`), "must be a string, not number", "tool_choice", value},
		{choice(`{"type":"custom"}`), `must be function or allowed_tools, not "custom"`, "tool_choice.type", value},
		{choice(`{"type":"function","name":"weather"}`), "", "tool_choice.name", unknown},
		{choice(`{"type":"function","function":{"name":"time"}}`), `"time" is not one of the tools`, "tool_choice.function.name", value},
		{choice(`{}`), "is required", "tool_choice.type", value},
		{choice(`{"type":"function"}`), "is required", "tool_choice.function", value},
		{choice(`{"type":"function","function":{}}`), "is required", "tool_choice.function.name", value},
		{choice(`{"type":"allowed_tools"}`), "is required", "tool_choice.allowed_tools", value},
		{choice(`{"type":"allowed_tools","allowed_tools":{"mode":"auto"}}`), "is required", "tool_choice.allowed_tools.tools", value},
		{choice(`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`), "at least one tool is required", "tool_choice.allowed_tools.tools", value},
		{choice(`{"type":"allowed_tools","allowed_tools":{"tools":[{}]}}`), "is required", "tool_choice.allowed_tools.mode", value},
		{choice(`{"type":"allowed_tools","allowed_tools":{"mode":"none","tools":[{}]}}`), `must be auto or required, not "none"`, "tool_choice.allowed_tools.mode", value},
		{choice(`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{}]}}`), "is required", "tool_choice.allowed_tools.tools[0].type", value},
		{choice(`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"time"}}]}}`), `"time" is not one of the tools`, "tool_choice.allowed_tools.tools[0].function.name", value},
		{`"messages":[{"role":"user","content":"x","tool_calls":[{"type":"function","id":"a","function":{"name":"f"}}]}]`, "is only allowed in a message of the role assistant", "messages[0].tool_calls", value},
		{call(`{"id":"a"}`), "is required", "messages[0].tool_calls[0].type", value},
		{call(`{"id":"a","type":"custom"}`), `must be function, not "custom"`, "messages[0].tool_calls[0].type", value},
		{call(`{"type":"function"}`), "is required", "messages[0].tool_calls[0].id", value},
		{call(`{"type":"function","id":"a"}`), "is required", "messages[0].tool_calls[0].function.name", value},
		{call(`{"type":"function","id":"a","function":{"name":"f","arguments":{}}}`), "must be a string, not object", "messages.tool_calls.function.arguments", value},
		{call(`{"type":"function","id":"a","function":{"name":"f","arguments":"{"}}`), "must be a JSON object, as a string", "messages[0].tool_calls[0].function.arguments", value},
		{call(`{"type":"function","id":"a","function":{"name":"f","arguments":"null"}}`), "must be a JSON object, as a string", "messages[0].tool_calls[0].function.arguments", value},
		{call(`{"type":"function","id":"a","function":{"name":"f"}},{"type":"function","id":"a","function":{"name":"f"}}`), "another call of this message has the same id", "messages[0].tool_calls[1].id", value},
		{`"messages":[{"role":"assistant","tool_calls":[]}]`, "must be a string or an array of parts", "messages[0].content", value},
		{`"messages":[{"role":"tool","content":"x","tool_call_id":"a"}]`, `"a" is not the id of an earlier call`, "messages[0].tool_call_id", value},
		{`"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}]`, "deprecated by OpenAI: use tools", "messages[0].function_call", unsupported},
	} {
		body := `{` + test.body + `}`
		if !strings.Contains(body, `"messages":`) {
			body = `{` + test.body + `,` + hi + `}`
		}
		message := map[string]string{
			value: "Invalid value for '" + test.param + "': " + test.message, unknown: "Unrecognized request argument supplied: " + test.param,
			unsupported: "Unsupported parameter '" + test.param + "': " + test.message,
		}[test.code]
		want := `{"error":{"message":` + quote(message) + `,"type":"invalid_request_error","param":` + quote(test.param) + `,"code":` + quote(test.code) + "}}\n"
		if w := ask(h, "POST", "/v1/chat/completions", body); w.Code != http.StatusBadRequest || w.Body.String() != want {
			t.Errorf("%s: got %d %swant %s", body, w.Code, w.Body, want)
		}
	}
}

// TestRename: errors of backends have the names of the client's keys, and the index of a
// tool in the client's list.
func TestRename(t *testing.T) {
	const tools = `"tools":[` + weather + `,` + clock + `,` + spell + `]`
	const spelling = tools + `,"tool_choice":{"type":"function","function":{"name":"spell"}}`
	for _, test := range []struct{ body, param, want string }{
		{`"response_format":{"type":"json_object"}`, "schema", "response_format"},
		{tools, "tools", "tools"},
		{tools, "tools[1]", "tools[1].function"},
		{tools, "tools[1].parameters", "tools[1].function.parameters"},
		{tools, "tools[3].parameters", "tools"},
		{spelling, "tools[0].name", "tools[2].function.name"},
		{spelling, "must_call", "tool_choice"},
		{tools, "one_call", "parallel_tool_calls"},
		{tools, "max_new_tokens", "max_tokens"},
		{tools, "messages[0]", "messages[0]"},
	} {
		for _, stream := range []string{"false", "true"} {
			e := &llm.Error{Code: llm.Invalid, Param: test.param, Message: "/a: pattern: not so"}
			w := ask(muxOf(Routes(Config{Models: only(failing("", fmt.Errorf("x: %w", e)))})...), "POST", "/v1/chat/completions", `{`+hi+`,"stream":`+stream+`,`+test.body+`}`)
			want := `{"error":{"message":"Invalid value for '` + test.want + `': /a: pattern: not so","type":"invalid_request_error","param":"` + test.want + `","code":"invalid_value"}}`
			if w.Code != 400 || strings.TrimSpace(w.Body.String()) != want {
				t.Errorf("%s %s: got %d %s", test.body, test.param, w.Code, w.Body)
			}
		}
	}
}

// TestOneAnswer: the pieces of a stream make the answer that is not one.
func TestOneAnswer(t *testing.T) {
	h := testHandler()
	for _, model := range []string{"novels-5hr", "typed", "typed-length", "caller", "caller-length", "talker"} {
		body := `{"model":"` + model + `",` + hi + `,"tools":[` + clock + `]`
		var whole chatAnswer
		if err := json.Unmarshal(ask(h, "POST", "/v1/chat/completions", body+`}`).Body.Bytes(), &whole); err != nil {
			t.Fatal(err)
		}
		var got chatChoice
		for line := range strings.SplitSeq(ask(h, "POST", "/v1/chat/completions", body+`,"stream":true}`).Body.String(), "\n") {
			var event chatChunk
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &event) != nil {
				continue
			}
			add(&got, event.Choices[0])
		}
		want := whole.Choices[0]
		for i, c := range want.Message.ToolCalls {
			if c.ID != got.Message.ToolCalls[i].ID && !(callID.MatchString(c.ID) && callID.MatchString(got.Message.ToolCalls[i].ID)) {
				t.Errorf("%s: call %d has the id %q, in the stream %q", model, i, c.ID, got.Message.ToolCalls[i].ID)
			}
			want.Message.ToolCalls[i].ID, got.Message.ToolCalls[i].ID = "", ""
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: streamed %+v, whole %+v", model, got, want)
		}
	}
}

// add puts an event into a choice as SDKs do.
func add(choice *chatChoice, event chunkChoice) {
	m := &choice.Message
	m.Role += event.Delta.Role
	if event.Delta.Content != nil {
		if m.Content == nil {
			m.Content = new("")
		}
		*m.Content += text(event.Delta)
	}
	for _, piece := range event.Delta.ToolCalls {
		if *piece.Index == len(m.ToolCalls) {
			m.ToolCalls = append(m.ToolCalls, callMessage{})
		}
		c := &m.ToolCalls[*piece.Index]
		c.ID, c.Type, c.Function.Name = c.ID+piece.ID, c.Type+piece.Type, c.Function.Name+piece.Function.Name
		c.Function.Arguments += piece.Function.Arguments
	}
	if event.FinishReason != nil {
		choice.FinishReason, choice.Guarantee = *event.FinishReason, event.Guarantee
	}
}

// text returns the text of a decoded delta, "" for null.
func text(d delta) string {
	if d.Content == nil {
		return ""
	}
	return **d.Content
}

// TestFinish: a row that ends with calls has the reason tool_calls.
func TestFinish(t *testing.T) {
	for why, want := range map[llm.Finish][2]string{
		llm.FinishEOS: {"stop", "tool_calls"}, llm.FinishStop: {"stop", "tool_calls"}, llm.FinishContext: {"length", "length"},
		llm.FinishLength: {"length", "length"}, llm.FinishDeadline: {"length", "length"}, llm.FinishFiltered: {"content_filter", "content_filter"},
	} {
		if got := [2]string{finishReason(why, false), finishReason(why, true)}; got != want {
			t.Errorf("%s: %v", why, got)
		}
	}
}

// TestAlphaLimits: the limits of Alpha's server apply only to the models that it serves.
func TestAlphaLimits(t *testing.T) {
	for _, test := range []struct {
		run    *llm.Run
		sent   string
		want   llm.Params
		reason string // of a full context
	}{
		{nil, ``, llm.Params{Temperature: new(0.7)}, "length"},
		{nil, `"max_tokens":100000,`, llm.Params{Temperature: new(0.7), MaxTokens: new(100000)}, "length"},
		{new(llm.Run), ``, llm.Params{Temperature: new(0.7), MaxTokens: new(2048), TopK: new(40)}, "stop"},
		{new(llm.Run), `"max_tokens":100000,`, llm.Params{Temperature: new(0.7), MaxTokens: new(2048), TopK: new(40)}, "stop"},
		{new(llm.Run), `"max_tokens":7,"top_k":0,`, llm.Params{Temperature: new(0.7), MaxTokens: new(7), TopK: new(0)}, "stop"},
	} {
		asked := &listener{chunks: ended(llm.FinishContext)}
		models := only(asked)
		models[0].Run = test.run
		for _, stream := range []string{"", `"stream":true,`} {
			w := ask(muxOf(Routes(Config{Models: models})...), "POST", "/v1/chat/completions", `{`+test.sent+stream+hi+`}`)
			if !reflect.DeepEqual(asked.got, test.want) || !strings.Contains(w.Body.String(), `"finish_reason":"`+test.reason+`"`) {
				t.Errorf("%s of a model with run %v: asked for %+v, answered %s", test.sent, test.run, asked.got, w.Body)
			}
		}
	}
}

// listener keeps what it was asked for.
type listener struct {
	chunks
	got llm.Params
}

func (l *listener) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	l.got = req.Effective()
	return l.chunks.Generate(ctx, req)
}

// TestNoGuarantee: a row that may break its schema has no guarantee, and neither has the answer.
func TestNoGuarantee(t *testing.T) {
	late := held(llm.FinishDeadline, llm.Chunk{Text: `{"a"`})
	late.list[1].Guarantee = llm.Unchecked
	h := muxOf(Routes(Config{Models: only(late)})...)
	w := ask(h, "POST", "/v1/chat/completions", `{`+hi+`,"response_format":{"type":"json_object"}}`)
	if w.Code != 200 || strings.Contains(w.Body.String(), "guarantee") || w.Header().Get("X-Glossa-Guarantee") != "" || !strings.Contains(w.Body.String(), `"finish_reason":"length"`) {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

// TestRenameKeeps: errors that are not of llm stay as they are.
func TestRenameKeeps(t *testing.T) {
	cause := errors.New("x")
	if err := new(chatRequest).renameTool(cause); err != cause { //nolint:errorlint // the very value
		t.Error(err)
	}
}
