package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// chunks is a backend that plays chunks back, and then an error if there is one.
type chunks struct {
	list []llm.Chunk
	err  error
	seen **llm.Request
}

func (c chunks) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if c.seen != nil {
			*c.seen = req
		}
		for _, chunk := range c.list {
			if !yield(chunk, nil) {
				return
			}
		}
		if c.err != nil {
			yield(llm.Chunk{}, c.err)
		}
	}
}

// Render and Tokenize make one token of each message and of each part.
func (chunks) Render(_ context.Context, p llm.Prompt, _ *llm.Params, _ bool) (parts []llm.Part, start bool, err error) {
	for _, m := range p.Messages {
		parts = append(parts, llm.Part{Text: m.Role, Special: true})
		parts = append(parts, m.Parts...)
	}
	return parts, false, nil
}

func (chunks) Tokenize(_ context.Context, parts []llm.Part, _ bool) ([]llm.Token, error) {
	return make([]llm.Token, len(parts)), nil
}

func (chunks) Detokenize(context.Context, []int) (string, error) { return "", nil }

// play returns a backend whose row ends for a reason.
func play(why llm.Finish, list ...llm.Chunk) chunks {
	end := llm.Chunk{Finish: why, Guarantee: llm.Enforced, Usage: &llm.Usage{Input: 2, Output: 5, Reasoning: 1}}
	return chunks{list: append(append([]llm.Chunk{}, list...), end)}
}

// everything thinks, speaks and calls two tools, the last of which has no id.
var everything = []llm.Chunk{
	{Reasoning: "Two "}, {Reasoning: "places."}, {Text: "€<"}, {Text: "b>"},
	{Calls: []llm.Call{{ID: "call_a", Name: "weather"}}}, {Calls: []llm.Call{{Arguments: `{"city":`}}},
	{Calls: []llm.Call{{Arguments: `"<Pau>"}`}, {Index: 1, Name: "time", Arguments: "{}"}}},
}

func models() llm.Fixed {
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local", InProcess: true}, Backend: b}
	}
	stopped := play(llm.FinishStop, llm.Chunk{Text: "Once"})
	stopped.list[1].Stop = "END"
	return llm.Fixed{
		model("everything", play(llm.FinishEOS, everything...)), model("stopped", stopped),
		model("unknown-stop", play(llm.FinishStop, llm.Chunk{Text: "Once"})),
		model("length", play(llm.FinishLength, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{}`}}})),
		model("cut", play(llm.FinishLength, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":"on`}}})),
		model("garbled", play(llm.FinishEOS, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":"on`}}})),
		model("full", play(llm.FinishContext)), model("filtered", play(llm.FinishFiltered)), model("late", play(llm.FinishDeadline)),
		model("after", play(llm.FinishEOS, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{}`}}}, llm.Chunk{Text: "Done."})),
		model("partial", chunks{list: []llm.Chunk{{Text: "hi"}, {Finish: llm.FinishEOS, Usage: &llm.Usage{Partial: true}}}}),
		model("breaks", chunks{list: []llm.Chunk{{Text: "Once"}}, err: llm.Errorf(llm.Upstream, "the model <x> failed")}),
		model("bug", chunks{list: []llm.Chunk{{Text: "Once"}}, err: fmt.Errorf("a secret of ours")}),
		model("reopens", chunks{list: []llm.Chunk{{Calls: []llm.Call{{Name: "time"}}}, {Calls: []llm.Call{{Index: 1, Arguments: "{}"}}}}}),
		model("too-long", chunks{err: llm.TooManyTokens("the prompt has", 300, 256)}),
		model("untold", chunks{err: &llm.Error{Code: llm.Unsupported, Param: "messages[1]", Message: "no"}}),
		model("picky", chunks{err: &llm.Error{Code: llm.Unsupported, Param: "tools[0].parameters", Message: "too deep"}}),
		model("busy", chunks{err: llm.Errorf(llm.Overloaded, "too many requests")}),
		model("down", chunks{err: llm.Errorf(llm.Unavailable, "try again")}),
	}
}

func handler() http.Handler {
	return (&httpx.Mux{Routes: Routes(Config{Models: models()}), Fallback: Errors}).Handler()
}

func post(path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	return w
}

func get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// send returns a request to a model, with more keys.
func send(model, more string) string {
	return `{"model":"` + model + `","max_tokens":9,"messages":[{"role":"user","content":"a"}]` + more + `}`
}

var ids = regexp.MustCompile(`(msg|toolu|req)_[0-9a-f]{24}`)

// An answer has its blocks in order and says why it ended.
func TestAnswers(t *testing.T) {
	const counted = `"usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"output_tokens_details":{"thinking_tokens":1},"service_tier":"standard"},"guarantee":"enforced"}`
	head := func(model string) string {
		return `{"id":"msg_ID","type":"message","role":"assistant","model":"` + model + `","content":[`
	}
	for _, c := range []struct{ model, more, want string }{
		{"everything", "", head("everything") + `{"type":"thinking","thinking":"Two places.","signature":"unsigned"},{"type":"text","text":"€<b>"},` +
			`{"type":"tool_use","id":"call_a","name":"weather","input":{"city":"<Pau>"}},{"type":"tool_use","id":"toolu_ID","name":"time","input":{}}],"stop_reason":"tool_use","stop_sequence":null,` + counted},
		{"everything", `,"thinking":{"type":"adaptive","display":"omitted"}`, head("everything") + `{"type":"thinking","thinking":"","signature":"unsigned"},{"type":"text","text":"€<b>"}`},
		{"stopped", "", `{"type":"text","text":"Once"}],"stop_reason":"stop_sequence","stop_sequence":"END",`},
		{"unknown-stop", "", `"stop_reason":"stop_sequence","stop_sequence":null,`},
		{"length", "", `"input":{}}],"stop_reason":"max_tokens",`},
		{"cut", "", `{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":"max_tokens",`},
		{"after", "", `{"type":"text","text":"Done."}],"stop_reason":"end_turn",`},
		{"full", "", head("full") + `{"type":"text","text":""}],"stop_reason":"model_context_window_exceeded",`},
		{"filtered", "", `"stop_reason":"refusal"`},
		{"late", "", `"stop_reason":"max_tokens"`},
		{"partial", "", `"usage":{"input_tokens":0,`},
	} {
		w := post("/v1/messages", send(c.model, c.more))
		if got := ids.ReplaceAllString(w.Body.String(), "${1}_ID"); w.Code != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s\nwant %s", c.model, w.Code, got, c.want)
		}
	}
}

// The events of a stream come in the order of the SDKs.
func TestStream(t *testing.T) {
	const want = `message_start {"message":{"id":"msg_ID","type":"message","role":"assistant","model":"everything","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"output_tokens_details":{"thinking_tokens":0},"service_tier":"standard"}}}
ping {}
content_block_start {"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
content_block_delta {"index":0,"delta":{"type":"thinking_delta","thinking":"Two "}}
content_block_delta {"index":0,"delta":{"type":"thinking_delta","thinking":"places."}}
content_block_delta {"index":0,"delta":{"type":"signature_delta","signature":"unsigned"}}
content_block_stop {"index":0}
content_block_start {"index":1,"content_block":{"type":"text","text":""}}
content_block_delta {"index":1,"delta":{"type":"text_delta","text":"€<"}}
content_block_delta {"index":1,"delta":{"type":"text_delta","text":"b>"}}
content_block_stop {"index":1}
content_block_start {"index":2,"content_block":{"type":"tool_use","id":"call_a","name":"weather","input":{}}}
content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}
content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":"\"<Pau>\"}"}}
content_block_stop {"index":2}
content_block_start {"index":3,"content_block":{"type":"tool_use","id":"toolu_ID","name":"time","input":{}}}
content_block_delta {"index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}
content_block_stop {"index":3}
message_delta {"delta":{"stop_reason":"tool_use","stop_sequence":null,"guarantee":"enforced"},"usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"output_tokens_details":{"thinking_tokens":1},"service_tier":"standard"}}
message_stop {}
`
	w := post("/v1/messages", send("everything", `,"stream":true`))
	var got strings.Builder
	for lines := bufio.NewScanner(strings.NewReader(ids.ReplaceAllString(w.Body.String(), "${1}_ID"))); lines.Scan(); {
		name, ok := strings.CutPrefix(lines.Text(), "event: ")
		if !ok {
			continue
		}
		lines.Scan()
		data := strings.TrimPrefix(lines.Text(), `data: {"type":"`+name+`"`)
		fmt.Fprintf(&got, "%s {%s\n", name, strings.TrimPrefix(data, ","))
	}
	if got.String() != want || w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("%v\n%s", w.Header(), got.String())
	}
}

// An error has Anthropic's shape, with the id of the request, as a status or as the last event.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		model, kind, message string
		status               int
	}{
		{"bug", "api_error", "internal error", 500},
		{"breaks", "api_error", "the model <x> failed", 502},
		{"reopens", "api_error", "the model continued a call that had ended", 502},
		{"garbled", "api_error", "the model called a tool with arguments that are not a JSON object", 502},
		{"too-long", "invalid_request_error", "prompt is too long: 300 tokens > 256 maximum", 400},
		{"untold", "invalid_request_error", "messages: no", 400},
		{"picky", "invalid_request_error", "tools[1].input_schema: too deep", 400},
		{"busy", "rate_limit_error", "too many requests", 429},
		{"down", "overloaded_error", "try again", 529},
		{"missing", "not_found_error", "model: missing", 404},
		{"Reopen", "not_found_error", "model: Reopen; did you mean reopens?", 404},
	} {
		tools := `,"tools":[{"name":"f","input_schema":{}},{"name":"g","input_schema":{}}],"tool_choice":{"type":"tool","name":"g"}`
		w := post("/v1/messages", send(c.model, tools))
		id := w.Header().Get("Request-Id")
		want := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":%q}`, c.kind, c.message, id)
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || id == "" || got != want {
			t.Errorf("%s: %d %s, want %d %s", c.model, w.Code, got, c.status, want)
		}
	}
	w := post("/v1/messages", send("breaks", `,"stream":true`))
	if got := w.Body.String(); w.Code != 200 || !strings.HasSuffix(got, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"the model <x> failed\"}}\n\n") {
		t.Error(got)
	}
}

// request returns the request that a body becomes.
func request(t *testing.T, body string) *llm.Request {
	t.Helper()
	var in messageRequest
	err := messageTable.Decode([]byte(body), &in)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	g, err := in.request()
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return g.Request
}

func text(role string, parts ...string) llm.Message {
	m := llm.Message{Role: role}
	for _, p := range parts {
		m.Parts = append(m.Parts, llm.Part{Text: p})
	}
	return m
}

// Messages become those of a chat.
func TestMessages(t *testing.T) {
	const use = `{"type":"tool_use","id":"1","name":"f","input":{"a":1}}`
	call := llm.Message{Role: "assistant", Parts: []llm.Part{{Text: "b"}}, Reasoning: "Hm", Calls: []llm.Call{{ID: "1", Name: "f", Arguments: `{"a":1}`}}}
	failed := text("tool", "no")
	failed.CallID, failed.Failed = "1", true
	empty := text("tool", "")
	empty.CallID = "1"
	plain := llm.Message{Role: "assistant", Calls: call.Calls}
	for body, want := range map[string][]llm.Message{
		`"system":"s","messages":[{"role":"user","content":"a"}]`:                                                                        {text("system", "s"), text("user", "a")},
		`"system":[{"type":"text","text":"s"},{"type":"text","text":"t","cache_control":{}}],"messages":[{"role":"user","content":"a"}]`: {text("system", "s\n", "t"), text("user", "a")},
		`"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"}]}]`:                              {text("user", "a\n", "b")},
		`"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"b"}]`:                       {text("user", "a"), text("system", "s"), text("user", "b")},
		`"system":"","messages":[{"role":"user","content":""},{"role":"user","content":"a"}]`:                                            {text("user", "a")},
		`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"AAA="},{"type":"thinking","thinking":"Hm","signature":"x"},{"type":"text","text":"b"},` + use + `]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"text","text":"c"}]}]`: {text("user", "a"), call, failed, text("user", "c")},
		`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[` + use + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]`: {text("user", "a"), plain, empty},
	} {
		got := request(t, `{"model":"m","max_tokens":5,`+body+`}`)
		if !reflect.DeepEqual(got.Prompts[0].Messages, want) || got.Continue != nil {
			t.Errorf("%s:\n%+v, want\n%+v", body, got.Prompts[0].Messages, want)
		}
	}
	got := request(t, `{"max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"assistant","content":"c"}]}`)
	if want := []llm.Message{text("user", "a"), text("assistant", "b\n", "c")}; !reflect.DeepEqual(got.Prompts[0].Messages, want) || got.Continue == nil {
		t.Errorf("%+v", got.Prompts[0].Messages)
	}
	image := request(t, `{"max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlhAQABAAAAACw="}}]}]}`)
	if parts := image.Prompts[0].Messages[0].Parts; len(parts) != 1 || parts[0].Image == nil || parts[0].Image.Type != "image/gif" {
		t.Errorf("%+v", parts)
	}
}

// Results have images, too.
func TestImagesOfResults(t *testing.T) {
	const gif = `{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlhAQABAAAAACw="}}`
	got := request(t, `{"max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"b"},`+gif+`,{"type":"text","text":"c"}]}]}]}`)
	if m := got.Prompts[0].Messages[2]; m.CallID != "1" || len(m.Parts) != 3 || m.Parts[0].Text != "b" || m.Parts[1].Image == nil || m.Parts[2].Text != "c" {
		t.Errorf("%+v", m)
	}
}

// A call has one result.
func TestTwoResults(t *testing.T) {
	const result = `{"type":"tool_result","tool_use_id":"1"}`
	w := post("/v1/messages", `{"max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[`+result+`,`+result+`]}]}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "messages[2].content[1].tool_use_id") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Parameters become those of a generation.
func TestParameters(t *testing.T) {
	const tools = `,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}},{"name":"g","type":"custom","input_schema":{}}]`
	f, g := llm.Tool{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}, llm.Tool{Name: "g", Parameters: json.RawMessage(`{}`)}
	for more, want := range map[string]struct {
		params   llm.Params
		declared []llm.Tool
	}{
		``: {},
		`,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`: {},
		`,"temperature":0.5,"top_p":0.9,"top_k":3,"stop_sequences":["x"]`:                   {params: llm.Params{Temperature: new(0.5), TopP: new(0.9), TopK: new(3), Stop: []string{"x"}}},
		`,"top_p":0`: {params: llm.Params{TopP: new(1e-30)}}, // 0 itself would be "off"
		`,"thinking":{"type":"enabled","budget_tokens":4}`:                              {params: llm.Params{Thinking: new(true), MaxThinking: new(4)}},
		`,"thinking":{"type":"disabled"}`:                                               {params: llm.Params{Thinking: new(false)}},
		`,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`:              {params: llm.Params{Effort: new("low")}},
		`,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`: {params: llm.Params{Schema: json.RawMessage(`{"type":"object"}`)}},
		`,"output_format":{"type":"json_schema","schema":{"type":"array"}}`:             {params: llm.Params{Schema: json.RawMessage(`{"type":"array"}`)}},
		tools:                                   {params: llm.Params{Tools: []llm.Tool{f, g}}},
		tools + `,"tool_choice":{"type":"any"}`: {params: llm.Params{Tools: []llm.Tool{f, g}, MustCall: new(true)}},
		tools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`: {params: llm.Params{Tools: []llm.Tool{f, g}, OneCall: new(true)}},
		tools + `,"tool_choice":{"type":"none"}`:                                  {declared: []llm.Tool{f, g}},
		tools + `,"tool_choice":{"type":"tool","name":"g"}`:                       {params: llm.Params{Tools: []llm.Tool{g}, MustCall: new(true)}, declared: []llm.Tool{f, g}},
	} {
		got := request(t, send("m", more))
		want.params.MaxTokens = new(9)
		if !reflect.DeepEqual(got.Params, want.params) || !reflect.DeepEqual(got.Declared, want.declared) {
			t.Errorf("%s:\n%+v %+v, want\n%+v %+v", more, got.Params, got.Declared, want.params, want.declared)
		}
	}
}

// What counts as the prompt is what a request would count.
func TestCountTokens(t *testing.T) {
	w := post("/v1/messages/count_tokens", `{"model":"everything","system":"s","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"tools":[{"name":"f","input_schema":{}}]}`)
	if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != `{"input_tokens":5}` {
		t.Errorf("%d %s", w.Code, got)
	}
}

// Models are described in Anthropic's shape.
func TestModels(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/models":         `{"data":[{"type":"model","id":"everything","display_name":"everything","created_at":"1970-01-01T00:00:00Z","max_input_tokens":null,"max_tokens":null,"lifecycle":"active"},`,
		"/v1/models/stopped": `{"type":"model","id":"stopped",`,
		"/v1/models/nowhere": `{"type":"error","error":{"type":"not_found_error","message":"model: nowhere"}`,
	} {
		w := get(path)
		if got := w.Body.String(); !strings.HasPrefix(got, want) || path == "/v1/models" && !strings.Contains(got, `"has_more":false,"first_id":"everything","last_id":"down"}`) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// A page of models continues after or before one of them.
func TestModelPages(t *testing.T) {
	var names []string
	for _, m := range models() {
		names = append(names, m.Name)
	}
	n := len(names)
	for query, want := range map[string]struct {
		ids  []string
		more bool
	}{
		"":                                {names, false},
		"?limit=2":                        {names[:2], true},
		"?after_id=" + names[0]:           {names[1:], false},
		"?limit=2&after_id=" + names[n-4]: {names[n-3 : n-1], true},
		"?limit=2&after_id=" + names[n-3]: {names[n-2:], false},
		"?after_id=" + names[n-1]:         {nil, false},
		"?limit=2&before_id=" + names[3]:  {names[1:3], true},
		"?limit=3&before_id=" + names[3]:  {names[:3], false},
		"?before_id=" + names[0]:          {nil, false},
	} {
		var list modelList
		w := get("/v1/models" + query)
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
			t.Fatalf("%s: %v, %d %s", query, err, w.Code, w.Body)
		}
		var ids []string
		for _, m := range list.Data {
			ids = append(ids, m.ID)
		}
		if !reflect.DeepEqual(ids, want.ids) || list.HasMore != want.more || (list.FirstID == nil) != (ids == nil) || ids != nil && (*list.FirstID != ids[0] || *list.LastID != ids[len(ids)-1]) {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
	for query, want := range map[string]string{
		"?limit=0":                "limit: must be between 1 and 1000",
		"?after_id=x":             `after_id: \"x\" is not the id of a model`,
		"?before_id=x":            `before_id: \"x\" is not the id of a model`,
		"?before_id=x&after_id=y": "before_id: cannot be combined with after_id",
		"?page=2":                 "page: Extra inputs are not permitted",
	} {
		if w := get("/v1/models" + query); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
