package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestUnknownPaths: each dialect answers a path that it does not have in its own shape, with those
// of its paths that are similar, from the server of all families and from its own function.
func TestUnknownPaths(t *testing.T) {
	a := golden(t, Config{})
	for _, c := range []struct {
		family, path string
		header       string
		keys         []string // to the message
		names        string
	}{
		{"openai", "/v1/chat/completion", "", []string{"error", "message"}, "POST /v1/chat/completions"},
		{"openai", "/v1/assistants", "", []string{"error", "message"}, ""},
		{"embeddings", "/v1/embeddins", "", []string{"error", "message"}, "POST /v1/embeddings"},
		{"responses", "/v1/response", "", []string{"error", "message"}, "POST /v1/responses"},
		{"messages", "/v1/message", "", []string{"error", "message"}, "POST /v1/messages"},
		{"messages", "/v1/complete", "Anthropic-Version", []string{"error", "message"}, ""},
		{"ollama", "/api/embeds", "", []string{"error"}, "POST /api/embed"},
		{"alpha", "/api/upload/begin", "", []string{"error"}, "POST /api/upload"},
		{"textsynth", "/v1/engines/novels/complete", "", []string{"error"}, "POST /v1/engines/{engine_id}/completions"},
		{"alephalpha", "/completes", "", []string{"error"}, "POST /complete"},
		{"lamini", "/v2/completion", "", []string{"detail"}, "POST /v2/completions"},
		{"lamini", "/v1/train", "Lamini-Version", []string{"detail"}, ""},
		{"invoke", "/invoke/stream", "", []string{"detail"}, ""},
	} {
		for name, h := range map[string]http.Handler{"all": a.Handler(), "own": a.Handler(c.family), "catch-all": a.Handler(CatchAll)} {
			r := httptest.NewRequest("POST", c.path, nil)
			r.Header[c.header] = []string{"1"}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			res := w.Result()
			var body any
			if err := json.Unmarshal([]byte(text(t, res)), &body); err != nil {
				t.Fatal(err)
			}
			got := body
			for _, key := range c.keys {
				fields, _ := got.(map[string]any)
				got = fields[key]
			}
			message, _ := got.(string)
			if res.StatusCode != 404 || !strings.HasPrefix(message, "no such path") || strings.Contains(message, "mean") != (c.names != "") || !strings.Contains(message, c.names) {
				t.Errorf("%s, %s of %s: %d %v", c.path, name, c.family, res.StatusCode, body)
			}
		}
	}
}
