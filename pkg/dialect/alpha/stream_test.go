package alpha

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// endless repeats a word until it is stopped.
type endless struct {
	said    int
	stopped chan bool // closed when it is stopped
}

func (b *endless) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		defer close(b.stopped)
		for {
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

// A client that disconnects stops the backend at the next chunk, and no goroutine is left:
// the synctest bubble would detect it.
func TestClientLeaves(t *testing.T) {
	for _, test := range []struct{ method, target, body string }{
		{"GET", "/api/inference?query=x", ""},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}]}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &endless{stopped: make(chan bool)}
			var rec *httpx.Record
			models := llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local"}, Backend: b}}
			m := &httpx.Mux{Routes: Routes(Config{Models: models}), Observe: func(r *httpx.Record) { rec = r }}
			w := &leaver{httptest.NewRecorder(), 2}
			m.Handler().ServeHTTP(w, httptest.NewRequest(test.method, test.target, strings.NewReader(test.body)))
			<-b.stopped
			if b.said != 3 || strings.Count(w.Body.String(), "word ") != 2 {
				t.Errorf("%s: said %d words, sent %q", test.target, b.said, w.Body)
			}
			if rec.Status != httpx.Status(httpx.Gone) {
				t.Errorf("%s: record %+v", test.target, rec)
			}
		})
	}
}

// A disconnected client gets no whole answer either.
func TestClientLeavesWhole(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var rec *httpx.Record
	models := llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local"}, Backend: broken{"", ctx.Err()}}}
	m := &httpx.Mux{Routes: Routes(Config{Models: models}), Observe: func(r *httpx.Record) { rec = r }}
	m.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/generate?prompt=x", nil).WithContext(ctx))
	if rec.Status != httpx.Status(httpx.Gone) {
		t.Errorf("record %+v", rec)
	}
}

// TestDifferences lists and checks the differences from the server that Alpha's documentation describes,
// each with its reason.
func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		original, reason     string
		method, target, body string
		status               int
		has                  string
	}{
		{
			"an unknown key is ignored", "nothing that a client sends is dropped in silence",
			"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"max_tokens":5}`, 400, "max_tokens: unknown parameter",
		},
		{
			"no prompt: the model starts from nothing", "later versions refuse it too",
			"GET", "/api/generate", "", 400, "Empty prompt",
		},
		{
			"a number that cannot be read is NaN", "what a client sends is obeyed or refused",
			"GET", "/api/inference?query=x&steps=ten", "", 400, "steps: must be an integer",
		},
		{
			"max_tokens=0 and temperature=0 in a query mean the default", "0 means 0: no tokens are refused, and temperature 0 is greedy",
			"GET", "/api/generate?prompt=x&max_tokens=0", "", 400, "max_tokens: must be at least 1",
		},
		{
			"bad JSON is 500 in plain text", "it is the client's fault, and clients read JSON",
			"POST", "/api/chat", "{", 400, `{"error":"the body is not valid JSON`,
		},
		{
			"a stream of text that breaks just ends", "a text that was cut does not look whole",
			"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"model":"breaks"}`, 200, "\n[error: the model <x> failed]\n",
		},
		{
			"POST /api/generate needs a body", "the query string can hold everything",
			"POST", "/api/generate?prompt=x", "", 200, `"text":" upon a time"`,
		},
		{
			"the model is answered as it was sent", "family/name is answered with the model's own name",
			"GET", "/api/generate?prompt=x&model=local%2Fnovels-5hr", "", 200, `"model":"novels-5hr"`,
		},
		{
			"any role is taken", "the documentation has three; another one is a mistyped one",
			"POST", "/api/chat", `{"messages":[{"role":"robot","content":"x"}]}`, 400, "role",
		},
		{
			"topk below 0 is taken", "it means nothing",
			"GET", "/api/inference?query=x&topk=-1", "", 400, "topk",
		},
		{
			"a path in the name of an upload is followed", "it leads out of the directory of runs; the publisher refuses it",
			"POST", "/api/upload", `{"name":"../x","config":{},"step":1,"checkpoint":{"modelConfig":{},"params":{}}}`, 400, "name: must be a plain name",
		},
		{
			"the body of a GET or a DELETE is ignored", "net/http would wait for it in the middle of the answer",
			"DELETE", "/api/models?name=novels-5hr", "{}", 400, "DELETE requests must not have a body here",
		},
		{
			"step 0 counts as missing", "a run may publish its first weights",
			"POST", "/api/upload", `{"name":"x","config":{},"step":0,"checkpoint":{"modelConfig":{},"params":{}}}`, 200, `{"ok":true,"name":"x","step":0}`,
		},
		{
			"lastLoss is left out if unknown", "a listing has the same keys for all models",
			"GET", "/api/models", "", 200, `"lastLoss":null`,
		},
	} {
		w := ask(newFixture(), test.method, test.target, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}
}
