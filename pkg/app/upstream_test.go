package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/account"
	"glossa/schemas"
)

// endpoint serves the golden model with keys, as an endpoint that speaks OpenAI's API.
func endpoint(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(golden(t, Config{Auth: true, Keys: keys(t)}).Handler())
	t.Cleanup(server.Close)
	return server
}

// upstreamRecords are the records of models at an endpoint; more is their JSON behind the url.
func upstreamRecords(url string, more map[string]string) fstest.MapFS {
	fs := fstest.MapFS{}
	for name, members := range more {
		fs[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"pk":"models","sk":"openai-%s","url":"%s/v1/",%s}`, name, url, members)}
	}
	return fs
}

const toTheEndpoint = `"model_id":"golden","key":"env:FAR_KEY"`

func farKey(name string) string {
	if name == "FAR_KEY" {
		return secrets[account.Client]
	}
	return ""
}

// TestUpstream: asking a model at an endpoint is asking that endpoint, whole and streamed.
func TestUpstream(t *testing.T) {
	server := endpoint(t)
	near := golden(t, Config{Getenv: farKey, Records: upstreamRecords(server.URL, map[string]string{"far": toTheEndpoint, "lines": toTheEndpoint + `,"like":"completions"`})}).Handler()
	direct := golden(t, Config{}).Handler()
	for _, c := range []struct{ path, body, model string }{
		{"/v1/chat/completions", `{"model":"%s","messages":[{"role":"user","content":"a"}],"temperature":0,"max_tokens":3}`, "far"},
		{"/v1/chat/completions", `{"model":"%s","messages":[{"role":"user","content":"a"}],"temperature":1,"seed":7,"max_tokens":5}`, "far"},
		{"/v1/completions", `{"model":"%s","prompt":"a","temperature":0,"max_tokens":3}`, "lines"},
		{"/v1/messages", `{"model":"%s","messages":[{"role":"user","content":"a"}],"temperature":0,"max_tokens":3}`, "far"},
		{"/v1/responses", `{"model":"%s","input":"a","temperature":0,"max_output_tokens":16,"store":false}`, "far"},
	} {
		var answers []string
		for _, of := range []struct {
			h     http.Handler
			model string
		}{{near, c.model}, {direct, "golden"}} {
			res := ask(of.h, "POST", c.path, "", strings.NewReader(fmt.Sprintf(c.body, of.model)))
			body := text(t, res)
			if res.StatusCode != 200 {
				t.Errorf("%s of %s: %d %s", c.path, of.model, res.StatusCode, body)
			}
			answers = append(answers, words(t, body))
		}
		if answers[0] != answers[1] || answers[0] == "" {
			t.Errorf("%s %s:\n%q\n%q", c.path, c.body, answers[0], answers[1])
		}
	}
	for _, body := range []string{
		`{"model":"%s","messages":[{"role":"user","content":"a"}],"temperature":0,"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}`,
	} {
		streamed := func(h http.Handler, model string) (all string, usage any) {
			for _, line := range strings.Split(text(t, ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(fmt.Sprintf(body, model)))), "\n") {
				var event struct {
					Choices []struct{ Delta struct{ Content string } }
					Usage   map[string]any
				}
				if data, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+data), &event) == nil {
					for _, choice := range event.Choices {
						all += choice.Delta.Content
					}
					if event.Usage != nil {
						delete(event.Usage, "cost")
						usage = event.Usage
					}
				}
			}
			return all, usage
		}
		all, usage := streamed(near, "far")
		want, counted := streamed(direct, "golden")
		if all != want || all == "" || fmt.Sprint(usage) != fmt.Sprint(counted) {
			t.Errorf("%q %v, want %q %v", all, usage, want, counted)
		}
	}
}

// words returns the texts of an answer and its counts of tokens.
func words(t *testing.T, body string) string {
	t.Helper()
	var doc struct {
		Choices []struct {
			Message struct{ Content string }
			Text    string
		}
		Content []struct{ Text string }
		Output  []struct{ Content []struct{ Text string } }
		Usage   map[string]any
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range doc.Choices {
		b.WriteString(c.Message.Content + c.Text)
	}
	for _, c := range doc.Content {
		b.WriteString(c.Text)
	}
	for _, o := range doc.Output {
		for _, c := range o.Content {
			b.WriteString(c.Text)
		}
	}
	return fmt.Sprint(b.String(), doc.Usage["prompt_tokens"], doc.Usage["completion_tokens"], doc.Usage["input_tokens"], doc.Usage["output_tokens"])
}

// TestUpstreamDrops: a record says whether parameters that its model lacks are dropped.
func TestUpstreamDrops(t *testing.T) {
	server := endpoint(t)
	h := golden(t, Config{Getenv: farKey, Records: upstreamRecords(server.URL, map[string]string{"far": toTheEndpoint, "easy": toTheEndpoint + `,"unsupported":"drop"`})}).Handler()
	for _, c := range []struct {
		path, body, model string
		status            int
		ignored           string
	}{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"a"}],"top_k":5,"min_p":0`, "far", 400, ""},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"a"}],"top_k":5`, "easy", 200, "top_k"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"a"}],"top_k":5,"stream":true`, "easy", 200, "top_k"},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"a"}],"top_k":0,"temperature":0`, "easy", 200, ""},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"a"}],"logprobs":true,"top_logprobs":2`, "easy", 400, ""},
		{"/v1/messages", `"messages":[{"role":"user","content":"a"}],"top_k":5`, "easy", 200, "top_k"},
		{"/api/generate", `"prompt":"a","stream":false,"options":{"top_k":5,"num_predict":3}`, "easy", 200, "top_k"},
	} {
		res := ask(h, "POST", c.path, "", strings.NewReader(`{"model":"`+c.model+`","max_tokens":3,`+c.body+`}`))
		if c.path == "/api/generate" {
			res = ask(h, "POST", c.path, "", strings.NewReader(`{"model":"`+c.model+`",`+c.body+`}`))
		}
		if body := text(t, res); res.StatusCode != c.status || res.Header.Get("X-Glossa-Ignored") != c.ignored {
			t.Errorf("%s %s of %s: %d %q %s", c.path, c.body, c.model, res.StatusCode, res.Header.Get("X-Glossa-Ignored"), body)
		}
	}
	res := ask(h, "POST", "/invoke", "", strings.NewReader(`{"model_family":"openai","model_name":"easy","body":{"prompt":"a","max_new_tokens":3,"top_k":5}}`))
	if body := text(t, res); res.StatusCode != 200 || res.Header.Get("X-Glossa-Ignored") != "top_k" || !strings.Contains(body, `"generated_text"`) {
		t.Errorf("/invoke: %d %q %s", res.StatusCode, res.Header.Get("X-Glossa-Ignored"), body)
	}
}

// TestHostedTools: tools that run at OpenAI are left out if the model's record says so and the client
// leaves the choice to the model; what is left is offered.
func TestHostedTools(t *testing.T) {
	var asked struct {
		Tools []struct{ Function struct{ Name string } }
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Tools = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"so"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	defer server.Close()
	h := golden(t, Config{Getenv: farKey, Records: upstreamRecords(server.URL, map[string]string{"far": toTheEndpoint, "easy": toTheEndpoint + `,"unsupported":"drop"`})}).Handler()
	const hosted, own = `{"type":"web_search"}`, `{"type":"function","name":"f","parameters":{"type":"object"}}`
	for _, c := range []struct {
		body, model string
		status      int
		ignored     string
	}{
		{`"tools":[` + hosted + `]`, "far", 400, ""},
		{`"tools":[` + hosted + `]`, "golden", 400, ""},
		{`"tools":[` + hosted + `]`, "easy", 200, "tools[0]"},
		{`"tools":[` + own + `,` + hosted + `]`, "easy", 200, "tools[1]"},
		{`"tools":[` + hosted + `,` + own + `],"tool_choice":"auto"`, "easy", 200, "tools[0]"},
		{`"tools":[` + hosted + `],"tool_choice":"none"`, "easy", 200, "tools[0]"},
		{`"tools":[` + own + `,` + hosted + `],"tool_choice":"required"`, "easy", 400, ""},
		{`"tools":[` + own + `,` + hosted + `],"tool_choice":{"type":"function","name":"f"}`, "easy", 400, ""},
		{`"tools":[` + own + `,` + hosted + `],"tool_choice":{"type":"web_search"}`, "easy", 400, ""},
	} {
		res := ask(h, "POST", "/v1/responses", "", strings.NewReader(`{"model":"`+c.model+`","input":"a","max_output_tokens":20,`+c.body+`}`))
		body := text(t, res)
		if res.StatusCode != c.status || res.Header.Get("X-Glossa-Ignored") != c.ignored || c.status == 400 && c.ignored == "" && !strings.Contains(body, "web_search") {
			t.Errorf("%s of %s: %d %q %s", c.body, c.model, res.StatusCode, res.Header.Get("X-Glossa-Ignored"), body)
		}
		if c.status == 200 && strings.Contains(c.body, own) != (len(asked.Tools) == 1 && asked.Tools[0].Function.Name == "f") {
			t.Errorf("%s: the endpoint is asked with %+v", c.body, asked)
		}
	}
}

// TestUpstreamOnLambda: a function calls only public addresses, unless a record allows others,
// and tells clients nothing of keys and addresses.
func TestUpstreamOnLambda(t *testing.T) {
	server := endpoint(t)
	h := golden(t, Config{Getenv: farKey, PublicUpstreams: true, Records: upstreamRecords(server.URL, map[string]string{
		"far": toTheEndpoint, "inside": toTheEndpoint + `,"private":true`, "keyless": `"model_id":"golden","private":true,"key":"env:NONE"`,
		"stranger": `"model_id":"golden","private":true`,
	})}).Handler()
	for model, want := range map[string]int{"far": 502, "inside": 200, "keyless": 502, "stranger": 502} {
		res := ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(`{"model":"`+model+`","max_tokens":3,"messages":[{"role":"user","content":"a"}]}`))
		body := text(t, res)
		if res.StatusCode != want || strings.Contains(body, "127.0.0.1") || strings.Contains(body, "NONE") || strings.Contains(body, secrets[account.Client]) {
			t.Errorf("%s: %d %s", model, res.StatusCode, body)
		}
	}
}

// TestUpstreamSecrets: keys are read from the account, and read again when they were replaced.
func TestUpstreamSecrets(t *testing.T) {
	server := endpoint(t)
	value, reads := "replaced", 0 // after the first reading
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads++
		defer func() { value = secrets[account.Client] }()
		b, _ := io.ReadAll(r.Body)
		asked := r.Header.Get("X-Amz-Target") + " " + string(b)
		if r.Header.Get("Content-Type") != "application/x-amz-json-1.1" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
			t.Errorf("%v", r.Header)
		}
		switch asked {
		case `secretsmanager.GetSecretValue {"SecretId":"glossa/far"}`:
			fmt.Fprintf(w, `{"SecretString":%q}`, `{"key":"`+value+`"}`)
		case `AmazonSSM.GetParameter {"Name":"/glossa/far","WithDecryption":true}`:
			fmt.Fprintf(w, `{"Parameter":{"Value":%q}}`, value)
		default:
			w.WriteHeader(400)
			io.WriteString(w, `{"__type":"AccessDeniedException","Message":"no"}`)
		}
	}))
	defer aws.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", aws.URL)
	t.Setenv("AWS_ENDPOINT_URL_SSM", aws.URL)
	h := golden(t, Config{Records: upstreamRecords(server.URL, map[string]string{
		"managed": `"model_id":"golden","key":"secretsmanager:glossa/far#key"`, "parameter": `"model_id":"golden","key":"ssm:/glossa/far"`,
		"denied": `"model_id":"golden","key":"ssm:/other"`,
	})}).Handler()
	for _, c := range []struct {
		model         string
		status, reads int
	}{{"managed", 200, 2}, {"managed", 200, 2}, {"parameter", 200, 3}, {"denied", 502, 4}} {
		res := ask(h, "POST", "/v1/chat/completions", "", strings.NewReader(`{"model":"`+c.model+`","max_tokens":3,"messages":[{"role":"user","content":"a"}]}`))
		if body := text(t, res); res.StatusCode != c.status || reads != c.reads || strings.Contains(body, value) {
			t.Errorf("%s: %d after %d reads, %s", c.model, res.StatusCode, reads, body)
		}
	}
}

// TestUpstreamEffort: a provider gets an effort in OpenAI's way alone, because it rejects the
// variables of templates, which vLLM needs.
func TestUpstreamEffort(t *testing.T) {
	for like, templated := range map[string]bool{"chat": false, "vllm": true} {
		var sent map[string]any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, `{"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]}`)
		}))
		a, err := New(Config{Records: overlay{fstest.MapFS{
			"far.json": {Data: []byte(`{"pk":"models","sk":"openai-far","url":"` + server.URL + `","like":"` + like + `"}`)},
		}, schemas.Files()}})
		if err != nil {
			t.Fatal(err)
		}
		res := ask(a.Handler(), "POST", "/v1/chat/completions", "", strings.NewReader(`{"model":"far","reasoning_effort":"low","messages":[{"role":"user","content":"a"}]}`))
		server.Close()
		if _, has := sent["chat_template_kwargs"]; res.StatusCode != 200 || sent["reasoning_effort"] != "low" || has != templated {
			t.Errorf("%s: %d, sent %v: %s", like, res.StatusCode, sent, text(t, res))
		}
	}
}
