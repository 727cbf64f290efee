package alpha

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// storyteller echoes its prompt in one chunk if requested and then sends its words. It
// records the request.
type storyteller struct {
	words llmtest.Script
	seen  *llm.Request
}

func (s *storyteller) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		s.seen = req
		if echo := req.Effective().Echo; echo != nil && *echo {
			text, _ := req.Prompts[0].Text()
			if !yield(llm.Chunk{Text: text}, nil) {
				return
			}
		}
		s.words.Generate(ctx, req)(yield)
	}
}

// broken sends one word, if it has one, then fails.
type broken struct {
	word string
	err  error
}

func (b broken) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if b.word == "" || yield(llm.Chunk{Text: b.word}, nil) {
			yield(llm.Chunk{}, b.err)
		}
	}
}

// fakePublisher is a publisher in memory.
type fakePublisher struct {
	mu      sync.Mutex
	uploads map[string]Upload

	open int   // spools
	held int64 // bytes of texts

	announced *Announced
	part      string // the last one
}

func (s *fakePublisher) Publish(_ context.Context, u *Upload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(u.Name, "/") {
		return &llm.Error{Code: llm.Invalid, Param: "name", Message: "must be a plain name"}
	}
	kept := *u
	if u.Checkpoint != nil {
		data := make([]byte, u.Size)
		if n, err := u.Checkpoint.ReadAt(data, 0); int64(n) < u.Size {
			return err
		}
		kept.Checkpoint = bytes.NewReader(data)
	}
	s.uploads[u.Name] = kept
	return nil
}

// spool is a body in memory.
type spool struct {
	*bytes.Reader
	open *int
}

func (s spool) Close() error {
	*s.open--
	return nil
}

func (s *fakePublisher) Spool(_ context.Context, body io.Reader, most int64) (Spool, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%d bytes came where %d were announced", len(data), most)
	}
	s.open++
	return spool{bytes.NewReader(data), &s.open}, nil
}

func (s *fakePublisher) HoldTexts(_ context.Context, n int64) (release func(), err error) {
	s.held += n
	return func() { s.held -= n }, nil
}

func (s *fakePublisher) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.uploads[name]; !ok {
		return llm.Errorf(llm.NotFound, "nothing on the shelf")
	}
	delete(s.uploads, name)
	return nil
}

// curve is a metrics.jsonl of each model but "nope"; its lines are from byte 0 alone.
type curve struct{}

func (curve) Metrics(_ context.Context, model string, from int64) (Metrics, error) {
	switch {
	case model == "nope":
		return Metrics{}, llm.Errorf(llm.NotFound, "there is no such curve")
	case model == "breaks":
		return Metrics{}, llm.Errorf(llm.Upstream, "the store is shut")
	case from > 0:
		return Metrics{From: from, Next: from}, nil
	}
	return Metrics{Next: 31, More: true, Lines: []json.RawMessage{[]byte(`{"step":1}`), []byte(`{"step":2,"loss":1.50}`)}}, nil
}

type fixture struct {
	teller *storyteller
	shelf  *fakePublisher
	http.Handler
}

func newFixture() *fixture {
	f := &fixture{teller: &storyteller{words: llmtest.Script{" upon", "", " a", " time"}}, shelf: &fakePublisher{uploads: map[string]Upload{}}}
	model := func(name string, b llm.Backend, run *llm.Run, created time.Time) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local", Run: run, Created: created}, Backend: b}
	}
	old := &llm.Run{ID: "20260219", Domain: "novels", Step: 900, LastLoss: new(3.25), ModelConfig: []byte(`{"nLayer":6}`), TrainConfig: []byte(`{"lr":0.0003}`)}
	models := llm.Fixed{
		model("novels-5hr", f.teller, old, time.UnixMilli(1739900000123).Add(500*time.Microsecond)),
		model("chords-run", llmtest.Script{"C", " G"}, &llm.Run{Domain: "chords", Step: 2000}, time.UnixMilli(1739950000000)),
		model("remote", llmtest.Script{"hi"}, nil, time.Time{}),
		model("silent", llmtest.Script{}, nil, time.Time{}),
		model("full", broken{"", &llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting", RetryAfter: time.Second}}, nil, time.Time{}),
		model("picky", broken{"", fmt.Errorf("x: %w", &llm.Error{Code: llm.Unsupported, Param: "max_new_tokens", Message: "this model does not support it"})}, nil, time.Time{}),
		model("breaks", broken{"Once", llm.Errorf(llm.Upstream, "the model <x> failed")}, nil, time.Time{}),
	}
	mux := httpx.Mux{Routes: Routes(Config{Models: models, Publisher: f.shelf, Curves: curve{}, MaxUpload: 4096}), Fallback: Errors}
	f.Handler = mux.Handler()
	return f
}

// ask sends a request; headers are key, value, key, value.
func ask(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
