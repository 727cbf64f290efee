package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/account"
)

// What surrounds the handlers answers Anthropic's clients in their shape, with the id of the
// request, and reads their key.
func TestGuardsOfMessages(t *testing.T) {
	h := golden(t, Config{Auth: true, Keys: keys(t), Accounts: emptyAccounts(t)}).Handler()
	const hello = `{"model":"golden","max_tokens":2,"messages":[{"role":"user","content":"a"}]}`
	huge := strings.Repeat(" ", 11<<20)
	for _, c := range []struct {
		method, path, header, body, kind string
		status                           int
	}{
		{"POST", "/v1/messages", "", hello, "authentication_error", 401},
		{"POST", "/v1/messages/count_tokens", "", hello, "authentication_error", 401},
		{"GET", "/v1/models", "", "", "authentication_error", 401},
		{"GET", "/v1/models/golden", "", "", "authentication_error", 401},
		{"POST", "/v1/messages", "X-Api-Key", huge, "request_too_large", 413},
		{"GET", "/v1/messages", "X-Api-Key", "", "invalid_request_error", 405},
		{"GET", "/v1/models/none", "X-Api-Key", "", "not_found_error", 404},
		{"POST", "/v1/messages?beta=true", "X-Api-Key", hello, "", 200},
		{"POST", "/v1/messages", "Authorization", hello, "", 200},
		{"GET", "/v1/models", "X-Api-Key", "", "", 200},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Anthropic-Version", "2023-06-01")
		if c.header != "" {
			r.Header.Set(c.header, secrets[account.Client])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var body struct {
			Type      string
			Error     struct{ Type, Message string }
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != c.status || w.Header().Get("Request-Id") == "" {
			t.Fatalf("%s %s: %v, %d %v %s", c.method, c.path, err, w.Code, w.Header(), w.Body)
		}
		if failed := w.Code != http.StatusOK; failed && (body.Type != "error" || body.Error.Message == "" || body.RequestID != w.Header().Get("Request-Id")) || body.Error.Type != c.kind {
			t.Errorf("%s %s: %s", c.method, c.path, w.Body)
		}
	}
}
