package httpx

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// dialect is the error shape of a dialect in the tests; the header X-Client names its clients.
type dialect string

func (d dialect) Body(e *llm.Error) (int, any) {
	return Status(e.Code), map[string]string{string(d): e.Message}
}
func (dialect) InBand(*llm.Error) []byte         { return nil }
func (d dialect) Claims(header http.Header) bool { return header.Get("X-Client") == string(d) }
func (d dialect) RequestIDHeader() string        { return string(d) + "-Id" }
func (d dialect) route(method, pattern string) Route {
	return Route{Method: method, Pattern: pattern, Dialect: string(d), Errors: d, Handle: ok}
}

// TestUnknown: a path without a route is answered by the dialect that the client means.
func TestUnknown(t *testing.T) {
	long := dialect("long")
	routes := []Route{
		dialect("a").route("POST", "/v1/chat/completions"), dialect("a").route("GET", "/v1/models/{id...}"), dialect("a").route("POST", "/score"),
		dialect("b").route("POST", "/v1/messages"), dialect("b").route("POST", "/v1/messages/count"),
		dialect("c").route("POST", "/v1/engines/{id...}/completions"), dialect("c").route("POST", "/v1/engines/{id...}/logprob"),
		{Method: "GET", Pattern: "/health", Handle: ok}, {Method: "GET", Pattern: "/{$}", Handle: ok},
	}
	for i := range 60 {
		routes = append(routes, long.route("PUT", "/long/"+strings.Repeat("x", 10+i)))
	}
	const ofA, ofB, ofC = "POST /v1/chat/completions, GET /v1/models/{id}, POST /score", "POST /v1/messages, POST /v1/messages/count", "POST /v1/engines/{id}/completions, POST /v1/engines/{id}/logprob"
	for _, c := range []struct{ path, client, dialect, list string }{
		{"/v1/chat/completion", "", "a", ofA},                               // a letter is missing
		{"/v1/chat/compeltions", "", "a", ofA},                              // two are swapped
		{"/v1/chat", "", "a", ofA},                                          // the end is missing
		{"/v1/v1/chat/completions", "", "a", ofA},                           // the prefix twice
		{"/chat/completions", "", "a", ofA},                                 // without it
		{"/v1/chat/completions/", "", "a", ofA},                             // with a slash at the end
		{"/scor", "", "a", "POST /score, "},                                 // the similar one is first
		{"/v1/message", "", "b", ofB},                                       // another dialect's
		{"/v1/messages/batches", "", "b", ofB},                              // begins as its
		{"/v1/assistants", "b", "b", ofB},                                   // the client says whose it is
		{"/v1/chat/completion", "b", "b", ofB},                              // though it is similar to another's
		{"/v1/engines/x/y/nope", "", "c", "POST /v1/engines/{id}/"},         // a wildcard between
		{"/v1/engines", "", "c", "POST /v1/engines/{id}/"},                  // most of its routes begin so
		{"/helth", "", "error", "GET /health, "},                            // of no dialect
		{"/wp-login.php", "", "error", ""},                                  // of none at all
		{"/long/" + strings.Repeat("y/", 1<<16), "", "long", "PUT /long/x"}, // megabytes cost no more
		{"/long/" + strings.Repeat("x", 1<<16), "", "long", "PUT /long/x"},
	} {
		r := httptest.NewRequest("POST", c.path, nil)
		r.Header.Set("X-Client", c.client)
		w := httptest.NewRecorder()
		(&Mux{Routes: routes}).Handler().ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != 404 || !strings.HasPrefix(body, `{"`+c.dialect+`":"no such path; there are `+c.list) || len(body) > maxMessage {
			t.Errorf("%.40s: %d %s", c.path, w.Code, body)
		}
		if id := w.Header().Get(c.dialect + "-Id"); c.dialect != "error" && (id == "" || id != w.Header().Get("X-Request-Id")) {
			t.Errorf("%.40s: id %q", c.path, id)
		}
		if more := strings.Contains(body, " more"); more != (c.dialect == "error" || c.dialect == "long" || c.dialect == "c" || c.path == "/scor") {
			t.Errorf("%.40s: %s", c.path, body)
		}
	}
	// The routes of all dialects are named if it is not sure which one is meant, and the route that lists them.
	several := []Route{
		dialect("a").route("POST", "/api/chat"), dialect("a").route("POST", "/api/generate"), dialect("b").route("GET", "/api/tags"), dialect("b").route("GET", "/api/x/{id}"),
		dialect("c").route("GET", "/x/{id}"), {Method: "GET", Pattern: "/openapi.json", Handle: ok}, {Method: "GET", Pattern: "/docs", Handle: ok},
	}
	for path, want := range map[string]string{
		"/api/pull": `{"a":"no such path; there are POST /api/chat, POST /api/generate, GET /api/tags and 4 more: GET /docs lists all"}`,
		"/foo":      `{"error":"no such path; there are GET /openapi.json, GET /docs, POST /api/chat and 4 more: GET /docs lists all"}`,
	} {
		w := httptest.NewRecorder()
		(&Mux{Routes: several}).Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := strings.TrimSpace(w.Body.String()); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	w := httptest.NewRecorder()
	(&Mux{}).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	if got := strings.TrimSpace(w.Body.String()); got != `{"error":"no such path"}` {
		t.Errorf("without routes: %s", got)
	}
}
