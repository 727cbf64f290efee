package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// chunks is a backend that plays chunks back, and then an error if there is one. It embeds too.
type chunks struct {
	list []llm.Chunk
	err  error
	rude bool // texts cannot be cut
}

func (c chunks) Generate(_ context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
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

func (c chunks) Embed(_ context.Context, req *llm.EmbedRequest) (out []llm.Embedding, _ llm.Usage, _ error) {
	if len(req.Prompts) == 0 {
		return nil, llm.Usage{}, llm.Errorf(llm.Invalid, "no text")
	}
	if c.rude && req.Truncate {
		return nil, llm.Usage{}, &llm.Error{Code: llm.Unsupported, Param: "truncate", Message: "cannot cut"}
	}
	if c.err != nil {
		return nil, llm.Usage{}, c.err
	}
	for range req.Prompts {
		v := []float32{3, 4, 0}
		if req.Dimensions > 0 {
			v = v[:req.Dimensions]
		}
		out = append(out, llm.Embedding{Layers: []llm.Layer{{Vectors: [][]float32{v}}}})
	}
	return out, llm.Usage{Input: 2 * len(out)}, nil
}

func play(why llm.Finish, list ...llm.Chunk) chunks {
	return chunks{list: append(append([]llm.Chunk{}, list...), llm.Chunk{Finish: why, Guarantee: llm.Enforced, Usage: &llm.Usage{Input: 2, Output: 5}})}
}

// handler serves models by a clock that goes on by a millisecond whenever it is read.
func handler() http.Handler {
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local", Type: "Qwen3", InProcess: true, Context: 64, Size: 9, Parameters: 1_250_000}, Backend: b}
	}
	encoder := model("encoder", chunks{})
	encoder.Task, encoder.Created = llm.TaskEmbed, time.Unix(60, 0)
	remote := model("remote", chunks{rude: true})
	remote.InProcess = false
	now := time.Unix(0, 0).UTC()
	return (&httpx.Mux{Fallback: Errors, Routes: Routes(Config{
		Models: llm.Fixed{
			model("says", play(llm.FinishLength, llm.Chunk{Reasoning: "Hm"}, llm.Chunk{Text: "On"}, llm.Chunk{}, llm.Chunk{Text: "ce"})),
			model("calls", play(llm.FinishEOS, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":`}}},
				llm.Chunk{Calls: []llm.Call{{Arguments: `"<1>"}`}, {Index: 1, ID: "b", Name: "g"}}})),
			model("cut", play(llm.FinishLength, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":"on`}}})),
			model("garbled", play(llm.FinishEOS, llm.Chunk{Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":"on`}}})),
			model("breaks", chunks{list: []llm.Chunk{{Text: "On"}}, err: llm.Errorf(llm.Upstream, "the model failed")}),
			model("picky", chunks{err: &llm.Error{Code: llm.Unsupported, Param: "tools[0].parameters", Message: "too deep"}}),
			model("ends", chunks{list: []llm.Chunk{{Text: "On"}, {Text: "ce", Finish: llm.FinishStop, Usage: &llm.Usage{Input: 2, Output: 5}, Guarantee: llm.Enforced}}}),
			model("late", play(llm.FinishDeadline, llm.Chunk{Text: "On"})),
			model("limits", chunks{err: &llm.Error{Code: llm.Invalid, Param: "max_new_tokens", Message: "too few"}}),
			model("warm", chunks{err: &llm.Error{Code: llm.Invalid, Param: "temperature", Message: "too warm"}}),
			model("dull", chunks{err: &llm.Error{Code: llm.Unsupported, Param: "reasoning_effort", Message: "does not think"}}),
			model("short", chunks{err: &llm.Error{Code: llm.TooLong, Param: "prompt[1]", Message: "the prompt has 9 tokens"}}),
			model("bug", chunks{err: errors.New("a secret of ours")}), encoder, remote,
		},
		Now:  func() time.Time { now = now.Add(time.Millisecond); return now },
		Held: func() map[string]time.Time { return map[string]time.Time{"encoder": {}} },
	})}).Handler()
}

func ask(method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	var reader *strings.Reader
	if reader = strings.NewReader(body); method == "GET" {
		reader = strings.NewReader("")
	}
	handler().ServeHTTP(w, httptest.NewRequest(method, path, reader))
	return w
}

// Answers are lines unless stream is false; the last one has the counts and the durations.
func TestAnswers(t *testing.T) {
	const times = `"total_duration":%,"load_duration":1000000,"prompt_eval_count":2,"prompt_eval_duration":%,"eval_count":5,"eval_duration":%,"guarantee":"enforced"}`
	for _, c := range []struct{ path, body, want string }{
		{"/api/chat", `{"model":"says","messages":[{"role":"user","content":"a"}]}`,
			`{"model":"says","created_at":T,"message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}
{"model":"says","created_at":T,"message":{"role":"assistant","content":"On"},"done":false}
{"model":"says","created_at":T,"message":{"role":"assistant","content":"ce"},"done":false}
{"model":"says","created_at":T,"message":{"role":"assistant","content":""},"done":true,"done_reason":"length",` + times},
		{"/api/chat", `{"model":"says:latest","messages":[{"role":"user","content":"a"}],"stream":false}`,
			`{"model":"says","created_at":T,"message":{"role":"assistant","content":"Once","thinking":"Hm"},"done":true,"done_reason":"length",` + times},
		{"/api/generate", `{"model":"says","prompt":"a"}`,
			`{"model":"says","created_at":T,"response":"","thinking":"Hm","done":false}
{"model":"says","created_at":T,"response":"On","done":false}
{"model":"says","created_at":T,"response":"ce","done":false}
{"model":"says","created_at":T,"response":"","done":true,"done_reason":"length",` + times},
		{"/api/generate", `{"model":"says","prompt":"a","stream":false,"raw":true}`,
			`{"model":"says","created_at":T,"response":"Once","thinking":"Hm","done":true,"done_reason":"length",` + times},
		{"/api/chat", `{"model":"calls","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
			`{"model":"calls","created_at":T,"message":{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{"x":"<1>"}}}]},"done":false}
{"model":"calls","created_at":T,"message":{"role":"assistant","content":"","tool_calls":[{"id":"b","function":{"index":1,"name":"g","arguments":{}}}]},"done":false}
{"model":"calls","created_at":T,"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",` + times},
		{"/api/chat", `{"model":"calls","messages":[{"role":"user","content":"a"}],"stream":false}`,
			`"tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{"x":"<1>"}}},{"id":"b","function":{"index":1,"name":"g","arguments":{}}}]},"done":true,"done_reason":"stop",`},
		{"/api/chat", `{"model":"cut","messages":[{"role":"user","content":"a"}]}`, `"tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{}}}]},"done":false}
{"model":"cut","created_at":T,"message":{"role":"assistant","content":""},"done":true,"done_reason":"length",` + times},
		{"/api/chat", `{"model":"cut","messages":[{"role":"user","content":"a"}],"stream":false}`,
			`"tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{}}}]},"done":true,"done_reason":"length",`},
		{"/api/generate", `{"model":"calls","prompt":"a"}`, `{"model":"calls","created_at":T,"response":"","done":true,"done_reason":"stop",` + times},
		{"/api/generate", `{"model":"ends","prompt":"a"}`,
			`{"model":"ends","created_at":T,"response":"On","done":false}
{"model":"ends","created_at":T,"response":"ce","done":false}
{"model":"ends","created_at":T,"response":"","done":true,"done_reason":"stop",` + times},
		{"/api/generate", `{"model":"ends","prompt":"a","stream":false}`, `{"model":"ends","created_at":T,"response":"Once","done":true,"done_reason":"stop",` + times},
		{"/api/chat", `{"model":"says","messages":[],"keep_alive":0}`, `{"model":"says","created_at":T,"message":{"role":"assistant","content":""},"done":true,"done_reason":"unload"}`},
		{"/api/chat", `{"model":"says","messages":[],"keep_alive":"5m"}`, `"done":true,"done_reason":"load"}`},
		{"/api/generate", `{"model":"says","keep_alive":"0s"}`, `{"model":"says","created_at":T,"response":"","done":true,"done_reason":"unload"}`},
		{"/api/generate", `{"model":"local/says:latest","keep_alive":-1}`, `"done":true,"done_reason":"load"}`},
		{"/api/generate", `{"model":"says","keep_alive":null}`, `"done":true,"done_reason":"load"}`},
		{"/api/generate", `{"model":"says","prompt":"a","keep_alive":0,"stream":false}`, `"done_reason":"length",`},
		{"/api/generate", `{"model":"says"}`, `{"model":"says","created_at":T,"response":"","done":true,"done_reason":"load"}`},
		{"/api/chat", `{"model":"breaks","messages":[{"role":"user","content":"a"}]}`, `"content":"On"},"done":false}` + "\n" + `{"error":"the model failed"}`},
		{"/api/embed", `{"model":"encoder","input":["a","b"],"dimensions":2}`, `{"model":"encoder","embeddings":[[0.6,0.8],[0.6,0.8]],"total_duration":2000000,"load_duration":1000000,"prompt_eval_count":4}`},
		{"/api/embed", `{"model":"remote","input":"a"}`, `"embeddings":[[0.6,0.8,0]]`},
		{"/api/embeddings", `{"model":"remote","prompt":"a"}`, `{"embedding":[3,4,0]}`},
		{"/api/embed", `{"model":"encoder","input":[]}`, `{"model":"encoder","embeddings":[],`},
		{"/api/embeddings", `{"model":"remote","prompt":""}`, `{"embedding":[]}`},
		{"/api/embeddings", `{"model":"remote"}`, `{"embedding":[]}`},
		{"/api/show", `{"model":"encoder:latest"}`, `{"details":{"parent_model":"","format":"","family":"qwen3","families":["qwen3"],"parameter_size":"1.2M","quantization_level":""},"model_info":{"general.architecture":"qwen3","general.parameter_count":1250000,"qwen3.context_length":64},"capabilities":["embedding"],"modified_at":"1970-01-01T00:01:00Z","parameters":"","template":""}`},
		{"/api/show", `{"name":"says"}`, `"capabilities":["completion","tools"]`},
	} {
		w := ask("POST", c.path, c.body)
		if got := plain(w.Body.String()); w.Code != 200 || !strings.Contains(got, strings.TrimSpace(plain(c.want))) {
			t.Errorf("%s %s: %d\n%s\nwant\n%s", c.path, c.body, w.Code, got, c.want)
		}
		if want := "application/x-ndjson"; strings.Contains(c.want, "\n") && w.Header().Get("Content-Type") != want {
			t.Errorf("%s: %v", c.body, w.Header())
		}
	}
}

// A deadline ends an answer that is not streamed; nothing is written to a client that has gone.
func TestEndedContext(t *testing.T) {
	late, cancelLate := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancelLate()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ctx := range map[string]context.Context{`"content":"On"},"done":true,"done_reason":"length",`: late, ``: gone} {
		w := httptest.NewRecorder()
		handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/api/chat", strings.NewReader(`{"model":"late","messages":[{"role":"user","content":"a"}],"stream":false}`)))
		if got := w.Body.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "On") {
			t.Errorf("%d %s, want %s", w.Code, got, want)
		}
	}
}

// plain leaves out moments, and durations that depend on the number of lines.
func plain(s string) string {
	var out strings.Builder
	for _, line := range strings.SplitAfter(s, "\n") {
		for _, key := range []string{`"created_at":`, `"total_duration":`, `"prompt_eval_duration":`, `"eval_duration":`} {
			from := 0
			for {
				at := strings.Index(line[from:], key)
				if at < 0 || strings.HasPrefix(key, `"total`) && strings.Contains(line, "embeddings") {
					break
				}
				begin := from + at + len(key)
				end := begin + strings.IndexAny(line[begin:], ",}")
				line = line[:begin] + "T" + line[end:]
				from = begin
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// Models are listed with their tag, those in memory apart.
func TestLists(t *testing.T) {
	tags := ask("GET", "/api/tags", "").Body.String()
	if !strings.HasPrefix(tags, `{"models":[{"name":"says:latest","model":"says:latest","modified_at":"1970-01-01T00:00:00Z","size":9,"digest":"`) || strings.Count(tags, `"digest"`) != 15 {
		t.Error(tags)
	}
	var list running
	if err := json.Unmarshal(ask("GET", "/api/ps", "").Body.Bytes(), &list); err != nil || len(list.Models) != 1 || list.Models[0].Name != "encoder:latest" || list.Models[0].ContextLength != 64 {
		t.Errorf("%+v, %v", list, err)
	}
}

// request returns what a body becomes.
func request(t *testing.T, body string) *llm.Request {
	t.Helper()
	var in chatRequest
	err := chatTable.Decode([]byte(body), &in)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	req, err := in.request()
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return req
}

// Settings become the parameters of a generation; a client's silence is Ollama's default.
func TestSettings(t *testing.T) {
	for more, want := range map[string]llm.Params{
		``: {},
		`,"options":{"num_predict":-1,"num_ctx":2048,"num_gpu":1,"mirostat":0,"min_p":0.0}`: {},
		`,"options":{"num_predict":7,"temperature":0,"top_k":1,"top_p":0.5,"typical_p":0.5,"repeat_penalty":1.1,"presence_penalty":1,"frequency_penalty":1,"seed":3,"stop":["x"]}`: {
			MaxTokens: new(7), Temperature: new(0.0), TopK: new(1), TopP: new(0.5), TypicalP: new(0.5), RepetitionPenalty: new(1.1),
			PresencePenalty: new(1.0), FrequencyPenalty: new(1.0), Seed: new(int64(3)), Stop: []string{"x"},
		},
		`,"options":{"top_p":0,"typical_p":0}`: {TopP: new(1e-30), TypicalP: new(1e-30)}, // 0 itself would be "off"
		`,"think":true`:                        {Thinking: new(true)}, `,"think":false`: {Thinking: new(false)}, `,"think":"high"`: {Effort: new("high")}, `,"think":null`: {},
		`,"format":""`: {}, `,"format":"json"`: {Schema: json.RawMessage(`{"type":"object"}`)}, `,"format":{"type":"array"}`: {Schema: json.RawMessage(`{"type":"array"}`)},
		`,"logprobs":true`: {Logprobs: new(0)}, `,"logprobs":true,"top_logprobs":2`: {Logprobs: new(2)},
		`,"tools":[{"function":{"name":"f","description":"d","parameters":{"type":"object"}}}]`: {Tools: []llm.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}},
	} {
		got := request(t, `{"model":"m","messages":[{"role":"user","content":"a"}]`+more+`}`)
		defaults := llm.Params{Temperature: new(0.8), TopK: new(40), TopP: new(0.9)}
		if !reflect.DeepEqual(got.Params, want) || !reflect.DeepEqual(got.Defaults, defaults) || !got.Stream {
			t.Errorf("%s: %+v", more, got.Params)
		}
	}
}

// Results answer calls by their id, by the name of the function, or in order.
func TestResults(t *testing.T) {
	const calls = `{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"id":"own","function":{"name":"g"}},{"function":{"name":"f"}}]}`
	for results, want := range map[string][]string{
		`{"role":"tool","content":"1"},{"role":"tool","content":"2"},{"role":"tool","content":"3"}`:                                              {"call_0", "own", "call_2"},
		`{"role":"tool","content":"1","tool_name":"g"},{"role":"tool","content":"2","tool_name":"f"},{"role":"tool","content":"3"}`:              {"own", "call_0", "call_2"},
		`{"role":"tool","content":"1","tool_call_id":"call_2"},{"role":"tool","content":"2","tool_call_id":"own"},{"role":"tool","content":"3"}`: {"call_2", "own", "call_0"},
	} {
		messages := request(t, `{"model":"m","messages":[`+calls+`,`+results+`]}`).Prompts[0].Messages
		if call := messages[1].Calls; len(call) != 3 || call[0].Arguments != `{"x":1}` || call[1].Arguments != "{}" || messages[1].Parts != nil {
			t.Errorf("%+v", messages[1])
		}
		var got []string
		for _, m := range messages[2:] {
			got = append(got, m.CallID)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", results, got, want)
		}
	}
}

// Bad requests are rejected with the key at fault, in Ollama's shape.
func TestBadRequests(t *testing.T) {
	for _, c := range []struct {
		path, body, want string
		status           int
	}{
		{"/api/chat", `{"messages":[]}`, `model: is required`, 400},
		{"/api/chat", `{"model":"none:7b","messages":[]}`, `model \"none:7b\" not found, try pulling it first`, 404},
		{"/api/chat", `{"model":"encodr:latest","messages":[]}`, `model \"encodr:latest\" not found; did you mean \"encoder\"?`, 404},
		{"/api/chat", `{"model":"says","messages":[{"role":"robot"}]}`, `messages[0].role: must be`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"tool","content":"a"}]}`, `messages[0]: is the result of no earlier call`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user","tool_calls":[{"function":{"name":"f"}}]}]}`, `messages[0].tool_calls: only an assistant`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}`, `messages[0].tool_calls[0].function.arguments: must be an object`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user","images":["!"]}]}`, `messages[0].images[0]`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user","images":["R0lGODlhAQABAAAAACw="]}]}`, `reads text only`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user"}],"think":"much"}`, `think: must be a boolean, low, medium or high`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user"}],"format":"xml"}`, `format: must be json or a JSON Schema`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user"}],"top_logprobs":2}`, `top_logprobs: is only accepted with logprobs`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user"}],"options":{"mirostat":1}}`, `options.mirostat: there is no such sampler`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user"}],"options":{"warmth":1}}`, `unknown key options.warmth`, 400},
		{"/api/chat", `{"model":"says","messages":[{"role":"user"}],"tools":[{"function":{"name":"f"}},{"function":{"name":"f"}}]}`, `tools[1].function.name: another tool`, 400},
		{"/api/chat", `{"model":"picky","messages":[{"role":"user"}],"tools":[{"function":{"name":"f"}}]}`, `tools[0].function.parameters: too deep`, 400},
		{"/api/chat", `{"model":"limits","messages":[{"role":"user"}],"options":{"num_predict":1}}`, `options.num_predict: too few`, 400},
		{"/api/generate", `{"model":"warm","prompt":"a"}`, `options.temperature: too warm`, 400},
		{"/api/chat", `{"model":"dull","messages":[{"role":"user"}],"think":"high"}`, `"think: does not think`, 400},
		{"/api/chat", `{"model":"garbled","messages":[{"role":"user","content":"a"}]}`, `the model called a tool with arguments that are not a JSON object`, 502},
		{"/api/chat", `{"model":"garbled","messages":[{"role":"user","content":"a"}],"stream":false}`, `the model called a tool with arguments that are not a JSON object`, 502},
		{"/api/chat", `{"model":"bug","messages":[{"role":"user"}]}`, `{"error":"internal error"}`, 500},
		{"/api/generate", `{"model":"says","prompt":"a","raw":true,"system":"b"}`, `system: is not allowed with raw`, 400},
		{"/api/generate", `{"model":"says","prompt":"a","context":[1]}`, `context: use /api/chat`, 400},
		{"/api/generate", `{"model":"says","prompt":"a","suffix":"b"}`, `suffix: models do not fill gaps`, 400},
		{"/api/embed", `{"model":"encoder"}`, `input: is required`, 400},
		{"/api/embed", `{"model":"none","input":[]}`, `not found`, 404},
		{"/api/embed", `{"model":"remote","input":"a","truncate":true}`, `truncate: cannot cut`, 400},
		{"/api/embed", `{"model":"short","input":["a","b"]}`, `"input[1]: the prompt has 9 tokens`, 400},
		{"/api/show", `{}`, `model: is required`, 400},
		{"/api/show", `{"model":"none"}`, `not found`, 404},
		{"/api/pull", `{"model":"a"}`, `no such path`, 404},
	} {
		w := ask("POST", c.path, c.body)
		if got := w.Body.String(); w.Code != c.status || !strings.HasPrefix(got, `{"error":"`) || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, w.Code, got, c.status, c.want)
		}
	}
}

// Requests on the paths that Alpha has too are Ollama's if something in them can be nobody else's.
func TestOurs(t *testing.T) {
	agent := func(name string) http.Header { return http.Header{"User-Agent": {name}} }
	for _, c := range []struct {
		header http.Header
		body   string
		want   bool
	}{
		{nil, `{"model":"m","messages":[]}`, false}, {nil, `{"model":"m","messages":[],"maxTokens":5}`, false}, {nil, `{`, false}, {nil, `[]`, false},
		{nil, `{"model":"m","messages":[],"stream":false}`, true}, {nil, `{"model":"m","prompt":"a","options":{}}`, true},
		{agent("ollama-python/0.6.3 (x86_64 linux)"), `{"model":"m","messages":[]}`, true}, {agent("Ollama-js/1.0"), ``, true}, {agent("curl/8"), `{"prompt":"a"}`, false},
	} {
		if got := Ours(c.header, []byte(c.body)); got != c.want {
			t.Errorf("%v %s: %t", c.header, c.body, got)
		}
	}
}

// FuzzChat: no body makes the dialect panic, and each result answers a call.
func FuzzChat(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f"}],"format":{}}`,
		`{"model":"m","messages":[null],"tools":[null],"think":null,"options":null}`, `{"model":"m","messages":[{"role":"user","images":["iVBORw0KGgo="]}],"think":"low","format":"json"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in chatRequest
		if chatTable.Decode(body, &in) != nil {
			return
		}
		if req, err := in.request(); err == nil {
			for _, m := range req.Prompts[0].Messages {
				if m.Role == "tool" && m.CallID == "" {
					t.Errorf("%s: %+v", body, m)
				}
			}
		}
	})
}

// A model that reads images says so, wherever it runs.
func TestVisionShown(t *testing.T) {
	for _, m := range []llm.ModelInfo{{Name: "m", Images: true}, {Name: "m", InProcess: true, Images: true}, {Name: "m"}, {Name: "m", Task: llm.TaskEmbed}} {
		if got := newShown(&m).Capabilities; slices.Contains(got, "vision") != m.Images {
			t.Errorf("%+v: %q", m, got)
		}
	}
}

// A request that unloads a model does not load it. Requests say how long a model stays after them.
func TestKeepAlive(t *testing.T) {
	r := httptest.NewRequest("POST", "/api/chat", nil)
	const unset = 7
	for _, c := range []struct {
		keep   string
		idle   time.Duration
		unload bool
	}{
		{"0", 0, true}, {`"0"`, 0, true}, {"0.0", 0, true}, {`"0s"`, 0, true}, {"1", time.Second, false}, {"0.5", time.Second / 2, false}, {`"5m"`, 5 * time.Minute, false},
		{"-1", -time.Second, false}, {`"-1m"`, -time.Minute, false}, {"1e300", -time.Second, false}, {"null", unset, false}, {"", unset, false},
	} {
		for _, models := range []llm.Models{listed{}, llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "m"}}}} {
			name, idle := "", time.Duration(unset)
			find := open[chatRequest](Config{Models: models, Now: time.Now, Keep: func(_ context.Context, of string, d time.Duration) error {
				name, idle = of, d
				return nil
			}})
			in := chatRequest{settings: settings{Model: "m:latest", KeepAlive: json.RawMessage(c.keep)}}
			_, cannotOpen := models.(listed)
			model, err := find(r, &in)
			if opened := c.unload || !cannotOpen; (err == nil) != opened || opened && (model.Name != "m" || idle != c.idle || idle != unset && name != "m") {
				t.Errorf("%s: %v, %q stays for %v", c.keep, err, name, idle)
			}
		}
	}
	for _, bad := range []string{`"soon"`, "true", `"5"`, "[]"} {
		in := chatRequest{settings: settings{Model: "m", KeepAlive: json.RawMessage(bad)}}
		if _, err := open[chatRequest](Config{Models: listed{}, Now: time.Now})(r, &in); llm.AsError(err).Param != "keep_alive" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// listed are models that cannot be opened.
type listed struct{}

func (listed) List(context.Context) ([]llm.ModelInfo, error) {
	return []llm.ModelInfo{{Name: "m"}}, nil
}
func (listed) Open(context.Context, string) (*llm.Model, error) {
	return nil, llm.Errorf(llm.Internal, "opened")
}

// A model that reasons says so.
func TestThinkingShown(t *testing.T) {
	for _, m := range []llm.ModelInfo{{Name: "m", InProcess: true, Reasons: true}, {Name: "m", InProcess: true}} {
		if got := newShown(&m).Capabilities; slices.Contains(got, "thinking") != m.Reasons {
			t.Errorf("%+v: %q", m, got)
		}
	}
}
