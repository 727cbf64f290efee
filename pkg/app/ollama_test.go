package app

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// On a port of its own, Ollama's API has all of its paths, also those that Alpha's has elsewhere,
// those below /v1 that Ollama has for clients of OpenAI and Anthropic, and nothing else.
func TestServeOllama(t *testing.T) {
	a := golden(t, Config{})
	ln, err := a.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.ServeOllama(ctx, ln) }()
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/", "", "Ollama is running"},
		{"HEAD", "/", "", ""},
		{"GET", "/api/version", "", `{"version":"0.14.2"}`},
		{"GET", "/api/tags", "", `{"models":[{"name":"golden:latest"`},
		{"POST", "/api/chat", `{"model":"golden","messages":[]}`, `"done_reason":"load"`},
		{"POST", "/v1/chat/completions", `{"model":"golden","messages":[{"role":"user","content":"a"}],"max_tokens":1}`, `"object":"chat.completion"`},
		{"POST", "/v1/responses", `{"model":"golden","input":"a","max_output_tokens":1}`, `"object":"response"`},
		{"POST", "/v1/messages", `{"model":"golden","messages":[{"role":"user","content":"a"}],"max_tokens":1}`, `"type":"message"`},
		{"GET", "/v1/models", "", `"id":"golden"`},
		{"POST", "/complete", `{}`, `{"error":"no such path: POST /complete"}`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+ln.Addr().String()+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, res); !strings.Contains(got, c.want) || (res.StatusCode == 200) != (c.path != "/complete") {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, res.StatusCode, got, c.want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
