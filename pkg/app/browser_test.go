package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"glossa/pkg/httpx"
)

// served starts an app on this machine, as an operator does, and returns its address.
func served(t *testing.T, a *App) string {
	t.Helper()
	ln, err := a.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, ln) }()
	t.Cleanup(func() {
		if stop(); <-ended != nil {
			t.Error("the server did not end")
		}
	})
	return ln.Addr().String()
}

// fromPage sends a browser's request for a page, and returns the answer.
func fromPage(t *testing.T, address, method, path, host, origin string) *http.Response {
	t.Helper()
	body := `{"model":"golden","max_tokens":2,"temperature":0,"messages":[{"role":"user","content":"a"}]}`
	if method == http.MethodGet || method == http.MethodOptions {
		body = ""
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Content-Type", "text/plain") // needs no preflight
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// An open server runs no model for a page of another origin, or for one whose name resolves
// to this machine. A server with keys is protected by them. Alpha's server lets all origins read
// all answers ("CORS"): that is GLOSSA_ORIGINS=*, which the stacks set, but which would let
// any page spend the money of a user who serves on their own machine.
func TestPagesOfOthers(t *testing.T) {
	const chat = "/v1/chat/completions"
	open, named := served(t, golden(t, Config{})), served(t, golden(t, Config{Hosts: []string{"glossa"}, Origins: []string{"https://app.example.com"}}))
	closed := served(t, golden(t, Config{Auth: true, Keys: keys(t)}))
	listening := served(t, golden(t, Config{Listen: "box.example.com:80"}))
	for _, test := range []struct {
		address, method, path, host, origin string
		status                              int
		says                                string
	}{
		{open, "POST", chat, "", "", 200, `"chat.completion"`},
		{open, "POST", chat, open, "http://" + open, 200, `"chat.completion"`},
		{open, "POST", chat, "localhost:9000", "", 200, `"chat.completion"`}, // a forwarded port
		{open, "POST", chat, "evil.example", "", 403, `"code":"insufficient_permissions"`},
		{open, "POST", chat, "evil.example", "http://evil.example", 403, "GLOSSA_HOSTS"},
		{open, "GET", "/api/generate?prompt=a", "evil.example", "", 403, "GLOSSA_HOSTS"},
		{open, "GET", "/", "evil.example", "", 403, "GLOSSA_HOSTS"},
		{open, "POST", chat, "", "https://evil.example", 403, "GLOSSA_ORIGINS"},
		{open, "POST", chat, "", "null", 403, "GLOSSA_ORIGINS"},
		{open, "GET", "/metrics", "", "https://evil.example", 403, "other origins"},
		{open, "GET", "/usage", "", "https://evil.example", 403, "other origins"},
		{open, "GET", "/activity", "", "https://evil.example", 403, "other origins"},
		{named, "POST", chat, "glossa:8080", "https://app.example.com", 200, `"chat.completion"`},
		{named, "GET", "/metrics", "", "https://app.example.com", 403, "other origins"},
		{named, "GET", "/usage", "", "https://app.example.com", 403, "other origins"},
		{named, "POST", chat, "evil.example", "", 403, "GLOSSA_HOSTS"},
		{closed, "POST", chat, "glossa:8080", "", 401, `"invalid_api_key"`},
		{closed, "POST", chat, "glossa:8080", "https://evil.example", 403, "GLOSSA_ORIGINS"},
		{listening, "GET", "/v1/models", "box.example.com:80", "", 200, `"golden"`},
		{listening, "GET", "/v1/models", "example.com:80", "", 403, "GLOSSA_HOSTS"},
	} {
		res := fromPage(t, test.address, test.method, test.path, test.host, test.origin)
		if got := text(t, res); res.StatusCode != test.status || !strings.Contains(got, test.says) {
			t.Errorf("%+v: %d %s", test, res.StatusCode, got)
		}
	}
}

// A gateway routes to functions by host name, which they do not check by default.
func TestHostsBehindAGateway(t *testing.T) {
	for _, test := range []struct {
		hosts  []string
		host   string
		status int
	}{{nil, "abc.execute-api.us-east-1.amazonaws.com", 200}, {[]string{"llm.example.com"}, "llm.example.com", 200}, {[]string{"llm.example.com"}, "abc.lambda-url.us-east-1.on.aws", 403}} {
		r, w := httptest.NewRequest("GET", "/v1/models", nil), httptest.NewRecorder()
		r.Host = test.host
		if golden(t, Config{Hosts: test.hosts}).Handler().ServeHTTP(w, r); w.Code != test.status {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
	}
}

// Every route rejects pages of other origins in the shape of its dialect's errors, before
// any work, and no setting opens the operator's routes.
func TestRoutesOfPages(t *testing.T) {
	own, all := golden(t, Config{}), golden(t, Config{Origins: []string{"*"}})
	for _, route := range own.Routes() {
		path := strings.NewReplacer("{id...}", "golden", "{engine_id...}", "golden", "{$}", "", "{file...}", "style.css").Replace(route.Pattern)
		send := func(a *App, method string) *http.Response {
			r, w := httptest.NewRequest(method, path+"?model=none&name=none", nil), httptest.NewRecorder()
			r.Header.Set("Origin", "https://evil.example")
			a.Handler().ServeHTTP(w, r)
			return w.Result()
		}
		for _, method := range []string{route.Method, http.MethodOptions} {
			res := send(own, method)
			var shaped map[string]any
			got := text(t, res)
			if err := json.Unmarshal([]byte(got), &shaped); err != nil || res.StatusCode != 403 || !strings.Contains(got, "may not use") && !strings.Contains(got, "cannot read") {
				t.Errorf("%s %s: %d %s", method, path, res.StatusCode, got)
			}
			allowed, want := send(all, method).Header.Get("Access-Control-Allow-Origin"), "*"
			if route.Permission == httpx.Metrics {
				want = ""
			}
			if allowed != want || res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s is open to %q, and by default to %q", method, path, allowed, res.Header.Get("Access-Control-Allow-Origin"))
			}
		}
	}
}
