package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// shape is the error shape of the tests.
type shape struct{}

func (shape) Body(e *llm.Error) (int, any) {
	return Status(e.Code), map[string]string{"code": string(e.Code), "message": e.Message}
}
func (shape) InBand(e *llm.Error) []byte { return []byte("data: " + string(e.Code) + "\n\n") }

// serve runs one request through a mux with one route for each handler.
func serve(m *Mux, method, target string, header http.Header, body string) *httptest.ResponseRecorder {
	m.Fallback = shape{}
	for i := range m.Routes {
		m.Routes[i].Errors = shape{}
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for key, values := range header {
		r.Header[key] = values
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	return w
}

func ok(w http.ResponseWriter, _ *http.Request) error { return JSON(w, http.StatusOK, "<ok>") }

func TestRequestID(t *testing.T) {
	fresh := regexp.MustCompile(`^req_[0-9a-f]{24}$`)
	for _, test := range []struct {
		sent string
		kept bool
	}{
		{"", false},
		{"abc-123", true},
		{strings.Repeat("x", 128), true},
		{strings.Repeat("x", 129), false},
		{"two words", false},
		{"line\r\nfeed", false},
		{"ünicode", false},
	} {
		header := http.Header{"X-Request-Id": {test.sent}}
		got := serve(&Mux{Routes: []Route{{Method: "GET", Pattern: "/", Handle: ok}}}, "GET", "/", header, "").Header().Get("X-Request-Id")
		if test.kept && got != test.sent || !test.kept && !fresh.MatchString(got) {
			t.Errorf("sent %q, got %q", test.sent, got)
		}
	}
}

// table is a route table with the patterns that dialects use.
func table() []Route {
	name := func(w http.ResponseWriter, r *http.Request) error { return JSON(w, http.StatusOK, r.PathValue("id")) }
	return []Route{
		{Method: "GET", Pattern: "/v1/models", Handle: ok},
		{Method: "GET", Pattern: "/v1/models/{id...}", Handle: name},
		{Method: "POST", Pattern: "/v1/engines/{id...}/completions", Handle: name},
		{Method: "POST", Pattern: "/v1/engines/{id...}/logprob", Handle: func(w http.ResponseWriter, r *http.Request) error {
			return JSON(w, http.StatusOK, "score of "+r.PathValue("id"))
		}},
		{Method: "GET", Pattern: "/api/generate", Handle: ok},
		{Method: "POST", Pattern: "/api/generate", Handle: ok},
	}
}

func TestRouting(t *testing.T) {
	for _, test := range []struct {
		method, target string
		status         int
		body, allow    string
	}{
		{"GET", "/v1/models", 200, `"<ok>"`, ""},
		{"HEAD", "/v1/models", 200, `"<ok>"`, ""},
		{"GET", "/v1/models/novels-5hr", 200, `"novels-5hr"`, ""},
		{"GET", "/v1/models/local/novels", 200, `"local/novels"`, ""},
		{"GET", "/v1/models/local%2Fnovels", 200, `"local/novels"`, ""},
		{"GET", "/v1/models/us.anthropic.claude-v1:0", 200, `"us.anthropic.claude-v1:0"`, ""},
		{"GET", "/v1/models/arn:aws:x%2F..%2Fy", 200, `"arn:aws:x/../y"`, ""},
		{"POST", "/v1/engines/a%2Fb/completions", 200, `"a/b"`, ""},
		{"POST", "/v1/engines/a/completions", 200, `"a"`, ""},
		{"POST", "/v1/engines/a/b%3a%25/c:1/completions?x=/y", 200, `"a/b:%/c:1"`, ""},
		{"POST", "/v1/engines/a/b/logprob", 200, `"score of a/b"`, ""},
		{"POST", "/v1/engines/a/logprob/completions", 200, `"a/logprob"`, ""},
		{"POST", "/v1/engines/a/../b//%2F/completions", 200, `"a/../b///"`, ""},
		{"GET", "/v1/engines/a/b/completions", 405, `{"code":"no_method","message":"this path supports only POST"}`, "POST"},
		{"POST", "/v1/models", 405, `{"code":"no_method","message":"this path supports only GET"}`, "GET"},
		{"DELETE", "/api/generate", 405, `{"code":"no_method","message":"this path supports only GET, POST"}`, "GET, POST"},
		{"GET", "/v1/engines/a%2Fb/completions", 405, `{"code":"no_method","message":"this path supports only POST"}`, "POST"},
	} {
		w := serve(&Mux{Routes: table()}, test.method, test.target, nil, "")
		if got := strings.TrimSpace(w.Body.String()); w.Code != test.status || got != test.body || w.Header().Get("Allow") != test.allow {
			t.Errorf("%s %s: got %d %s, Allow %q", test.method, test.target, w.Code, got, w.Header().Get("Allow"))
		}
		if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %s: headers %v", test.method, test.target, w.Header())
		}
	}
}

func TestGuard(t *testing.T) {
	type key struct{}
	m := &Mux{
		Routes: []Route{{Method: "GET", Pattern: "/", Permission: Inference, Handle: func(w http.ResponseWriter, r *http.Request) error {
			return JSON(w, http.StatusOK, r.Context().Value(key{}))
		}}},
		Guard: func(r *http.Request, route *Route) (*http.Request, error) {
			if r.Header.Get("Authorization") == "" {
				return nil, llm.Errorf(llm.Unauthenticated, "no key for %s", route.Permission)
			}
			return r.WithContext(context.WithValue(r.Context(), key{}, "principal")), nil
		},
	}
	if w := serve(m, "GET", "/", nil, ""); w.Code != 401 || w.Body.String() != `{"code":"unauthenticated","message":"no key for inference"}`+"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := serve(m, "GET", "/", http.Header{"Authorization": {"Bearer k"}}, ""); w.Body.String() != "\"principal\"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestErrors(t *testing.T) {
	sse := func(after error) Handler {
		return func(w http.ResponseWriter, _ *http.Request) error {
			if err := NewStream(context.Background(), w, SSE).Send(map[string]int{"n": 1}); err != nil {
				return err
			}
			return after
		}
	}
	before := func(err error) Handler { return func(http.ResponseWriter, *http.Request) error { return err } }
	for _, test := range []struct {
		name   string
		handle Handler
		status int
		body   string
	}{
		{"an error of ours", before(llm.Errorf(llm.Invalid, "no <x>")), 400, `{"code":"invalid","message":"no <x>"}` + "\n"},
		{"one that is wrapped", before(fmt.Errorf("x: %w", llm.Errorf(llm.NotFound, "n"))), 404, `{"code":"not_found","message":"n"}` + "\n"},
		{"any other tells nothing", before(errors.New("secret")), 500, `{"code":"internal","message":"internal error"}` + "\n"},
		{"deadline", before(fmt.Errorf("x: %w", context.DeadlineExceeded)), 504, `{"code":"timeout","message":"the deadline passed"}` + "\n"},
		{"stopped with the client there", before(fmt.Errorf("x: %w", context.Canceled)), 499, `{"code":"gone","message":"the client disconnected"}` + "\n"},
		{"in a stream", sse(llm.Errorf(llm.Upstream, "broken")), 200, "data: {\"n\":1}\n\ndata: upstream\n\n"},
		{"panic", func(http.ResponseWriter, *http.Request) error { panic("secret") }, 500, `{"code":"internal","message":"internal error"}` + "\n"},
		{"nil pointer", func(_ http.ResponseWriter, r *http.Request) error { var p *Route; return p.Handle(nil, r) }, 500, `{"code":"internal","message":"internal error"}` + "\n"},
		{"panic in a stream", func(w http.ResponseWriter, r *http.Request) error {
			_ = sse(nil)(w, r)
			panic("secret")
		}, 200, "data: {\"n\":1}\n\ndata: internal\n\n"},
		{"what JSON cannot hold", func(w http.ResponseWriter, _ *http.Request) error { return JSON(w, 200, math.NaN()) }, 500, `{"code":"internal","message":"internal error"}` + "\n"},
		{"nothing said", before(nil), 200, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen *Record
			m := &Mux{Routes: []Route{{Method: "GET", Pattern: "/", Handle: test.handle}}, Observe: func(r *Record) { seen = r }}
			w := serve(m, "GET", "/", nil, "")
			if w.Code != test.status || w.Body.String() != test.body {
				t.Errorf("got %d %q", w.Code, w.Body)
			}
			if seen == nil || seen.Status != test.status || seen.Bytes != int64(w.Body.Len()) || (seen.Err != nil) != (test.name != "nothing said") {
				t.Errorf("record %+v", seen)
			}
		})
	}
}

// Headers that a handler set for its answer are not sent with the error.
func TestErrorHeaders(t *testing.T) {
	m := &Mux{Routes: []Route{{Method: "GET", Pattern: "/", Handle: func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Cache-Control", "max-age=3600")
		return &llm.Error{Code: llm.Overloaded, Message: "full", RetryAfter: 1500 * time.Millisecond}
	}}}}
	h := serve(m, "GET", "/", nil, "").Header()
	if h.Get("Content-Length") != "" || h.Get("Cache-Control") != "" || h.Get("Retry-After") != "2" {
		t.Errorf("got %v", h)
	}
}

func TestDefaultErrors(t *testing.T) {
	m := &Mux{Routes: []Route{{Method: "POST", Pattern: "/a", Handle: func(_ http.ResponseWriter, r *http.Request) error {
		return &llm.Error{Code: llm.Invalid, Param: "p", Message: "is wrong", Err: errors.New("secret")}
	}}}}
	for target, want := range map[string]string{"/a": `{"error":"p: is wrong"}`, "/b": `{"error":"no such path: POST /b"}`} {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("POST", target, nil))
		if strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: got %s", target, w.Body)
		}
	}
}

func TestAbort(t *testing.T) {
	m := &Mux{Routes: []Route{{Method: "GET", Pattern: "/", Handle: func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }}}}
	observed := false
	m.Observe = func(*Record) { observed = true }
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || !observed {
			t.Errorf("got %v, observed %v", p, observed)
		}
	}()
	serve(m, "GET", "/", nil, "")
}

// TestAbortsLength shows that an error does not become a part of an answer of a known length.
func TestAbortsLength(t *testing.T) {
	var seen *Record
	m := &Mux{Observe: func(r *Record) { seen = r }, Routes: []Route{{Method: "GET", Pattern: "/", Errors: shape{}, Handle: func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		return llm.Errorf(llm.Unavailable, "the other half is away")
	}}}}
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || w.Body.String() != "half" || seen.Status != 200 || seen.Err.Code != llm.Unavailable {
			t.Errorf("got %v, %q, record %+v", p, w.Body, seen)
		}
	}()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
}

// gone is a client that leaves after some writes.
type gone struct {
	*httptest.ResponseRecorder
	after int
}

func (g *gone) Write(b []byte) (int, error) {
	if g.after--; g.after < 0 {
		return 0, errors.New("broken pipe")
	}
	return g.ResponseRecorder.Write(b)
}

func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		var seen *Record
		m := &Mux{Observe: func(r *Record) { seen = r }, Routes: []Route{{Method: "GET", Pattern: "/", Errors: shape{}, Handle: func(w http.ResponseWriter, r *http.Request) error {
			s := NewStream(r.Context(), w, NDJSON)
			for {
				if err := s.Send(sent); err != nil {
					return err
				}
				sent++
				time.Sleep(time.Second)
			}
		}}}}
		w := &gone{httptest.NewRecorder(), 3}
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if sent != 3 || w.Body.String() != "0\n1\n2\n" {
			t.Errorf("sent %d: %q", sent, w.Body)
		}
		if seen.Status != statusGone || seen.Err.Code != Gone || seen.Bytes != 6 || seen.FirstByte != 0 || seen.Duration != 3*time.Second {
			t.Errorf("record %+v", seen)
		}
	})
}

func TestStream(t *testing.T) {
	for _, test := range []struct {
		framing     Framing
		contentType string
		want        string
	}{
		{SSE, "text/event-stream; charset=utf-8", "data: {\"a\":\"<é>\"}\n\ndata: [DONE]\n\n"},
		{NDJSON, "application/x-ndjson", "{\"a\":\"<é>\"}\n[DONE]\n"},
		{LineFeed, "application/json", "{\"a\":\"<é>\"}\n\n[DONE]\n\n"},
		{Plain, "text/plain; charset=utf-8", "{\"a\":\"<é>\"}[DONE]"},
	} {
		w := httptest.NewRecorder()
		s := NewStream(t.Context(), w, test.framing)
		if len(w.Header()) != 0 {
			t.Errorf("headers before the first value: %v", w.Header())
		}
		err := errors.Join(s.Send(map[string]string{"a": "<é>"}), s.Text("[DONE]"))
		if err != nil || w.Body.String() != test.want || w.Header().Get("Content-Type") != test.contentType || !w.Flushed {
			t.Errorf("got %q %v %v", w.Body, w.Header(), err)
		}
	}
	w := httptest.NewRecorder()
	if err := NewStream(context.Background(), w, SSE).Send(math.Inf(1)); err == nil || w.Body.Len() != 0 || len(w.Header()) != 0 {
		t.Errorf("infinity: %v, %q", err, w.Body)
	}
}

// TestLog checks that each request logs one line, with the cause of server faults and without
// secrets.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	m := &Mux{
		Log: slog.New(slog.NewJSONHandler(&out, nil)),
		Routes: []Route{
			{Method: "POST", Pattern: "/ok", Handle: func(w http.ResponseWriter, r *http.Request) error {
				rec := RecordOf(r.Context())
				rec.Principal = "key ci"
				rec.Fallbacks = []string{"novels: overloaded"}
				rec.Model, rec.Usage = "novels", llm.Usage{Input: 3, Output: 5}
				return ok(w, r)
			}},
			{Method: "POST", Pattern: "/bad", Handle: func(http.ResponseWriter, *http.Request) error { panic("the cause") }},
			{Method: "POST", Pattern: "/invalid", Handle: func(http.ResponseWriter, *http.Request) error {
				return &llm.Error{Code: llm.Invalid, Param: "stop[0].private", Message: "m", Err: errors.New("private")}
			}},
		},
	}
	lines := func(target string) (line map[string]any) {
		out.Reset()
		serve(m, "POST", target, http.Header{"Authorization": {"Bearer private"}}, `{"prompt":"private"}`)
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("%s: %q %v", target, out.String(), err)
		}
		if strings.Contains(out.String(), "private") {
			t.Errorf("%s: %s", target, out.String())
		}
		return line
	}
	if l := lines("/ok"); l["level"] != "INFO" || fmt.Sprint(l["fallbacks"]) != "[novels: overloaded]" || l["principal"] != "key ci" || l["model"] != "novels" || l["tokens_in"] != 3.0 || l["tokens_out"] != 5.0 || l["status"] != 200.0 || l["route"] != "/ok" {
		t.Errorf("%v", l)
	}
	if l := lines("/bad"); l["level"] != "ERROR" || l["code"] != "internal" || !strings.Contains(fmt.Sprint(l["cause"]), "the cause") {
		t.Errorf("%v", l)
	}
	if l := lines("/invalid"); l["level"] != "INFO" || l["param"] != "stop" || l["cause"] != nil {
		t.Errorf("%v", l)
	}
	if l := lines("/secret-path?key=private"); l["route"] != "/" || l["status"] != 404.0 {
		t.Errorf("%v", l)
	}
}

func TestRecordOutside(t *testing.T) {
	RecordOf(t.Context()).Model = "nobody reads it"
	if RecordOf(t.Context()).Model != "" {
		t.Error("the record outside of requests is shared")
	}
}

func TestStatus(t *testing.T) {
	for code, want := range map[llm.Code]int{
		llm.Invalid: 400, llm.TooLong: 400, llm.Unsupported: 400, wire.UnknownParam: 400, llm.Unauthenticated: 401, llm.Forbidden: 403,
		llm.NotFound: 404, NoRoute: 404, NoMethod: 405, TooLarge: 413, llm.Overloaded: 429, Gone: 499, llm.Internal: 500, llm.Upstream: 502,
		llm.Timeout: 504, "another": 500,
	} {
		if got := Status(code); got != want {
			t.Errorf("%s: got %d, want %d", code, got, want)
		}
	}
}

// Over a real socket, a body over the limit is rejected while the client sends it.
func TestServer(t *testing.T) {
	type request struct {
		Parts []string `json:"parts"`
	}
	table := wire.For[request](wire.Parameter{Name: "parts"})
	m := &Mux{Routes: []Route{{Method: "POST", Pattern: "/", MaxBody: 100, Errors: shape{}, Handle: func(w http.ResponseWriter, r *http.Request) error {
		return Decode(r, table, new(request))
	}}}}
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	for body, want := range map[string]int{`{}`: 200, `{"model":"` + strings.Repeat("x", 1<<20) + `"}`: 413, `[]`: 400} {
		resp, err := http.Post(server.URL, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%.20s: got %d, want %d", body, resp.StatusCode, want)
		}
	}
}

// A path of its own beside a wildcard has its own methods, and the others of ServeMux.
func TestBesideAWildcard(t *testing.T) {
	ok := func(w http.ResponseWriter, r *http.Request) error { return JSON(w, http.StatusOK, r.PathValue("id")) }
	m := &Mux{Routes: []Route{
		{Method: "POST", Pattern: "/things/count", Permission: Public, Handle: ok}, {Method: "GET", Pattern: "/things/{id}", Permission: Public, Handle: ok},
	}}
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"POST", "/things/count", 200, ""}, {"GET", "/things/count", 405, "POST"}, {"HEAD", "/things/count", 405, "POST"}, {"OPTIONS", "/things/count", 204, ""},
		{"DELETE", "/things/count", 405, "POST"}, {"GET", "/things/x", 200, ""}, {"HEAD", "/things/x", 200, ""}, {"POST", "/things/x", 405, "GET"}, {"GET", "/things", 404, ""},
	} {
		if w := serve(m, test.method, test.path, nil, ""); w.Code != test.status || w.Header().Get("Allow") != test.allow {
			t.Errorf("%s %s: %d, Allow %q", test.method, test.path, w.Code, w.Header().Get("Allow"))
		}
	}
}

// deadline is a connection's writer that records its deadline.
type deadline struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (d *deadline) SetWriteDeadline(at time.Time) error { d.at = at; return nil }

// A backend can end a write that the client does not read.
func TestCut(t *testing.T) {
	w := &deadline{ResponseRecorder: httptest.NewRecorder()}
	m := &Mux{Fallback: shape{}, Routes: []Route{{Method: "GET", Pattern: "/x", Errors: shape{}, Handle: func(_ http.ResponseWriter, r *http.Request) error {
		llm.Cut(r.Context())
		return nil
	}}}}
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	if w.at.IsZero() || w.at.After(time.Now()) {
		t.Errorf("the deadline of writes is %v", w.at)
	}
	llm.Cut(t.Context()) // nothing to end
}
