package httpx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// A step of a slow model: it waits, and then yields a text, fails or panics. A step with end is
// the last one that yields.
type step struct {
	wait time.Duration
	text string
	err  error
	end  bool
	bug  bool
}

// steps is a slow model. before is called before each step.
func steps(ctx context.Context, list []step, before func()) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, s := range list {
			select {
			case <-time.After(s.wait):
			case <-ctx.Done():
			}
			before()
			chunk := llm.Chunk{Text: s.text}
			switch {
			case s.bug:
				panic("a bug")
			case s.end:
				chunk.Usage = &llm.Usage{}
			case s.err == nil && s.text == "":
				return // after a pause
			}
			if !yield(chunk, s.err) || s.err != nil {
				return
			}
		}
	}
}

// slowMux serves the answer of a slow model as a stream.
func slowMux(framing Framing, list []step, before func(*Record)) *Mux {
	return &Mux{KeepAlive: 15 * time.Second, Routes: []Route{{Method: "GET", Pattern: "/", Errors: shape{}, Handle: func(w http.ResponseWriter, r *http.Request) error {
		out := NewStream(r.Context(), w, framing)
		for chunk, err := range out.Await(steps(r.Context(), list, func() { before(RecordOf(r.Context())) })) {
			if err != nil {
				return err
			}
			if err := out.Text(chunk.Text); err != nil {
				return err
			}
		}
		return nil
	}}}}
}

// TestKeepAlives checks which keep-alives a stream has, and where.
func TestKeepAlives(t *testing.T) {
	const second = time.Second
	busy := llm.Errorf(llm.Overloaded, "busy")
	for _, test := range []struct {
		name    string
		framing Framing
		model   []step
		status  int
		body    string
	}{
		{"before the first value", SSE, []step{{wait: 40 * second, text: "a"}}, 200, ": keep-alive\n\n: keep-alive\n\ndata: a\n\n"},
		{"between values", SSE, []step{{text: "a"}, {wait: 16 * second, text: "b"}}, 200, "data: a\n\n: keep-alive\n\ndata: b\n\n"},
		{"a value counts", SSE, []step{{wait: 10 * second, text: "a"}, {wait: 14 * second, text: "b"}, {wait: 14 * second, text: "c"}}, 200, "data: a\n\ndata: b\n\ndata: c\n\n"},
		{"a keep-alive counts", SSE, []step{{wait: 29 * second, text: "a"}, {wait: 29 * second, text: "b"}}, 200, ": keep-alive\n\ndata: a\n\n: keep-alive\n\ndata: b\n\n"},
		{"none after the last", SSE, []step{{text: "a", end: true}, {wait: time.Hour}}, 200, "data: a\n\n"},
		{"while the end is awaited", SSE, []step{{text: "a"}, {wait: 20 * second}}, 200, "data: a\n\n: keep-alive\n\n"},
		{"JSON", NDJSON, []step{{wait: 40 * second, text: `{"a":1}`}, {wait: 20 * second, text: `{"a":2}`}}, 200, "  {\"a\":1}\n {\"a\":2}\n"},
		{"TextSynth's", LineFeed, []step{{wait: 20 * second, text: "{}"}}, 200, " {}\n\n"},
		{"a text has none", Plain, []step{{wait: time.Hour, text: "a"}}, 200, "a"},
		{"an error of a text", Plain, []step{{wait: time.Hour, err: busy}}, 429, `{"code":"overloaded","message":"busy"}` + "\n"},
		{"a form of its own", SSE.KeptAliveBy(BlankLine), []step{{text: "a"}, {wait: 31 * second, text: "b"}}, 200, "data: a\n\n\n\ndata: b\n\n"},
		{"an early error", SSE, []step{{wait: 14 * second, err: busy}}, 429, `{"code":"overloaded","message":"busy"}` + "\n"},
		{"a late error", SSE, []step{{wait: 16 * second, err: busy}}, 200, ": keep-alive\n\ndata: overloaded\n\n"},
		{"a late bug", SSE, []step{{wait: 16 * second, bug: true}}, 200, ": keep-alive\n\ndata: internal\n\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := httptest.NewRecorder()
			slowMux(test.framing, test.model, func(*Record) {}).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			if w.Code != test.status || w.Body.String() != test.body {
				t.Errorf("%s: %d %q, want %d %q", test.name, w.Code, w.Body, test.status, test.body)
			}
			size := w.Body.Len()
			time.Sleep(time.Hour)
			if w.Body.Len() != size {
				t.Errorf("%s: after the end comes %q", test.name, w.Body.String()[size:])
			}
		})
	}
}

// A mux without an interval, and a stream outside of a mux, send none.
func TestNoKeepAlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := slowMux(SSE, []step{{wait: time.Hour, text: "a"}}, func(*Record) {})
		m.KeepAlive = 0
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Body.String() != "data: a\n\n" {
			t.Errorf("%q", w.Body)
		}
		w = httptest.NewRecorder()
		for range NewStream(t.Context(), w, SSE).Await(steps(t.Context(), []step{{wait: time.Hour, text: "a"}}, func() {})) {
		}
		if w.Body.Len() != 0 {
			t.Errorf("%q", w.Body)
		}
	})
}

// A keep-alive that finds no client is the last one. The handler learns it with its next value.
func TestKeepAliveFindsNoClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen *Record
		values := 0
		m := slowMux(SSE, []step{{text: "a"}, {wait: time.Hour, text: "b"}, {text: "c"}}, func(*Record) { values++ })
		m.Observe = func(r *Record) { seen = r }
		w := &gone{httptest.NewRecorder(), 1}
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.after != -2 || values != 2 || w.Body.String() != "data: a\n\n" { // the second failed write is that of the error
			t.Errorf("%d writes failed, %d values, %q", -w.after, values, w.Body)
		}
		if seen.Status != statusGone || seen.Err.Code != Gone || seen.Bytes != 9 {
			t.Errorf("record %+v", seen)
		}
	})
}

// The context of a client that leaves ends a stream that keep-alives hold open.
func TestKeepAliveEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithTimeout(t.Context(), 20*time.Second)
		defer leave()
		w, begun := httptest.NewRecorder(), time.Now()
		slowMux(SSE, []step{{wait: time.Hour}}, func(*Record) {}).Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		if w.Body.String() != ": keep-alive\n\n" || time.Since(begun) != 20*time.Second {
			t.Errorf("%q after %v", w.Body, time.Since(begun))
		}
	})
}

// Headers that a model sets before the first keep-alive are sent, later ones are not.
func TestKeepAliveHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen *Record
		list := []step{{wait: 10 * time.Second, text: "a"}, {wait: 10 * time.Second, text: "b"}}
		m := slowMux(SSE, list, func(rec *Record) {
			name := "X-At-" + time.Since(rec.Start).String()
			rec.SetHeader(func(h http.Header) { h.Set(name, "1") })
			rec.Count(llm.Usage{Cost: llm.KnownCost(1)})
		})
		m.Routes[0].Handle = held(m.Routes[0].Handle, 10*time.Second)
		m.Observe = func(r *Record) { seen = r }
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		header := w.Result().Header
		if header.Get("X-At-20s") != "1" || header.Get("X-At-30s") != "" || header.Get("Content-Type") != SSE.ContentType || header.Get(CostHeader) == "" {
			t.Errorf("%v", header)
		}
		if seen.FirstByte != 20*time.Second || seen.Status != 200 {
			t.Errorf("%+v", seen)
		}
	})
}

// held returns a handler whose work takes some time before its stream begins.
func held(next Handler, wait time.Duration) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		time.Sleep(wait)
		return next(w, r)
	}
}

// slowWriter takes its time for each byte of a long event.
type slowWriter struct{ *httptest.ResponseRecorder }

func (w slowWriter) Write(b []byte) (int, error) {
	if len(b) < 20 {
		return w.ResponseRecorder.Write(b)
	}
	for i := range b {
		time.Sleep(3 * time.Second)
		_, _ = w.ResponseRecorder.Write(b[i : i+1]) // cannot fail
	}
	return len(b), nil
}

// A keep-alive waits for the end of an event that a client reads slowly.
func TestKeepAliveWithinAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := slowWriter{httptest.NewRecorder()}
		list := []step{{text: strings.Repeat("a", 20)}, {wait: 20 * time.Second, text: "b", end: true}}
		slowMux(SSE, list, func(*Record) {}).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		want := "data: " + strings.Repeat("a", 20) + "\n\n: keep-alive\n\ndata: b\n\n"
		if w.Body.String() != want {
			t.Errorf("%q, want %q", w.Body, want)
		}
	})
}

// TestKeepAlivesOverHTTP sends many keep-alives while a model yields, sets headers and counts,
// over both versions of HTTP. The race detector watches.
func TestKeepAlivesOverHTTP(t *testing.T) {
	var list []step
	for i := range 300 {
		list = append(list, step{wait: time.Duration(i%7) * 50 * time.Microsecond, text: fmt.Sprint(i), end: i == 299})
	}
	m := slowMux(SSE, list, func(rec *Record) {
		rec.SetHeader(func(h http.Header) { h.Set("X-Some", "1") })
		rec.Count(llm.Usage{Output: 1, Cost: llm.KnownCost(1)})
	})
	m.KeepAlive = 20 * time.Microsecond
	for _, version := range []int{1, 2} {
		server := httptest.NewUnstartedServer(m.Handler())
		server.EnableHTTP2 = version == 2
		server.StartTLS()
		defer server.Close()
		res, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.ProtoMajor != version {
			t.Fatal(res.Proto)
		}
		next, alive := 0, 0
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			switch line := lines.Text(); line {
			case ": keep-alive":
				alive++
			case fmt.Sprintf("data: %d", next):
				next++
			default:
				t.Fatalf("%q after %d values", line, next)
			}
			if !lines.Scan() || lines.Text() != "" {
				t.Fatalf("%q ends an event", lines.Text())
			}
		}
		if next != len(list) || alive == 0 || lines.Err() != nil {
			t.Errorf("HTTP/%d: %d values, %d keep-alives, %v", version, next, alive, lines.Err())
		}
	}
}

// Await passes values of any type on, with their errors.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		ctx := context.WithValue(t.Context(), recordKey{}, &Record{keepAlive: time.Second, Header: w.Header()})
		out := NewStream(ctx, w, NDJSON)
		broken := errors.New("broken")
		var got []any
		for v, err := range Await(out, func(yield func(int, error) bool) {
			time.Sleep(1500 * time.Millisecond)
			_ = yield(1, nil) && yield(2, nil)
			time.Sleep(time.Minute) // 2 is the last
			yield(0, broken)
		}, func(v int) bool { return v == 2 }) {
			got = append(got, v, err)
		}
		if !slices.Equal(got, []any{1, nil, 2, nil, 0, broken}) || w.Body.String() != " " || !out.Skipped() {
			t.Errorf("%v, %q", got, w.Body)
		}
		if err := out.Send(3); err != nil || out.Skipped() {
			t.Errorf("%v, skipped: %v", err, out.Skipped())
		}
	})
}
