package responses

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// TestBadInput: each error names the key at fault. A body without input gets one.
func TestBadInput(t *testing.T) {
	const value, unknown, unsupported = "invalid_value", "unknown_parameter", "unsupported_parameter"
	call := `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	for _, test := range []struct{ body, param, code, has string }{
		{`"input":null`, "input", value, "is required"},
		{`"input":[]`, "input", value, "at least one item"},
		{`"input":5`, "input", value, "must be a string"},
		{`"input":["x"]`, "input[0]", value, "must be an object"},
		{`"input":[{"content":"x"}]`, "input[0].role", value, "is required"},
		{`"input":[{"role":"king","content":"x"}]`, "input[0].role", value, "king"},
		{`"input":[{"role":"user"}]`, "input[0].content", value, "is required"},
		{`"input":[{"role":"user","content":"x","name":"y"}]`, "input[0].name", value, "is not allowed"},
		{`"input":[{"role":"user","content":"x","nam":"y"}]`, "input[0].nam", unknown, ""},
		{`"input":[{"role":"user","content":[]}]`, "input[0].content", value, "at least one part"},
		{`"input":[{"role":"user","content":[{"type":"input_audio","data":""}]}]`, "input[0].content[0]", unsupported, "input_audio"},
		{`"input":[{"role":"user","content":[{"type":"input_text"}]}]`, "input[0].content[0].text", value, "is required"},
		{`"input":[{"role":"user","content":[{"type":"output_text","text":"x"}]}]`, "input[0].content[0].type", value, "must be input_text or input_image"},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]`, "input[0].content[0].image_url", value, "does not fetch"},
		{`"input":[{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}]`, "input[0].content[0].file_id", unsupported, "stored files are those of batches"},
		{`"input":[{"type":"item_reference","id":"msg_1"}]`, "input[0]", "item_not_found", "msg_1"},
		{`"input":[{"type":"item_reference"}]`, "input[0].id", value, "is required"},
		{`"input":[{"type":"item_reference","id":"msg_1","role":"user"}]`, "input[0].role", value, "is not allowed"},
		{`"input":[{"type":"web_search_call","id":"ws_1"}]`, "input[0]", unsupported, "web_search_call"},
		{`"input":[{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}]`, "input[0].encrypted_content", unsupported, "other servers"},
		{`"input":[{"type":"reasoning","summary":[{"type":"output_text","text":"x"}]}]`, "input[0].summary[0]", value, "summary_text"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"[]"}]`, "input[0].arguments", value, "JSON object"},
		{`"input":[` + call + `,` + call + `]`, "input[1].call_id", value, "same id"},
		{`"input":[{"type":"function_call_output","call_id":"c","output":"x"}]`, "input[0].call_id", value, "not the id of an earlier call"},
		{`"input":[{"type":"function_call_output","output":"x"}]`, "input[0].call_id", value, "without a name"},
		{`"input":[{"type":"function_call_output","name":"","output":"x"}]`, "input[0].name", value, "must not be empty"},
		{`"input":[{"type":"custom_tool_call_output","output":"x"}]`, "input[0].call_id", value, "is required"},
		{`"input":[` + call + `,{"type":"custom_tool_call_output","call_id":"c","output":"x"}]`, "input[1].type", value, "function_call_output"},
		{`"input":[` + call + `,{"type":"function_call_output","call_id":"c","output":"x"},{"type":"function_call_output","call_id":"c","output":"x"}]`, "input[2].call_id", value, "already"},
		{`"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"p"}}]`, "input[0].caller", unsupported, "only the model"},
		{`"tools":[{"type":"web_search"}]`, "tools[0].type", unsupported, "web_search"},
		{`"tools":[{"type":"function","name":"a b"}]`, "tools[0].name", value, ""},
		{`"tools":[{"type":"function","name":"f"},{"type":"custom","name":"f"}]`, "tools[1].name", value, "another tool"},
		{`"tools":[{"type":"function","name":"f","parameters":[]}]`, "tools[0].parameters", value, "must be an object"},
		{`"tools":[{"type":"function","name":"f","format":{"type":"text"}}]`, "tools[0].format", value, "only allowed in a custom tool"},
		{`"tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"lark","definition":"x"}}]`, "tools[0].format.syntax", unsupported, "Lark"},
		{`"tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"regex"}}]`, "tools[0].format.definition", value, "is required"},
		{`"tools":[{"type":"custom","name":"f","format":{"type":"grammar","definition":"x"}}]`, "tools[0].format.syntax", value, "is required"},
		{`"tools":[{"type":"custom","name":"f","format":{"type":"text","definition":"x"}}]`, "tools[0].format.definition", value, "only allowed"},
		{`"tool_choice":"required"`, "tool_choice", value, "no tools"},
		{`"tool_choice":"any"`, "tool_choice", value, "any"},
		{`"tool_choice":{"type":"web_search_preview"}`, "tool_choice.type", unsupported, "web_search_preview"},
		{`"tool_choice":{"type":"function","name":"f"}`, "tool_choice.name", value, "not one of the tools"},
		{`"tool_choice":{"type":"function"}`, "tool_choice.name", value, "is required"},
		{`"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"f"}]}`, "tool_choice.mode", value, "is required"},
		{`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`, "tool_choice.tools[0].name", value, "not one of the tools"},
		{`"text":{"format":{"type":"json_schema","name":"n"}}`, "text.format.schema", value, "is required"},
		{`"text":{"format":{"type":"text","schema":{}}}`, "text.format.schema", value, "only accepted"},
		{`"text":{"verbosity":"low"}`, "text.verbosity", unsupported, "medium"},
		{`"reasoning":{"effort":"huge"}`, "reasoning.effort", value, ""},
		{`"reasoning":{"summary":"auto","generate_summary":"concise"}`, "reasoning.generate_summary", value, "contradicts"},
		{`"include":["file_search_call.results"]`, "include[0]", value, ""},
		{`"top_logprobs":21`, "top_logprobs", value, ""},
		{`"max_output_tokens":0`, "max_output_tokens", value, ""},
		{`"temperature":3`, "temperature", value, ""},
		{`"truncation":"middle"`, "truncation", value, ""},
		{`"previous_response_id":"resp_1"`, "previous_response_id", unsupported, "does not store"},
		{`"background":true`, "background", unsupported, ""},
		{`"conversation":"conv_1"`, "conversation", unsupported, ""},
		{`"stream":true,"stream_options":{"include_obfuscation":true}`, "stream_options.include_obfuscation", unsupported, ""},
		{`"stop":"x"`, "stop", unknown, ""},
	} {
		body := "{" + test.body + "}"
		if !strings.Contains(body, `"input":`) {
			body = "{" + hi + "," + test.body + "}"
		}
		w := ask(testHandler(), body)
		var got struct {
			Error struct{ Message, Param, Code string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if e := got.Error; w.Code != map[bool]int{true: 404, false: 400}[test.code == "item_not_found"] || e.Param != test.param || e.Code != test.code || !strings.Contains(e.Message, test.has) {
			t.Errorf("%s: got %d %+v", body, w.Code, e)
		}
	}
}

// TestRequest: keys become parameters of the model.
func TestRequest(t *testing.T) {
	tool := func(name string) llm.Tool {
		return llm.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
	}
	patch := llm.Tool{Name: "patch", Parameters: json.RawMessage(customSchema)}
	all := []llm.Tool{tool("weather"), patch, tool("time")}
	for _, test := range []struct {
		body     string
		want     llm.Params
		declared []llm.Tool
	}{
		{`"max_output_tokens":7,"temperature":0.5,"top_p":0.25,"truncation":"auto"`, llm.Params{MaxTokens: new(7), Temperature: new(0.5), TopP: new(0.25), Truncate: new(0)}, nil},
		{`"top_logprobs":3`, llm.Params{Logprobs: new(3)}, nil},
		{`"include":["message.output_text.logprobs","reasoning.encrypted_content"]`, llm.Params{Logprobs: new(0)}, nil},
		{`"prompt_cache_options":{"ttl":"30m"}`, llm.Params{}, nil},
		{`"client_metadata":{"x-codex-window-id":"w"}`, llm.Params{}, nil},
		{`"reasoning":{"effort":"none"}`, llm.Params{Thinking: new(false)}, nil},
		{`"reasoning":{"effort":"high","summary":"auto"}`, llm.Params{Effort: new("high")}, nil},
		{`"text":{"format":{"type":"json_object"},"verbosity":"medium"}`, llm.Params{Schema: json.RawMessage(`{"type":"object"}`)}, nil},
		{`"text":{"format":{"type":"json_schema","name":"n","schema":{"b":1, "a":2}}}`, llm.Params{Schema: json.RawMessage(`{"b":1, "a":2}`)}, nil},
		{allTools, llm.Params{Tools: all}, nil},
		{
			`"tools":[{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"regex","definition":"a|<\"\\d>"}}]`,
			llm.Params{Tools: []llm.Tool{{Name: "patch", Parameters: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string","pattern":"^(?:a|<\"\\d>)$"}},"required":["input"],"additionalProperties":false}`)}}}, nil,
		},
		{allTools + `,"tool_choice":"none"`, llm.Params{}, all},
		{allTools + `,"tool_choice":"required","parallel_tool_calls":false`, llm.Params{Tools: all, MustCall: new(true), OneCall: new(true)}, nil},
		{allTools + `,"tool_choice":{"type":"custom","name":"patch"}`, llm.Params{Tools: all[1:2], MustCall: new(true)}, all},
		{allTools + `,"tool_choice":{"type":"function","name":"time"}`, llm.Params{Tools: all[2:], MustCall: new(true)}, all},
		{allTools + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"time"},{"type":"function","name":"weather"}]}`, llm.Params{Tools: []llm.Tool{all[0], all[2]}, MustCall: new(true)}, all},
		{allTools + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"patch"}]}`, llm.Params{Tools: all[1:2]}, all},
	} {
		var in createRequest
		if err := createTable.Decode([]byte(`{`+hi+`,`+test.body+`}`), &in); err != nil {
			t.Fatalf("%s: %v", test.body, err)
		}
		g, err := in.request()
		if err != nil || !reflect.DeepEqual(g.Params, test.want) || !reflect.DeepEqual(g.Declared, test.declared) {
			t.Errorf("%s: got %+v %v %v", test.body, g.Params, g.Declared, err)
		}
	}
}

// TestMessages: items become the messages of a chat.
func TestMessages(t *testing.T) {
	const gif = `{"type":"input_image","image_url":"data:image/gif;base64,R0lGODlhAQABAAAAACw="}`
	const body = `{"instructions":"Be brief.","input":[
		{"role":"developer","content":[{"type":"input_text","text":"Hi."},` + gif + `]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"input_text","text":"b"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"r"}]},
		{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"c","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"d"}]},
		{"type":"function_call","id":"fc_1","call_id":"1","name":"f","arguments":"","created_by":null,"caller":null,"namespace":null},
		{"type":"custom_tool_call","call_id":"2","name":"g","input":"<\"\n","caller":{"type":"direct"}},
		{"type":"custom_tool_call_output","call_id":"2","output":[{"type":"input_text","text":"e"},{"type":"input_text","text":"f"},` + gif + `]},
		{"type":"function_call_output","call_id":"1","output":"h","created_by":"me","name":"f","caller":{ "type": "direct" }},
		{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},
		{"role":"assistant","content":"i"},
		{"role":"assistant","content":"j"}]}`
	var in createRequest
	if err := createTable.Decode([]byte(body), &in); err != nil {
		t.Fatal(err)
	}
	text := func(list ...string) (parts []llm.Part) {
		for _, s := range list {
			parts = append(parts, llm.Part{Text: s})
		}
		return parts
	}
	image := llm.Part{Image: &llm.Image{Type: "image/gif", Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00,")}}
	want := []llm.Message{
		{Role: "system", Parts: text("Be brief.")}, {Role: "system", Parts: append(text("Hi."), image)}, {Role: "user", Parts: text("a\n", "b")},
		{Role: "assistant", Reasoning: "r", Parts: text("c\n", "d"), Calls: []llm.Call{{ID: "1", Name: "f", Arguments: "{}"}, {Index: 1, ID: "2", Name: "g", Arguments: `{"input":"<\"\n"}`}}},
		{Role: "tool", CallID: "2", Parts: append(text("e\n", "f"), image)}, {Role: "tool", CallID: "1", Parts: text("h")},
		{Role: "assistant", Reasoning: "s", Parts: text("i")}, {Role: "assistant", Parts: text("j")},
	}
	if got, err := in.messages(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v %v", got, err)
	}
	for arguments, want := range map[string]string{`{"input":"x"}`: "x", `{"other":1}`: `{"other":1}`, `{`: `{`} {
		if got := customInput(arguments); got != want {
			t.Errorf("%s: got %s", arguments, got)
		}
	}
}

// TestDifferences lists where this dialect departs from OpenAI's, each with the reason and a
// request that shows it.
func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		theirs, reason, body string
		status               int
		has                  string
	}{
		{"store true is always honoured", "an operator may turn it off, and the answer says so", `{"store":true,` + hi + `}`, 200, `"store":false`},
		{"responses run in the background", "a function runs only while it answers", `{"background":true,` + hi + `}`, 400, `"param":"background"`},
		{"hosted tools run", "they run at OpenAI", `{"tools":[{"type":"web_search"}],` + hi + `}`, 400, `"param":"tools[0].type"`},
		{"a summary is shorter than the reasoning", "no model writes one: it is the reasoning itself", `{"model":"everything","reasoning":{"summary":"concise"},` + hi + `}`, 200, `"summary":[{"type":"summary_text","text":"Two places."}]`},
		{"reasoning can be encrypted", "it is sent in clear", `{"model":"everything","include":["reasoning.encrypted_content"],` + hi + `}`, 200, `"content":[{"type":"reasoning_text"`},
		{"an answer says nothing of its guarantee", "clients can trust an enforced one without a check", `{"text":{"format":{"type":"json_object"}},` + hi + `}`, 200, `"guarantee":"enforced"`},
		{"the model is required", "the default is the first model", `{` + hi + `}`, 200, `"model":"everything"`},
		{"a full context is an error", "the answer ends there, as by a limit", `{"model":"length",` + hi + `}`, 200, `"reason":"max_output_tokens"`},
	} {
		if w := ask(testHandler(), test.body); w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("theirs: %s; here otherwise: %s. Got %d %s", test.theirs, test.reason, w.Code, w.Body)
		}
	}
}
