package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/dialect/lamini"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// bareAndGenerous returns a model whose record maps prompts and chats only, and one whose
// record maps all keys of llm and leaves their values to the model.
func bareAndGenerous() (bare, generous remoteModel) {
	record := func(defaults, mapping string) string {
		return `{"request":{"omit_null":true,"defaults":{"messages":[{"role":"user","content":""}]` + defaults + `},` +
			`"mapping":{"prompt":"$.messages[0].content","messages":"$.messages"` + mapping + `}},` +
			`"response":{"mapping":{"generated_text":"$.generation"}},"response-with-stream":{"mapping":{"generated_text":"$.generation"}}}`
	}
	defaults, mapping := "", ""
	for f := range reflect.TypeFor[llm.Params]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("llm"), ",")
		defaults += fmt.Sprintf(`,%q:null`, name)
		mapping += fmt.Sprintf(`,%q:"$.%s"`, name, name)
	}
	bare = remoteModels[1]
	generous = bare
	bare.schema, generous.schema = record("", ""), record(defaults, mapping)
	generous.name = "generous"
	return bare, generous
}

const aTool = `[{"type":"function","function":{"name":"f"}}]`

// mapped has requests with a value of each parameter that, by the tables, depends on
// the record, or that no remote model supports.
var mapped = []struct {
	rows         func() []wire.Parameter
	prefix       string // of the rows
	method, path string
	body         string // with SENT for the parameter
	values       map[string]string
}{
	{
		openai.Parameters, "", "POST", "/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"a"}]SENT}`,
		map[string]string{
			"max_tokens": "9000", "max_completion_tokens": "9000", "maximum_tokens": "9000", "temperature": "0.5", "top_p": "0.5", "top_k": "3", "stop": `["x"]`, "seed": "7",
			"presence_penalty": "0.5", "frequency_penalty": "0.5", "logit_bias": `{"1":2}`, "n": "2", "logprobs": "true",
			"top_logprobs": `2,"logprobs":true`, "tools": aTool,
			"reasoning_effort": `"low"`, "reasoning": `{"effort":"low"}`, "thinking": `{"type":"enabled"}`, "enable_thinking": "true", "thinking_budget": "7", "chat_template_kwargs": `{"x":1}`,
			"prediction": `{"type":"content","content":"a"}`,
		},
	},
	{
		openai.CompletionParameters, "", "POST", "/v1/completions", `{"model":"MODEL","prompt":"a"SENT}`,
		map[string]string{
			"max_tokens": "9000", "temperature": "0.5", "top_p": "0.5", "stop": `["x"]`, "seed": "7", "presence_penalty": "0.5",
			"frequency_penalty": "0.5", "logit_bias": `{"1":2}`, "best_of": "2", "n": "2", "echo": "true", "logprobs": "0",
		},
	},
	{
		textsynth.Parameters, "completions ", "POST", "/v1/engines/MODEL/completions", `{"prompt":"a"SENT}`,
		map[string]string{
			"max_tokens": "9000", "temperature": "0.5", "top_k": "3", "top_p": "0.5", "typical_p": "0.5", "stop": `["x"]`, "seed": "7", "presence_penalty": "0.5",
			"frequency_penalty": "0.5", "repetition_penalty": "1.5", "logit_bias": `{"1":2}`, "n": "2",
		},
	},
	{
		alephalpha.Parameters, "/complete ", "POST", "/complete", `{"model":"MODEL","prompt":"a"SENT}`,
		map[string]string{
			"maximum_tokens": "9000", "temperature": "0.5", "top_k": "3", "top_p": "0.5", "stop_sequences": `["x"]`, "presence_penalty": "0.5",
			"frequency_penalty": "0.5", "logit_bias": `{"1":2}`, "n": "2", "best_of": "2", "echo": "true", "log_probs": "0", "tokens": "true",
			"repetition_penalties_include_prompt": "true", "use_multiplicative_presence_penalty": "true", "use_multiplicative_frequency_penalty": "true",
		},
	},
	{
		lamini.Parameters, "completions ", "POST", "/v2/completions", `{"model_name":"MODEL","prompt":"a"SENT}`,
		map[string]string{"max_tokens": "9000", "max_new_tokens": "9000"},
	},
	{
		alpha.Parameters, "/api/generate ", "POST", "/api/generate", `{"model":"MODEL","prompt":"a"SENT}`,
		map[string]string{"max_tokens": "9", "temperature": "0.5"},
	},
	{
		alpha.Parameters, "/api/chat ", "POST", "/api/chat", `{"model":"MODEL","messages":[{"role":"user","content":"a"}]SENT}`,
		map[string]string{"maxTokens": "9", "temperature": "0.5", "topk": "3"},
	},
}

// Other tests cover these: prompts, and formats that are checked.
var elsewhere = []string{"messages", "prompt", "response_format", "schema", "grammar", "output_type", "tool_choice", "parallel_tool_calls"}

// The tables are right for each parameter: mapped ones are sent, others are rejected by
// the client's name.
func TestRemoteParameters(t *testing.T) {
	bare, generous := bareAndGenerous()
	a, service := remoteApp(t, &bare, Config{Records: catalogue(t, bare, generous)}, bare.converses)
	h := a.Handler()
	for _, c := range mapped {
		for _, row := range c.rows() {
			name, ok := strings.CutPrefix(row.Name, c.prefix)
			if !ok || row.Remote == "" || strings.Contains(name, ".") || slices.Contains(elsewhere, name) {
				continue
			}
			value := c.values[name]
			if value == "" {
				t.Errorf("%s %s: nothing is sent", c.path, name)
			}
			for _, m := range []remoteModel{bare, generous} {
				body := strings.Replace(m.fill(c.body), "SENT", fmt.Sprintf(`,%q:%s`, name, value), 1)
				before := len(service.Requests())
				res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(body))
				got, sent := text(t, res), service.Requests()[before:]
				takes := row.Remote == wire.ByGlossa || row.Remote == wire.Unused || row.Remote == wire.ByRecord && m.name == generous.name
				switch {
				case takes && (res.StatusCode != 200 || len(sent) == 0):
					t.Errorf("%s %s to %s: %d %s", c.path, body, m.name, res.StatusCode, got)
				case !takes && (res.StatusCode != 400 || len(sent) != 0 || !strings.Contains(got, strings.TrimPrefix(name, "top_log"))):
					t.Errorf("%s %s to %s: %d %s after %d calls", c.path, body, m.name, res.StatusCode, got, len(sent))
				case takes && row.Remote == wire.ByRecord && (len(sent[0].Body) < 2 || value == "9000" && sent[0].Body["max_new_tokens"] != 9000.0):
					t.Errorf("%s %s: sent %v", c.path, body, sent[0].Body)
				}
			}
		}
	}
}

// A record can map tools, which providers then receive in OpenAI's format, and calls.
func TestRemoteTools(t *testing.T) {
	m := remoteModels[1]
	m.schema = `{"request":{"omit_null":true,"defaults":{"messages":[{"role":"user","content":""}],"tools":null},
		"mapping":{"prompt":"$.messages[0].content","messages":"$.messages","tools":"$.tools"}},
		"response":{"mapping":{"generated_text":"$.text","tool_calls":"$.calls","finish_reason":"$.why"}},
		"response-with-stream":{"mapping":{"generated_text":"$.text","tool_calls":"$.calls","finish_reason":"$.why"}}}`
	a, service := remoteApp(t, &m, Config{}, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		if !r.Stream {
			w.Whole(`{"text":null,"calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}],"why":"tool_calls"}`)
			return
		}
		w.Event(`{"calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}]}`)
		w.Event(`{"calls":[{"index":0,"function":{"arguments":":1}"}}]}`)
		w.Event(`{"why":"tool_calls"}`)
	})
	h := a.Handler()
	for _, test := range []struct {
		more string
		want []string
	}{
		{"", []string{`"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`, `"finish_reason":"tool_calls"`}},
		{`,"stream":true`, []string{`"name":"f","arguments":"{\"a\""`, `"arguments":":1}"`, `"finish_reason":"tool_calls"`}},
		{`,"tool_choice":"required"`, []string{`"param":"tool_choice"`}},
		{`,"parallel_tool_calls":false`, []string{`"param":"parallel_tool_calls"`}},
	} {
		body := m.fill(`{"model":"MODEL","messages":[{"role":"user","content":"a"}],"tools":` + aTool + test.more + `}`)
		got := text(t, ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(body)))
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s has no %s", test.more, got, want)
			}
		}
	}
	sent := service.Requests()
	if b, _ := json.Marshal(sent[0].Body["tools"]); len(sent) != 2 || !strings.HasPrefix(string(b), `[{"function":{"name":"f","parameters":{`) {
		t.Errorf("%d calls, tools %s", len(sent), b)
	}
}

// No model rejects the defaults that SDKs send, and values without effect.
func TestDefaultsOfSDKs(t *testing.T) {
	bare, _ := bareAndGenerous()
	a, service := remoteApp(t, &bare, Config{}, bare.converses)
	h := a.Handler()
	const neutral = `"n":1,"stream":false,"top_p":1,"presence_penalty":0,"frequency_penalty":0.0,"logit_bias":{},"stop":null,"seed":null,"max_tokens":null,"temperature":null,"user":"u"`
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"MODEL","messages":[{"role":"user","content":"a"}],` + neutral +
			`,"logprobs":false,"top_logprobs":null,"tools":null,"tool_choice":"none","parallel_tool_calls":true,"response_format":{"type":"text"},"store":false}`,
		"/v1/completions":               `{"model":"MODEL","prompt":"a",` + neutral + `,"logprobs":null,"echo":false,"best_of":1,"suffix":null}`,
		"/v1/engines/MODEL/completions": `{"prompt":"a","n":1,"top_p":1,"typical_p":1,"presence_penalty":0,"frequency_penalty":0,"repetition_penalty":1,"logit_bias":{},"seed":0,"stop":[]}`,
		"/complete": `{"model":"MODEL","prompt":"a","hosting":"cloud","maximum_tokens":null,"top_k":0,"top_p":0.0,"presence_penalty":0.0,"frequency_penalty":0.0,
			"repetition_penalties_include_prompt":false,"use_multiplicative_presence_penalty":false,"best_of":null,"n":1,"logit_bias":null,"log_probs":null,
			"stop_sequences":null,"tokens":false,"echo":false,"disable_optimizations":false,"minimum_tokens":0,"raw_completion":false}`,
		"/v2/completions": `{"model_name":"MODEL","prompt":"a","output_type":null,"max_tokens":null,"max_new_tokens":null}`,
	} {
		if res := ask(h, "POST", bare.fill(path), "", strings.NewReader(bare.fill(body))); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, res.StatusCode, text(t, res))
		}
	}
	for _, r := range service.Requests() {
		if len(r.Body) != 1 {
			t.Errorf("sent %v", r.Body)
		}
	}
}

// Chats with calls in them are rejected by parameter by records without a form for them,
// and so are token ids.
func TestRemoteRefusals(t *testing.T) {
	const called = `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"b"}`
	bare, _ := bareAndGenerous()
	for _, m := range append([]remoteModel{bare}, remoteModels[2:]...) {
		a, service := remoteApp(t, &m, Config{}, m.converses)
		h := a.Handler()
		for _, test := range []struct{ path, body, want string }{
			{"/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"a"},` + called + `]}`, `"param":"messages`},
			{"/v1/completions", `{"model":"MODEL","prompt":[1,2]}`, `"param":"prompt"`},
			{"/complete", `{"model":"MODEL","prompt":[{"type":"token_ids","data":[1]}]}`, `"prompt: `},
			{"/evaluate", `{"model":"MODEL","prompt":"a","completion_expected":"b"}`, "no scorer"},
			{"/embed", `{"model":"MODEL","prompt":"a","layers":[0]}`, "no embedder"},
			{"/tokenize", `{"model":"MODEL","prompt":"a","tokens":true,"token_ids":true}`, "no tokenizer"},
		} {
			if m.chats && strings.HasPrefix(test.path, "/v1/chat") {
				test.want = `"param":"messages[1].tool_calls"`
			}
			res := ask(h, "POST", test.path, "", strings.NewReader(m.fill(test.body)))
			if got := text(t, res); res.StatusCode != 400 || !strings.Contains(got, test.want) {
				t.Errorf("%s: %s: %d %s, want %s", m.name, test.path, res.StatusCode, got, test.want)
			}
		}
		if n := len(service.Requests()); n != 0 {
			t.Errorf("%s: %d requests were sent", m.name, n)
		}
	}
}

// Rows are separate calls, and answers have the order of the request.
func TestRemoteRows(t *testing.T) {
	m := &remoteModels[2]
	a, service := remoteApp(t, m, Config{}, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		m.says(w, r.Stream, fmt.Sprint("-", r.Body["inputs"], "END"))
	})
	res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(m.fill(
		`{"model":"MODEL","prompt":["a","b"],"n":2,"echo":true,"stop":"END","seed":7,"max_tokens":5}`)))
	var answer struct {
		Choices []struct {
			Text   string
			Index  int
			Reason string `json:"finish_reason"`
		}
		Usage any
	}
	if err := json.Unmarshal([]byte(text(t, res)), &answer); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(answer); got != "{[{a-a 0 stop} {a-a 1 stop} {b-b 2 stop} {b-b 3 stop}] <nil>}" {
		t.Error(got)
	}
	seeds := map[any]int{}
	for _, r := range service.Requests() {
		p, _ := r.Body["parameters"].(map[string]any)
		seeds[p["seed"]]++
		if fmt.Sprint(p["stop"], p["max_new_tokens"]) != "[END] 5" {
			t.Errorf("sent %v", p)
		}
	}
	if !reflect.DeepEqual(seeds, map[any]int{7.0: 2, 8.0: 2}) {
		t.Errorf("seeds %v", seeds)
	}
}

// observed collects the records of requests.
type observed struct{ list []httpx.Record }

func (o *observed) Observe(rec *httpx.Record) { o.list = append(o.list, *rec) }
func (o *observed) Routes() []httpx.Route     { return nil }

// Usage reaches the record of a request wherever a provider reports it, and is never
// made up.
func TestRemoteUsage(t *testing.T) {
	untold := remoteModels[0]
	untold.schema = shipped(t, "bedrock-anthropic.claude-v2")
	untold.whole, untold.first = `{"completion":TEXT,"stop_reason":"stop_sequence"}`, ""
	untold.next = `{"completion":TEXT}`
	beside := func(i int, r *backendtest.Request, w *backendtest.Reply) {
		w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "5")
		w.Header().Set("X-Amzn-Bedrock-Output-Token-Count", "3")
		untold.converses(i, r, w)
	}
	models := append([]remoteModel{untold}, remoteModels...)
	for i := range models {
		m := &models[i]
		meter := &observed{}
		answer := m.converses
		if i == 0 {
			answer = beside
		}
		a, _ := remoteApp(t, m, Config{Meter: func(Measured) Meter { return meter }}, answer)
		h := a.Handler()
		for path, body := range map[string]string{
			"/v1/completions": `{"model":"MODEL","prompt":"a"}`,
			"/invoke":         `{"model_family":"FAMILY","model_name":"MODEL","body":{"prompt":"a"}}`,
			"/invoke_stream":  `{"model_family":"FAMILY","model_name":"MODEL","body":{"prompt":"a"}}`,
		} {
			meter.list = nil
			got := text(t, ask(h, "POST", path, "", strings.NewReader(m.fill(body))))
			want := llm.Usage{Input: 5, Output: 3}
			if !m.counts {
				want = llm.Usage{Output: 3, Partial: true}
			}
			if u := meter.list[0].Usage; u != want || meter.list[0].Model != m.name {
				t.Errorf("%d %s: %+v, want %+v: %s", i, path, u, want, got)
			}
		}
	}
}

// Invalid answers are paid for: both attempts are counted.
func TestUsageOfWhatIsNotValid(t *testing.T) {
	m, meter := &remoteModels[0], &observed{}
	a, _ := remoteApp(t, m, Config{Meter: func(Measured) Meter { return meter }},
		func(_ int, r *backendtest.Request, w *backendtest.Reply) { m.says(w, r.Stream, "no") })
	const body = `{"model":"MODEL","messages":[{"role":"user","content":"a"}],"stream":STREAM,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}`
	for _, stream := range []string{"false", "true"} {
		meter.list = nil
		got := text(t, ask(a.Handler(), "POST", "/v1/chat/completions", "", strings.NewReader(m.fill(strings.Replace(body, "STREAM", stream, 1)))))
		if u := meter.list[0].Usage; u != (llm.Usage{Input: 10, Output: 6}) || !strings.Contains(got, "was not valid") {
			t.Errorf("%+v: %s", u, got)
		}
	}
}

// Every listing shows the record's description of a remote model.
func TestRemoteListings(t *testing.T) {
	m := &remoteModels[0]
	a, service := remoteApp(t, m, Config{}, m.converses)
	h := a.Handler()
	for path, want := range map[string]string{
		"/v1/models":        `{"object":"list","data":[{"id":"MODEL","object":"model","created":0,"owned_by":"bedrock","input_modalities":["text","image"]}]}`,
		"/v1/models/MODEL":  `{"id":"MODEL","object":"model","created":0,"owned_by":"bedrock","input_modalities":["text","image"]}`,
		"/list_models":      `{"models":[{"model_type":"Claude","model_name":"MODEL","model_family":"bedrock","streaming":true}]}`,
		"/models_available": `[{"name":"MODEL","description":"of a provider","hostings":["cloud"],"image_support":true,"max_context_size":4096`,
		"/api/models":       `[]`, // of Alpha runs
	} {
		if got := text(t, ask(h, "GET", m.fill(path), "", nil)); !strings.HasPrefix(got, m.fill(want)) {
			t.Errorf("%s: %s, want %s", path, got, m.fill(want))
		}
	}
	if n := len(service.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A directory of records takes precedence over the embedded ones.
func TestRecordsInADirectory(t *testing.T) {
	m := remoteModels[0]
	dir := t.TempDir()
	if err := os.CopyFS(dir, catalogue(t, m)); err != nil {
		t.Fatal(err)
	}
	own := `{"pk":"models","sk":"bedrock-meta","description":"mine"}`
	if err := os.WriteFile(filepath.Join(dir, "bedrock-meta.json"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_RECORDS": dir, "GLOSSA_OPEN": "true"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(cfg.Records, "bedrock-meta.json")
	if err != nil || string(got) != own {
		t.Errorf("%s %v", got, err)
	}
	files, err := fs.Glob(cfg.Records, "*.json")
	if err != nil || !slices.IsSorted(files) || !slices.Contains(files, "sagemaker-tgi.json") || !slices.Contains(files, "model-0.json") {
		t.Errorf("%v %v", files, err)
	}
	a, _ := remoteApp(t, &m, cfg, m.converses)
	res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(m.fill(`{"model":"MODEL","prompt":"a"}`)))
	if got := text(t, res); res.StatusCode != 200 {
		t.Error(got)
	}
}
