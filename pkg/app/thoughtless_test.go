package app

import (
	"strings"
	"testing"
)

// TestThoughtless: a local model that does not reason rejects requests to reason, with the client's key in
// the shape of its dialect, and accepts those not to.
func TestThoughtless(t *testing.T) {
	h := golden(t, Config{}).Handler()
	const (
		chat     = `{"model":"golden","max_tokens":1,"messages":[{"role":"user","content":"a"}],`
		response = `{"model":"golden","max_output_tokens":1,"input":"a",`
		ollama   = `{"model":"golden","stream":false,"options":{"num_predict":1},"messages":[{"role":"user","content":"a"}],`
		generate = `{"model":"golden","stream":false,"options":{"num_predict":1},"prompt":"a",`
		why      = `this model does not reason before its answer`
	)
	openai := func(key string) string {
		return `{"error":{"message":"Unsupported parameter '` + key + `': ` + why + `","type":"invalid_request_error","param":"` + key + `","code":"unsupported_parameter"}}`
	}
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chat/completions", chat + `"reasoning_effort":"low"}`, openai("reasoning_effort")},
		{"/v1/chat/completions", chat + `"reasoning":{"effort":"high"}}`, openai("reasoning.effort")},
		{"/v1/chat/completions", chat + `"enable_thinking":true}`, openai("enable_thinking")},
		{"/v1/chat/completions", chat + `"reasoning_effort":"none"}`, ""},
		{"/v1/chat/completions", chat + `"reasoning":{"enabled":false}}`, ""},
		{"/v1/responses", response + `"reasoning":{"effort":"minimal"}}`, openai("reasoning.effort")},
		{"/v1/responses", response + `"reasoning":{"effort":"none"}}`, ""},
		{"/v1/responses", response + `"reasoning":{"effort":null}}`, ""},
		{"/api/chat", ollama + `"think":true}`, `{"error":"think: ` + why + `"}`},
		{"/api/chat", ollama + `"think":"low"}`, `{"error":"think: ` + why + `"}`},
		{"/api/chat", ollama + `"think":false}`, ""},
		{"/api/generate", generate + `"think":true}`, `{"error":"think: ` + why + `"}`},
		{"/api/generate", generate + `"think":"high"}`, `{"error":"think: ` + why + `"}`},
		{"/api/generate", generate + `"think":false}`, ""},
	} {
		res := ask(h, "POST", c.path, "", strings.NewReader(c.body))
		got, status := strings.TrimSpace(text(t, res)), 400
		if c.want == "" {
			got, status = "", 200
		}
		if res.StatusCode != status || got != c.want {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, res.StatusCode, got, status, c.want)
		}
	}
}
