package app

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/dialect/anthropic"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/dialect/ollama"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/responses"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// slowModel waits before each chunk of its answer, and after the last one. It may fail instead of
// the first.
type slowModel struct {
	wait time.Duration
	err  error
}

// Generate implements [llm.Backend].
func (m slowModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		time.Sleep(m.wait)
		if m.err != nil {
			yield(llm.Chunk{}, m.err)
			return
		}
		if !yield(llm.Chunk{Text: "so"}, nil) {
			return
		}
		time.Sleep(m.wait)
		yield(llm.Chunk{Text: " it is", Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1, Output: 2}}, nil)
		time.Sleep(m.wait)
	}
}

// writes records each write to an answer.
type writes struct {
	*httptest.ResponseRecorder
	list   []string
	errors httpx.Errors // of the route
}

func (w *writes) Write(b []byte) (int, error) {
	w.list = append(w.list, string(b))
	return w.ResponseRecorder.Write(b)
}

// askSlow sends a request to routes whose streams send keep-alives after an interval.
func askSlow(routes []httpx.Route, every time.Duration, path, agent, body string) *writes {
	mux := &httpx.Mux{Routes: routes, KeepAlive: every}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if body == "" {
		r.Method = http.MethodGet
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("X-Request-Id", "same")
	w := &writes{ResponseRecorder: httptest.NewRecorder()}
	mux.Handler().ServeHTTP(w, r)
	return w
}

// without returns the bytes of an answer without its keep-alives, and their number. Ids differ
// from answer to answer.
func (w *writes) without(keepAlive string) (string, int) {
	var rest bytes.Buffer
	n := 0
	for _, text := range w.list {
		if text == keepAlive {
			n++
		} else {
			rest.WriteString(text)
		}
	}
	return ids.ReplaceAllString(rest.String(), "$1"), n
}

var ids = regexp.MustCompile(`\b(chatcmpl-|cmpl-|msg_|resp_|rs_)[0-9A-Za-z]+`)

// dialects returns the routes of all dialects over a model.
func dialects(models llm.Fixed) (all []httpx.Route) {
	for _, routes := range [][]httpx.Route{
		openai.Routes(openai.Config{Models: models}), responses.Routes(responses.Config{Models: models}), anthropic.Routes(anthropic.Config{Models: models}),
		alpha.Routes(alpha.Config{Models: models}), ollama.Routes(ollama.Config{Models: models}), textsynth.Routes(textsynth.Config{Models: models}),
		alephalpha.Routes(alephalpha.Config{Models: models}), invoke.Routes(invoke.Config{Models: models}),
	} {
		all = append(all, routes...)
	}
	return all
}

// A slowStream is a request for a stream of a route, and the keep-alive of the stream.
type slowStream struct{ name, path, agent, body, keepAlive string }

// slowStreams has at least one request for each route that streams.
var slowStreams = []slowStream{
	{"POST /v1/chat/completions", "", "", `{"messages":[{"role":"user","content":"a"}],"stream":true}`, ": keep-alive\n\n"},
	{"POST /chat/completions", "", "", `{"messages":[{"role":"user","content":"a"}],"stream":true}`, ": keep-alive\n\n"},
	{"POST /chat/completions", "", "Aleph-Alpha-Python-Client-11.5.1", `{"messages":[{"role":"user","content":"a"}],"stream":true}`, "\n"},
	{"POST /v1/completions", "", "", `{"model":"m","prompt":"a","stream":true}`, ": keep-alive\n\n"},
	{"POST /vllm/{id...}/v1/completions", "/vllm/m/v1/completions", "", `{"model":"m","prompt":"a","stream":true}`, ": keep-alive\n\n"},
	{"POST /v1/responses", "", "", `{"input":"a","stream":true}`, ": keep-alive\n\n"},
	{"POST /v1/messages", "", "", `{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":9,"stream":true}`, "event: ping\ndata: {\"type\":\"ping\"}\n\n"},
	{"GET /api/inference", "/api/inference?model=m&query=a", "", "", ": keep-alive\n\n"},
	{"GET /inference", "/inference?model=m&query=a", "", "", ": keep-alive\n\n"},
	{"POST /api/chat", "", "", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, ""}, // a text has none
	{"POST /api/chat", "", "ollama", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, " "},
	{"POST /api/generate", "", "ollama", `{"model":"m","prompt":"a"}`, " "},
	{"POST /v1/engines/{engine_id...}/completions", "/v1/engines/m/completions", "", `{"prompt":"a","stream":true}`, " "},
	{"POST /complete", "", "", `{"model":"m","prompt":"a","maximum_tokens":9,"stream":true}`, "\n"},
	{"POST /invoke_stream", "", "", `{"model_family":"local","model_name":"m","body":{"prompt":"a"}}`, " "},
}

// routesFor returns the routes that answer a request: Ollama's and Alpha's have two paths in
// common.
func routesFor(all []httpx.Route, name, agent string) (list []httpx.Route) {
	for _, route := range all {
		if ours := route.Method + " " + route.Pattern; ours == name && (agent == "ollama") == (route.Handle != nil && isOllama(&route)) {
			list = append(list, route)
		}
	}
	return list
}

func isOllama(route *httpx.Route) bool { return route.Errors == ollama.Errors }

// askOver sends a request to its route over a slow model, at the same time each time.
func (test *slowStream) askOver(t *testing.T, m slowModel, every time.Duration) (w *writes) {
	synctest.Test(t, func(t *testing.T) {
		models := llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local", Run: &llm.Run{}}, Backend: m}}
		list := routesFor(dialects(models), test.name, test.agent)
		if len(list) != 1 {
			t.Fatalf("%s: %d routes", test.name, len(list))
		}
		path := test.path
		if path == "" {
			_, path, _ = strings.Cut(test.name, " ")
		}
		w = askSlow(list, every, path, test.agent, test.body)
		w.errors = list[0].Errors
	})
	return w
}

// TestKeepAlives checks the streams of all dialects over a slow model: with keep-alives they
// have the same events, an early error its status, and a late one its event.
func TestKeepAlives(t *testing.T) {
	const every = 15 * time.Second
	slow := slowModel{wait: 40 * time.Second}
	busy := llm.Errorf(llm.Overloaded, "busy")
	tried := map[string]bool{}
	for _, test := range slowStreams {
		tried[test.name] = true
		want, before := test.askOver(t, slow, 0).without(test.keepAlive)
		kept := test.askOver(t, slow, every)
		got, n := kept.without(test.keepAlive)
		wanted := 4 // two before each chunk
		switch {
		case test.keepAlive == "":
			wanted = 0
		case test.name == "POST /invoke_stream":
			wanted, want = 6, want+"{}\n" // the last event is not known
		}
		if kept.Code != 200 || got != want || !strings.Contains(got, "so") || n-before != wanted {
			t.Errorf("%s: %d, %d keep-alives\n%s\nwant %d\n%s", test.name, kept.Code, n-before, got, wanted, want)
		}
		if last := kept.list[len(kept.list)-1]; last == test.keepAlive && last != "" {
			t.Errorf("%s: a keep-alive is the last of %q", test.name, kept.list)
		}
		early, plain := test.askOver(t, slowModel{every - 1, busy}, every), test.askOver(t, slowModel{err: busy}, 0)
		if early.Code != plain.Code || early.Body.String() != plain.Body.String() || early.Code == 200 {
			t.Errorf("%s: an early error: %d %s", test.name, early.Code, early.Body)
		}
		if test.keepAlive == "" {
			continue
		}
		late := test.askOver(t, slowModel{every + 1, busy}, every)
		if late.Code != 200 || late.Body.String() != test.keepAlive+string(late.errors.InBand(busy)) || len(late.list) != 2 {
			t.Errorf("%s: a late error: %d %q", test.name, late.Code, late.list)
		}
	}
	for _, route := range dialects(nil) {
		if name := route.Method + " " + route.Pattern; route.Streams && !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

// TestKeepAliveSetting checks the setting and its default.
func TestKeepAliveSetting(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 0, "0": -1, "100ms": 100 * time.Millisecond, "30s": 30 * time.Second, "5m": 5 * time.Minute} {
		cfg, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_KEEP_ALIVE": value}[name] })
		if err != nil || cfg.KeepAlive != want {
			t.Errorf("%q: %v, %v, want %v", value, cfg.KeepAlive, err, want)
		}
	}
	for _, value := range []string{"30", "soon", "-1s", "99ms", "301s"} {
		_, err := FromEnv(func(name string) string { return map[string]string{"GLOSSA_KEEP_ALIVE": value}[name] })
		if err == nil || !strings.Contains(err.Error(), "GLOSSA_KEEP_ALIVE: must be ") {
			t.Errorf("%q: %v", value, err)
		}
	}
	for every, want := range map[time.Duration]time.Duration{0: DefaultKeepAlive, -1: -1, time.Second: time.Second} {
		if got := (&App{cfg: Config{KeepAlive: every}}).keepAlive(); got != want {
			t.Errorf("%v: %v, want %v", every, got, want)
		}
	}
}
