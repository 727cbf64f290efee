package openai

import (
	"bufio"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// endless says a word until it is left or its context ends. It waits for a token
// on step, if there is one, before each word.
type endless struct {
	said    int
	step    chan bool
	stopped chan bool // closed when it is left
}

func (b *endless) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		defer close(b.stopped)
		for {
			if b.step != nil {
				select {
				case <-b.step:
				case <-ctx.Done():
					yield(llm.Chunk{}, ctx.Err())
					return
				}
			}
			b.said++
			if !yield(llm.Chunk{Text: "word "}, nil) {
				return
			}
		}
	}
}

// leaver is a client that disconnects after some writes.
type leaver struct {
	*httptest.ResponseRecorder
	writes int
}

func (w *leaver) Write(b []byte) (int, error) {
	if w.writes--; w.writes < 0 {
		return 0, errors.New("broken pipe")
	}
	return w.ResponseRecorder.Write(b)
}

func only(b llm.Backend) catalog {
	return catalog{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local"}, Backend: b}}
}

// A client that disconnects stops the backend within the chunk, and no goroutine remains:
// the bubble would report one.
func TestClientLeaves(t *testing.T) {
	for _, test := range []struct {
		route, body string
		heard       int // words of the three events that the client takes
	}{
		{"/v1/chat/completions", `{"stream":true,` + hi + `}`, 2}, // after the role
		{"/v1/completions", `{"stream":true,"model":"m","prompt":"hi"}`, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &endless{stopped: make(chan bool)}
			var rec *httpx.Record
			m := &httpx.Mux{Routes: Routes(Config{Models: only(b)}), Fallback: Errors, Observe: func(r *httpx.Record) { rec = r }}
			w := &leaver{httptest.NewRecorder(), 3}
			m.Handler().ServeHTTP(w, httptest.NewRequest("POST", test.route, strings.NewReader(test.body)))
			<-b.stopped
			if b.said != test.heard+1 || strings.Count(w.Body.String(), "word ") != test.heard {
				t.Errorf("%s: said %d words, sent %s", test.route, b.said, w.Body)
			}
			if rec.Status != httpx.Status(httpx.Gone) {
				t.Errorf("%s: record %+v", test.route, rec)
			}
		})
	}
}

// Without a stream only the context shows that a client disconnected.
func TestClientLeavesWhole(t *testing.T) {
	for _, b := range []llm.Backend{
		&endless{stopped: make(chan bool), step: make(chan bool)},
		ended(llm.FinishCancelled),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var rec *httpx.Record
		m := &httpx.Mux{Routes: Routes(Config{Models: only(b)}), Observe: func(r *httpx.Record) { rec = r }}
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{`+hi+`}`)).WithContext(ctx)
		m.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if rec.Status != httpx.Status(httpx.Gone) || rec.Err == nil {
			t.Errorf("record %+v", rec)
		}
	}
}

// Over a socket: each event arrives before the next one is made, and closing the
// connection ends a backend that waits.
func TestServer(t *testing.T) {
	b := &endless{stopped: make(chan bool), step: make(chan bool)}
	server := httptest.NewServer(muxOf(Routes(Config{Models: only(b)})...))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/chat/completions", strings.NewReader(`{"stream":true,`+hi+`}`))
	if err != nil {
		t.Fatal(err)
	}
	go func() { b.step <- true }() // no header comes before the first chunk
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i, want := range []string{`"role":"assistant"`, `"content":"word "`, `"content":"word "`} {
		if i == 2 {
			b.step <- true
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), want) || !lines.Scan() || lines.Text() != "" {
			t.Fatalf("event %d: %q %v", i, lines.Text(), lines.Err())
		}
	}
	cancel()
	<-b.stopped
	if b.said != 2 {
		t.Errorf("said %d words", b.said)
	}
}
