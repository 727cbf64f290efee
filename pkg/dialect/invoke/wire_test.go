package invoke

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
)

const claude, tgi = `"model_family":"bedrock","model_name":"anthropic.claude-v2:1"`, `"model_family":"sagemaker","model_name":"tgi.llama-2-13b"`

// TestAnswers reads like API layer's documentation.
func TestAnswers(t *testing.T) {
	h := handler(testModels())
	for _, test := range []struct{ method, target, body, want string }{
		{"GET", "/ping", ``, `{"Health_Check":"200"}`},
		{"POST", "/invoke", to("local", "org/story:1", `{"prompt":"a"}`), `{"finish_reason":"eos_token","generated_text":"Once upon a time","input_tokens":1,"output_tokens":3}`},
		{"POST", "/invoke", to("local", "org/story:1", `{"inputs":"a","max_new_tokens":2,"temperature":null}`), `{"finish_reason":"length","generated_text":"Once upon","input_tokens":1,"output_tokens":2}`},
		{"POST", "/invoke_stream", to("local", "org/story:1", `{"prompt":"a"}`), `{"generated_text":"Once"}
{"generated_text":" upon"}
{"generated_text":" a time"}
{"finish_reason":"eos_token","generated_text":"","input_tokens":1,"output_tokens":3}`},
		{"POST", "/invoke", to("local", "form", `{"prompt":"a","schema":{}}`), `{"finish_reason":"eos_token","generated_text":"{\"a\":7}","guarantee":"enforced","input_tokens":1,"output_tokens":2}`},
		{"POST", "/invoke", to("local", "caller", `{"prompt":"a"}`), `{"finish_reason":"eos_token","generated_text":"","input_tokens":1,"output_tokens":2,` +
			`"tokens":[{"id":1,"text":"a","special":false,"logprob":-0.5,"top":[{"id":2,"text":"b","special":false,"logprob":-0.25}]},{"id":9,"text":"","special":true,"logprob":0}],` +
			`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":7}"}}]}`},
		{"POST", "/invoke_stream", to("local", "caller", `{"prompt":"a"}`), `{"generated_text":"",` +
			`"tokens":[{"id":1,"text":"a","special":false,"logprob":-0.5,"top":[{"id":2,"text":"b","special":false,"logprob":-0.25}]},{"id":9,"text":"","special":true,"logprob":0}],` +
			`"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":7}"}}]}
{"finish_reason":"eos_token","generated_text":"","input_tokens":1,"output_tokens":2}`},
		// remote: numbers keep their digits, null is passed on and returned, keys of a schema keep their order
		{"POST", "/invoke", `{` + claude + `,"body":{"prompt":"<a>","temperature":1e-1,"seed":null,"schema":{"b":1,"a":2}}}`,
			`{"generated_text":"{\"prompt\":\"\\u003ca\\u003e\",\"schema\":{\"b\":1,\"a\":2},\"seed\":null,\"temperature\":1e-1}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke", `{` + claude + `,"body":{}}`, `{"generated_text":"{}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke", `{` + claude + `,"body":{"prompt":"a","top_k":0,"x":{"y":1}},"ignore_unmapped":true}`, `{"generated_text":"{\"prompt\":\"a\"}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke", `{` + claude + `,"body":{"prompt":"a","v":null,"w":false,"x":"","y":[ ],"z":{ }}}`, `{"generated_text":"{\"prompt\":\"a\"}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke", to("local", "org/story:1", `{"prompt":"a","max_new_tokens":1,"watermark":false,"n":null,"stream":false}`), `{"finish_reason":"length","generated_text":"Once","input_tokens":1,"output_tokens":1}`},
		// stream is set in a stream, if the record maps it
		{"POST", "/invoke_stream", `{` + claude + `,"body":{"prompt":"a","stream":false}}`, `{"finish_reason":null,"generated_text":"one","output_tokens":1}
{"generated_text":"{\"prompt\":\"a\"}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke_stream", `{` + tgi + `,"body":{"prompt":"a","stream":false}}`, `{"finish_reason":null,"generated_text":"one","output_tokens":1}
{"generated_text":"{\"prompt\":\"a\",\"stream\":true}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke", `{` + tgi + `,"body":{"prompt":"a","stream":false}}`, `{"generated_text":"{\"prompt\":\"a\",\"stream\":false}","input_tokens":3,"output_tokens":7,"seed":null}`},
		{"POST", "/invoke", to("sagemaker", "opaque", `{"x":[1]}`), `{"generated_text":"{\"x\":[1]}","input_tokens":3,"output_tokens":7,"seed":null}`},
	} {
		w := ask(h, test.method, test.target, test.body)
		kind := "application/json"
		if test.target == "/invoke_stream" {
			kind = "application/x-ndjson"
		}
		if w.Code != 200 || w.Body.String() != test.want+"\n" || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s %s: got %d %s %s", test.target, test.body, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
	got := ask(h, "GET", "/list_models", "").Body.String()
	for _, want := range []string{
		`{"models":[{"model_type":"Alpha","model_name":"org/story:1","model_family":"local","streaming":true},`,
		`{"model_type":"Claude","model_name":"anthropic.claude-v2:1","model_family":"bedrock","streaming":false}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if got := ask(handler(llm.Fixed{}), "GET", "/list_models", "").Body.String(); got != `{"models":[]}`+"\n" {
		t.Error(got)
	}
	if g := ask(h, "POST", "/invoke", to("local", "form", `{"prompt":"a"}`)).Header().Get("X-Glossa-Guarantee"); g != "enforced" {
		t.Errorf("guarantee %q", g)
	}
}

// TestErrors compares the status and body of each error, which are the same for a stream
// that has not begun.
func TestErrors(t *testing.T) {
	h := handler(testModels())
	occurred := func(text string) string { return `{"error":"An error occurred: ` + text + `","stacktrace":""}` }
	fault := func(message string) string {
		return `{"detail":[{"loc":["body"],"msg":"` + message + `","type":"value_error"}]}`
	}
	const unmapped = `: this model does not support it: remove it, or send \"ignore_unmapped\": true next to body`
	for _, test := range []struct {
		body   string
		status int
		want   string
	}{
		{`{}`, 200, `{"error":"Request must contain [model_family] parameter."}`},
		{`{"model_family":null,"model_name":"x"}`, 200, `{"error":"Request must contain [model_family] parameter."}`},
		{`{"model_family":"nope","body":{}}`, 200, `{"error":"Request must contain [model_name] parameter."}`},
		{`{"model_family":"nope","model_name":"x"}`, 200, `{"error":"Request must contain [body] parameter."}`},
		{`{"model_family":"nope","model_name":"x","body":{}}`, 200, occurred(`No module named 'handlers.nope'`)},
		{to("bedrock", "nope", `{}`), 200, occurred(`the family \"bedrock\" has no model \"nope\"`)},
		{to("bedrock", "hidden", `{}`), 200, occurred(`the family \"bedrock\" has no model \"hidden\"`)},
		{to("", "", `{}`), 200, occurred(`No module named 'handlers.'`)},
		{to("local", "", `{}`), 200, occurred(`the family \"local\" has no model \"\"`)},
		{``, 422, fault(`the body is empty: a JSON object is expected`)},
		{`{`, 422, fault(`the body is not valid JSON: unexpected end of JSON input`)},
		{`[]`, 422, fault(`the body must be an object, not array`)},
		{`null`, 422, fault(`the body must be an object, not null`)},
		{`{"model_family":5}`, 200, occurred(`model_family: must be a string, not number`)},
		{to("local", "form", `[]`), 200, occurred(`body: must be an object, not array`)},
		{`{"model_family":"local","model_name":"form","body":{},"parameters":{}}`, 200, occurred(`parameters: unknown parameter`)},
		{to("local", "form", `{"prompt":"a","prompt":"b"}`), 200, occurred(`body: \"prompt\" appears twice`)},
		{to("local", "form", `{}`), 200, occurred(`prompt: is required unless messages is sent`)},
		{to("local", "form", `{"prompt":null}`), 200, occurred(`prompt: is required unless messages is sent`)},
		{to("local", "form", `{"prompt":"a","watermark":true,"details":[0]}`), 200, occurred(`details` + unmapped)},
		{`{` + claude + `,"body":{"prompt":"a","top_k":0}}`, 200, occurred(`top_k` + unmapped)},
		{`{` + claude + `,"body":{"prompt":"fail"}}`, 200, occurred(`the endpoint is gone`)},
		{to("local", "long", `{"prompt":"a"}`), 200, occurred(`the prompt has 300 tokens, the context of this model 256`)},
		{to("local", "picky", `{"prompt":"a"}`), 200, occurred(`top_p: must be greater than 0`)},
		{to("local", "late", `{"prompt":"a"}`), 200, occurred(`the deadline passed`)},
		{to("local", "full", `{"prompt":"a"}`), 429, occurred(`8 requests are waiting`)},
		{to("local", "bug", `{"prompt":"a"}`), 500, occurred(`internal error`)},
		{to("local", "bug", `{"prompt":"`+strings.Repeat("x", httpx.DefaultMaxBody)+`"}`), 413, occurred(`the body is larger than 10485760 bytes`)},
	} {
		for _, target := range []string{"/invoke", "/invoke_stream"} {
			if target == "/invoke_stream" && strings.Contains(test.body, `"fail"`) {
				continue // it has begun: see TestBroken
			}
			if w := ask(h, "POST", target, test.body); w.Code != test.status || w.Body.String() != test.want+"\n" || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s %.200s: got %d %s", target, test.body, w.Code, w.Body)
			}
		}
	}
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/invoke", "", 405, `{"detail":"Method Not Allowed"}`},
		{"POST", "/ping", "{}", 405, `{"detail":"Method Not Allowed"}`},
		{"POST", "/invoke", to("local", "form", `{"prompt":"a","stream":true}`), 200, occurred(`stream: must be false here: use /invoke_stream to stream`)},
		{"POST", "/invoke", `{` + claude + `,"body":{"prompt":"a","stream":true}}`, 200, occurred(`stream: must be false here: use /invoke_stream to stream`)},
		{"POST", "/invoke", `{` + tgi + `,"body":{"prompt":"a","stream":"x"}}`, 200, occurred(`stream: must be a boolean, not string`)},
		{"POST", "/invoke", `{` + claude + `,"body":{"prompt":"silence"}}`, 200, occurred(`the model returned no answer`)},
	} {
		if w := ask(h, test.method, test.target, test.body); w.Code != test.status || w.Body.String() != test.want+"\n" {
			t.Errorf("%s %s: got %d %s", test.method, test.target, w.Code, w.Body)
		}
	}
	if got := ask(h, "POST", "/invoke", to("local", "full", `{"prompt":"a"}`)).Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
}

// TestErrorCodes: statuses of the codes that no request above causes.
func TestErrorCodes(t *testing.T) {
	for code, want := range map[llm.Code]int{
		llm.Unauthenticated: 401, llm.Forbidden: 403, httpx.Gone: 499, llm.Unsupported: 200, llm.Invalid: 200, llm.Upstream: 200, llm.NotFound: 200,
	} {
		if status, _ := Errors.Body(&llm.Error{Code: code, Message: "m"}); status != want {
			t.Errorf("%s: %d", code, status)
		}
	}
}

// TestBroken: an error in a stream is its last line.
func TestBroken(t *testing.T) {
	h := handler(testModels())
	for body, last := range map[string]string{
		to("local", "breaks", `{"prompt":"a"}`):     `{"error":"An error occurred: internal error","stacktrace":""}`,
		`{` + claude + `,"body":{"prompt":"fail"}}`: `{"error":"An error occurred: the endpoint is gone","stacktrace":""}`,
	} {
		w := ask(h, "POST", "/invoke_stream", body)
		if want := `{"generated_text":"so far"}` + "\n" + last + "\n"; w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
}

// TestContentType: clients send none, and a form is not an object.
func TestContentType(t *testing.T) {
	h := handler(testModels())
	for kind, want := range map[string]int{
		"": 200, "application/json": 200, "application/json; charset=utf-8": 200, "application/vnd.x+json": 200,
		"application/x-www-form-urlencoded": 422, "text/plain": 422, "text/x+json": 422, ";": 422,
	} {
		r := httptest.NewRequest("POST", "/invoke", strings.NewReader(to("local", "form", `{"prompt":"a"}`)))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want || want == 422 && !strings.HasPrefix(w.Body.String(), `{"detail":[{"loc":["body"],"msg":"the Content-Type is `) {
			t.Errorf("%q: %d %s", kind, w.Code, w.Body)
		}
	}
}

// TestCounted: the meter records the tokens that a remote model reports once: in a stream
// the last report.
func TestCounted(t *testing.T) {
	for target, body := range map[string]string{"/invoke": `{` + claude + `,"body":{"prompt":"a"}}`, "/invoke_stream": `{` + claude + `,"body":{"prompt":"a"}}`} {
		var got llm.Usage
		mux := httpx.Mux{Routes: Routes(Config{Models: meter.Models(testModels())}), Observe: func(rec *httpx.Record) { got = rec.Usage }}
		ask(mux.Handler(), "POST", target, body)
		if (got != llm.Usage{Input: 3, Output: 7}) {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

// TestGone: a disconnected client gets no answer.
func TestGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got *llm.Error
	mux := httpx.Mux{Routes: Routes(Config{Models: testModels()}), Observe: func(rec *httpx.Record) { got = rec.Err }}
	r := httptest.NewRequest("POST", "/invoke", strings.NewReader(to("local", "org/story:1", `{"prompt":"a"}`))).WithContext(ctx)
	mux.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if got == nil || got.Code != httpx.Gone {
		t.Errorf("%v", got)
	}
}

// TestDifferences lists and checks the differences from API layer's documentation and its server, each with
// its reason.
func TestDifferences(t *testing.T) {
	h := handler(testModels())
	for _, test := range []struct {
		original, reason string
		target, body     string
		status           int
		has              string
	}{
		{
			"keys of body that the record does not map are dropped", "nothing that a client sends is dropped in silence: it says so itself with ignore_unmapped, or the operator does for it",
			"/invoke", `{` + claude + `,"body":{"prompt":"a","top_p":0.5}}`, 200, `"error":"An error occurred: top_p: `,
		},
		{
			"stream in the body of /invoke goes to the model", "its answer could not be read",
			"/invoke", `{` + tgi + `,"body":{"prompt":"a","stream":true}}`, 200, `"error":"An error occurred: stream: must be false here`,
		},
		{
			"other keys beside body are ignored", "as above",
			"/invoke", `{"model_family":"local","model_name":"form","body":{"prompt":"a"},"stream":true}`, 200, `"error":"An error occurred: stream: unknown parameter"`,
		},
		{
			"without body, and where a model fails, error is an empty object", "it says what is wrong",
			"/invoke", `{"model_family":"local","model_name":"form"}`, 200, `"error":"Request must contain [body] parameter."`,
		},
		{
			"stacktrace shows the server's code", "it is empty: callers have no use for it, attackers may",
			"/invoke", to("local", "nope", `{}`), 200, `"stacktrace":""`,
		},
		{
			"a fault of the server has status 200 too", "an alarm looks at statuses",
			"/invoke", to("local", "bug", `{"prompt":"a"}`), 500, `"error":"An error occurred: internal error"`,
		},
		{
			"an error before the first line of a stream is a line of NDJSON", "it is the same bytes as JSON, and has the status of its kind",
			"/invoke_stream", to("local", "full", `{"prompt":"a"}`), 429, `"error":`,
		},
		{
			"families are bedrock and sagemaker", "models in the process are called with the same bodies",
			"/invoke", to("local", "org/story:1", `{"prompt":"a"}`), 200, `"generated_text":"Once upon a time"`,
		},
		{
			"an event without keys is a line {}", "clients read generated_text or error of every line; empty_lines asks for it",
			"/invoke_stream", `{` + claude + `,"body":{"prompt":"a"}}`, 200, "\"one\",\"output_tokens\":1}\n{\"generated_text\"",
		},
	} {
		if w := ask(h, "POST", test.target, test.body); w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}
}
