package httpx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A body on a route without one is rejected before the handler begins: net/http would
// otherwise wait for the rest of it in the middle of the answer.
func TestNoBody(t *testing.T) {
	for _, test := range []struct {
		method, body string
		guard        error
		status       int
		called       bool
	}{
		{"GET", "", nil, 200, true},
		{"HEAD", "", nil, 200, true},
		{"GET", "x", nil, 400, false},
		{"HEAD", "x", nil, 400, false},
		{"DELETE", "{}", nil, 400, false},
		{"DELETE", "{}", llm.Errorf(llm.Unauthenticated, "who?"), 401, false},
		{"POST", "x", nil, 200, true},
		{"PUT", "x", nil, 405, false},
	} {
		called := false
		handle := func(w http.ResponseWriter, r *http.Request) error { called = true; return ok(w, r) }
		m := &Mux{Guard: func(r *http.Request, _ *Route) (*http.Request, error) { return r, test.guard }}
		for _, method := range []string{"GET", "DELETE", "POST"} {
			m.Routes = append(m.Routes, Route{Method: method, Pattern: "/{$}", Handle: handle})
		}
		w := serve(m, test.method, "/", nil, test.body)
		if w.Code != test.status || called != test.called {
			t.Errorf("%s %q: %d, called %v", test.method, test.body, w.Code, called)
		}
	}
}

// A client that is still connected when the server stops may retry; one that left is gone.
func TestStopping(t *testing.T) {
	for _, test := range []struct {
		cause  error
		status int
	}{{nil, statusGone}, {errors.New("stopped"), 429}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(test.cause)
		m := &Mux{Routes: []Route{{Method: "GET", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
			return r.Context().Err()
		}}}}
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		if w.Code != test.status || (w.Header().Get("Retry-After") == "1") != (test.cause != nil) {
			t.Errorf("%v: %d %v", test.cause, w.Code, w.Header())
		}
	}
}

// A client may send a prompt in place of a parameter's name: it is not logged, and not
// echoed at length.
func TestContentIsNotLogged(t *testing.T) {
	prompt := strings.Repeat("é private ", 1000)
	var out bytes.Buffer
	m := &Mux{Log: slog.New(slog.NewTextHandler(&out, nil)), Routes: []Route{{Method: "POST", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
		return Decode(r, wire.For[struct{}](), new(struct{}))
	}}}}
	for _, body := range []string{
		fmt.Sprintf(`{%q:1}`, prompt),
		fmt.Sprintf(`{"named":{"a":{%q:1}}}`, prompt),
		fmt.Sprintf(`{"named":{%q:{},%q:{}}}`, prompt, prompt),
	} {
		out.Reset()
		w := serve(m, "POST", "/", nil, body)
		if w.Code != 400 || w.Body.Len() > 2000 {
			t.Errorf("%d with %d bytes: %.100s", w.Code, w.Body.Len(), w.Body)
		}
		if !strings.Contains(out.String(), "status=400") || strings.Contains(out.String(), "private") {
			t.Errorf("logged: %.300s", out.String())
		}
	}
	m.Routes[0].Handle = func(http.ResponseWriter, *http.Request) error {
		return &llm.Error{Code: llm.NotFound, Param: prompt, Message: "no " + prompt}
	}
	m.Observe = func(rec *Record) {
		if len(rec.Err.Param) > maxParam+5 || len(rec.Err.Message) > maxMessage+5 || !strings.HasPrefix(rec.Err.Message, "no é private") {
			t.Errorf("%+v", rec.Err)
		}
	}
	serve(m, "POST", "/", nil, "")
}

// A client that leaves during a buffered answer is not a fault of the server.
func TestGoneWhole(t *testing.T) {
	var seen *Record
	m := &Mux{Observe: func(r *Record) { seen = r }, Routes: []Route{{Method: "GET", Pattern: "/", Handle: ok}}}
	m.Handler().ServeHTTP(&gone{httptest.NewRecorder(), 0}, httptest.NewRequest("GET", "/", nil))
	if seen.Status != statusGone || seen.Err.Code != Gone {
		t.Errorf("record %+v", seen)
	}
}

func TestSlowBody(t *testing.T) {
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("{"), slowReader{}))
	if got := describe(Decode(r, wire.For[struct{}](), new(struct{}))); got != "invalid : the body took too long to arrive" {
		t.Error(got)
	}
}

type slowReader struct{}

func (slowReader) Read([]byte) (int, error) { return 0, fmt.Errorf("read: %w", os.ErrDeadlineExceeded) }
