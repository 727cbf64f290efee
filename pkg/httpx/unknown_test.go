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
	for _, c := range []struct{ path, client, dialect, list string }{
		{"/v1/chat/completion", "", "a", "POST /v1/chat/completions?"},                                         // a letter is missing
		{"/v1/chat/compeltions", "", "a", "POST /v1/chat/completions?"},                                        // two are swapped
		{"/v1/chat", "", "a", "POST /v1/chat/completions?"},                                                    // the end is missing
		{"/v1/v1/chat/completions", "", "a", "POST /v1/chat/completions?"},                                     // the prefix twice
		{"/chat/completions", "", "a", "POST /v1/chat/completions?"},                                           // without it
		{"/v1/chat/completions/", "", "a", "POST /v1/chat/completions?"},                                       // with a slash at the end
		{"/scor", "", "a", "POST /score?"},                                                                     // of one segment
		{"/v1/message", "", "b", "POST /v1/messages?"},                                                         // another dialect's
		{"/v1/messages/batches", "", "b", "POST /v1/messages or POST /v1/messages/count?"},                     // begins as its
		{"/v1/assistants", "b", "b", ""},                                                                       // the client says whose it is
		{"/v1/chat/completion", "b", "b", ""},                                                                  // though it is similar to another's
		{"/v1/engines/x/y/nope", "", "c", ""},                                                                  // a wildcard between
		{"/v1/engines/x/nope", "", "c", "POST /v1/engines/{id}/completions or POST /v1/engines/{id}/logprob?"}, // another end
		{"/v1/engines", "", "c", ""},                                                                           // most of its routes begin so
		{"/v1/nothing/like/it", "", "c", ""},                                                                   // only the prefix is known
		{"/helth", "", "error", "GET /health?"},                                                                // of no dialect
		{"/wp-login.php", "", "error", ""},                                                                     // of none at all
		{"/long/" + strings.Repeat("y/", 1<<16), "", "long", ""},                                               // megabytes cost no more
		{"/long/" + strings.Repeat("x", 1<<16), "", "long", "PUT /long/xxxxxxxxxx or PUT /long/xxxxxxxxxxx or PUT /long/xxxxxxxxxxxx?"},
	} {
		r := httptest.NewRequest("POST", c.path, nil)
		r.Header.Set("X-Client", c.client)
		w := httptest.NewRecorder()
		(&Mux{Routes: routes}).Handler().ServeHTTP(w, r)
		body := w.Body.String()
		want := ": POST " + c.path[:min(len(c.path), 100)]
		if c.list != "" {
			want += "; did you mean " + c.list
		}
		if w.Code != 404 || strings.TrimSpace(body) != `{"`+c.dialect+`":"no such path`+want+`"}` {
			t.Errorf("%.40s: %d %s", c.path, w.Code, body)
		}
		if id := w.Header().Get(c.dialect + "-Id"); c.dialect != "error" && (id == "" || id != w.Header().Get("X-Request-Id")) {
			t.Errorf("%.40s: id %q", c.path, id)
		}
	}
	// The route that lists all others is named.
	several := []Route{
		dialect("a").route("POST", "/api/chat"), dialect("a").route("POST", "/api/generate"), dialect("b").route("GET", "/api/tags"), dialect("b").route("GET", "/api/x/{id}"),
		dialect("c").route("GET", "/x/{id}"), {Method: "GET", Pattern: "/openapi.json", Handle: ok}, {Method: "GET", Pattern: "/docs", Handle: ok},
	}
	for path, want := range map[string]string{
		"/api/pull": `{"a":"no such path: GET /api/pull; GET /docs lists all"}`,
		"/api/tag":  `{"b":"no such path: GET /api/tag; did you mean GET /api/tags? GET /docs lists all"}`,
		"/foo":      `{"error":"no such path: GET /foo; GET /docs lists all"}`,
	} {
		w := httptest.NewRecorder()
		(&Mux{Routes: several}).Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := strings.TrimSpace(w.Body.String()); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	w := httptest.NewRecorder()
	(&Mux{}).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	if got := strings.TrimSpace(w.Body.String()); got != `{"error":"no such path: GET /x"}` {
		t.Errorf("without routes: %s", got)
	}
}
