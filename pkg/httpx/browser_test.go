package httpx

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// fetched is a table with a route of each kind that matters to browsers. Handlers note
// that they ran.
func fetched(b Browsers, ran *bool) *Mux {
	handle := func(w http.ResponseWriter, r *http.Request) error { *ran = true; return ok(w, r) }
	return &Mux{Browsers: b, Routes: []Route{
		{Method: "GET", Pattern: "/models", Permission: Listing, Handle: handle},
		{Method: "GET", Pattern: "/generate", Permission: Inference, Handle: handle},
		{Method: "POST", Pattern: "/generate", Permission: Inference, Handle: handle},
		{Method: "POST", Pattern: "/token", Permission: Public, Handle: handle},
		{Method: "GET", Pattern: "/metrics", Permission: Metrics, Handle: handle},
	}}
}

// A fetch is a request of a browser, to the server at http://server.test:8080.
type fetch struct {
	method, path string
	origin, site string // Origin and Sec-Fetch-Site; "": not sent
	status       int
	allowed      string // Access-Control-Allow-Origin
}

func (f fetch) check(t *testing.T, b Browsers) {
	t.Helper()
	header, ran := http.Header{}, false
	for name, value := range map[string]string{"Origin": f.origin, "Sec-Fetch-Site": f.site} {
		if value != "" {
			header.Set(name, value)
		}
	}
	w := serve(fetched(b, &ran), f.method, "http://server.test:8080"+f.path, header, "")
	if w.Code != f.status || w.Header().Get("Access-Control-Allow-Origin") != f.allowed {
		t.Errorf("%+v: %d %s, allowed %q", f, w.Code, w.Body, w.Header().Get("Access-Control-Allow-Origin"))
	}
	if ran != (f.status == http.StatusOK) {
		t.Errorf("%+v: the handler ran: %v", f, ran)
	}
	if f.status == http.StatusForbidden && !strings.HasPrefix(w.Body.String(), `{"code":"forbidden","message":"pages of `) {
		t.Errorf("%+v: %s", f, w.Body)
	}
	if all := slices.Contains(b.Origins, "*") && f.path != "/metrics"; !all && !slices.Contains(w.Header()["Vary"], "Origin") {
		t.Errorf("%+v: caches are not told that the answer is of an origin: %v", f, w.Header())
	}
	if (f.path == "/metrics") != (w.Header().Get("Cross-Origin-Resource-Policy") == "same-origin") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%+v: headers %v", f, w.Header())
	}
}

const (
	own   = "http://server.test:8080"
	evil  = "https://evil.example"
	named = "https://app.example.com"
)

// Only pages of the server's own origin may use it, unless other origins are listed.
func TestOrigins(t *testing.T) {
	for _, f := range []fetch{
		{"POST", "/generate", "", "", 200, ""}, // not a browser
		{"POST", "/generate", own, "", 200, own},
		{"POST", "/generate", own, "same-origin", 200, own},
		{"POST", "/generate", "https://proxy.example", "same-origin", 200, "https://proxy.example"}, // a proxy that sends another Host
		{"POST", "/generate", "chrome-extension://abc", "none", 200, "chrome-extension://abc"},
		{"POST", "/generate", evil, "", 403, ""},
		{"POST", "/generate", evil, "cross-site", 403, ""},
		{"POST", "/generate", "null", "", 403, ""},
		{"POST", "/generate", "http://server.test:3000", "same-site", 403, ""},
		{"POST", "/generate", "http://server.test", "", 403, ""},
		{"POST", "/generate", "http://server.test:8080.evil.example", "", 403, ""},
		{"POST", "/generate", own, "cross-site", 403, ""}, // of the same host without TLS
		{"POST", "/token", evil, "", 403, ""},
		{"POST", "/nope", evil, "", 403, ""},
		{"GET", "/models", "", "same-origin", 200, ""},
		{"GET", "/models", "", "none", 200, ""},
		{"GET", "/models", evil, "", 403, ""},
		{"GET", "/models", "", "cross-site", 200, ""},   // a link, which the page cannot read
		{"GET", "/generate", "", "cross-site", 403, ""}, // an image that runs a model
		{"HEAD", "/generate", "", "cross-site", 403, ""},
		{"GET", "/generate", "", "", 200, ""},
		{"GET", "/metrics", "", "", 200, ""},
		{"GET", "/metrics", own, "", 200, own},
		{"GET", "/metrics", evil, "", 403, ""},
		{"OPTIONS", "/generate", "", "", 204, ""},
		{"OPTIONS", "/generate", own, "", 204, own},
		{"OPTIONS", "/generate", evil, "cross-site", 403, ""},
		{"OPTIONS", "/metrics", evil, "cross-site", 403, ""},
	} {
		f.check(t, Browsers{})
	}
	for _, f := range []fetch{
		{"POST", "/generate", named, "cross-site", 200, named},
		{"POST", "/generate", strings.ToUpper(named), "", 200, strings.ToUpper(named)},
		{"POST", "/generate", own, "", 200, own},
		{"POST", "/generate", evil, "cross-site", 403, ""},
		{"POST", "/generate", named + ".evil.example", "", 403, ""},
		{"POST", "/generate", "null", "", 403, ""},
		{"GET", "/generate", "", "cross-site", 403, ""},
		{"OPTIONS", "/generate", named, "cross-site", 204, named},
		{"GET", "/metrics", named, "cross-site", 403, ""},
		{"OPTIONS", "/metrics", named, "cross-site", 403, ""},
	} {
		f.check(t, Browsers{Origins: []string{"tauri://localhost", named}})
	}
	for _, f := range []fetch{
		{"POST", "/generate", "", "", 200, "*"},
		{"POST", "/generate", evil, "cross-site", 200, "*"},
		{"POST", "/generate", "null", "", 200, "*"},
		{"GET", "/generate", "", "cross-site", 200, "*"},
		{"GET", "/nope", evil, "", 404, "*"},
		{"OPTIONS", "/models", evil, "", 204, "*"},
		{"GET", "/metrics", evil, "cross-site", 403, ""},
		{"GET", "/metrics", "", "", 200, ""},
		{"POST", "/metrics", evil, "", 403, ""},
		{"OPTIONS", "/metrics", evil, "cross-site", 403, ""},
		{"OPTIONS", "/metrics", own, "", 204, own},
	} {
		f.check(t, Browsers{Origins: []string{"*"}})
	}
}

// A browser sends a preflight before a key or JSON; the answers let a page read permitted headers.
func TestPreflight(t *testing.T) {
	for _, b := range []Browsers{{Origins: []string{named}}, {Origins: []string{"*"}}} {
		ran := false
		ask := func(method string) http.Header {
			return serve(fetched(b, &ran), method, "/generate", http.Header{"Origin": {named}}, "").Header()
		}
		h := ask("OPTIONS")
		for name, parts := range map[string][]string{
			"Access-Control-Allow-Methods": {"GET", "POST", "PUT", "DELETE"}, "Access-Control-Allow-Headers": {"*", "Authorization", "Content-Type", "X-Api-Key"},
			"Access-Control-Max-Age": {"600"},
		} {
			for _, part := range parts {
				if !strings.Contains(h.Get(name), part) {
					t.Errorf("%s: %q lacks %s", name, h.Get(name), part)
				}
			}
		}
		if ran {
			t.Error("OPTIONS ran the handler")
		}
		if h = ask("POST"); !strings.Contains(h.Get("Access-Control-Expose-Headers"), "X-Request-Id") || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%v", h)
		}
	}
}

// The Host of a request must be one of the server's names.
func TestHosts(t *testing.T) {
	const always = "localhost LOCALHOST:8080 localhost. glossa.localhost:1 127.0.0.1 127.0.0.1:9000 127.8.8.8 [::1]:8080 [::] 0.0.0.0:8080"
	const addresses = "192.0.2.1 10.0.0.7:8080 [2001:db8::1]:80 [fe80::1%25eth0]"
	const others = "evil.example evil.example:8080 localhost.evil.example 127.0.0.1.evil.example localhost@evil.example glossa glossa:8080 :80"
	for _, test := range []struct {
		b             Browsers
		serve, refuse string
	}{
		{Browsers{}, always + " " + addresses + " " + others, ""},
		{Browsers{CheckHost: true, Loopback: true}, always, addresses + " " + others},
		{Browsers{CheckHost: true}, always + " " + addresses, others},
		{Browsers{CheckHost: true, Hosts: []string{"Glossa", "llm.example.com"}}, always + " glossa glossa.:8080 LLM.example.com", "evil.example x.llm.example.com example.com"},
		{Browsers{CheckHost: true, Loopback: true, Hosts: []string{"192.0.2.1"}}, always + " 192.0.2.1", "192.0.2.2"},
		{Browsers{CheckHost: true, Hosts: []string{"*"}}, always + " " + addresses + " " + others, ""},
	} {
		for _, host := range strings.Fields(test.serve) {
			hosted(t, test.b, host, http.StatusOK)
		}
		for _, host := range strings.Fields(test.refuse) {
			hosted(t, test.b, host, http.StatusForbidden)
		}
	}
	hosted(t, Browsers{CheckHost: true, Loopback: true}, "", http.StatusOK) // HTTP/1.0
}

// hosted sends all kinds of requests under a name.
func hosted(t *testing.T, b Browsers, host string, want int) {
	t.Helper()
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "/models", nil), httptest.NewRequest("POST", "/generate", nil), httptest.NewRequest("OPTIONS", "/generate", nil),
		httptest.NewRequest("GET", "/metrics", nil), httptest.NewRequest("GET", "/nope", nil), httptest.NewRequest("PUT", "/models", nil),
	} {
		r.Host = host
		r.Header.Set("Origin", "http://"+host) // a page loaded under that name has the server's origin
		ran := false
		m := fetched(b, &ran)
		m.Fallback = shape{}
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		refused := strings.Contains(w.Body.String(), "does not answer to the host name") && strings.Contains(w.Body.String(), "--hosts") && w.Code == http.StatusForbidden
		if refused != (want == http.StatusForbidden) || refused && (ran || w.Header().Get("Access-Control-Allow-Origin") != "") {
			t.Errorf("%s %s of %q: %d %s, ran %v", r.Method, r.URL, host, w.Code, w.Body, ran)
		}
	}
}

func TestBrowserSettings(t *testing.T) {
	for name, good := range map[string]bool{"glossa": true, "llm.example.com": true, "*": true, "": false, "a:8080": false, "http://a": false, "*.a": false, "a b": false} {
		if err := CheckNames([]string{"ok", name}); (err == nil) != good {
			t.Errorf("host %q: %v", name, err)
		}
	}
	for origin, good := range map[string]bool{
		"*": true, "https://a": true, "http://localhost:3000": true, "tauri://localhost": true, "chrome-extension://abc": true, "http://[::1]:80": true,
		"": false, "null": false, "a.com": false, "https://a/": false, "https://a/b": false, "https://": false, "https://*.a": false, "//a": false,
	} {
		if err := CheckOrigins([]string{"https://ok", origin}); (err == nil) != good {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
}
