package resilience

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// fake is a model of the family fake. It counts its calls, and its running ones.
type fake struct {
	name   string
	script llmtest.Script // {"ok":true} if nil
	before error          // instead of an answer
	after  error          // after the first chunk
	hang   bool           // waits for the end of its context, then ends its rows
	slow   time.Duration  // before its first chunk
	calls  int
	runs   int
	ctx    context.Context // of the last call
	req    *llm.Request    // the same
}

func (f *fake) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		f.calls++
		f.runs++
		f.ctx, f.req = ctx, req
		defer func() { f.runs-- }()
		if err := ctx.Err(); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		if f.before != nil {
			yield(llm.Chunk{}, f.before)
			return
		}
		if f.hang {
			<-ctx.Done()
		}
		if f.slow > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(f.slow):
			}
		}
		script := f.script
		if script == nil {
			script = llmtest.Script{`{"ok":`, "true", "}"}
		}
		for c, err := range script.Generate(ctx, req) {
			if !yield(c, err) {
				return
			}
			if f.after != nil {
				yield(llm.Chunk{}, f.after)
				return
			}
		}
	}
}

func (f *fake) model() *llm.Model {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: f.name, Family: "fake"}, Backend: f}
}

// invoker is a fake with canonical keys: a stream is its script and its finish reason.
type invoker struct{ *fake }

func (i invoker) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		text := ""
		for c, err := range i.fake.Generate(ctx, &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}}) {
			switch text += c.Text; {
			case err != nil:
				yield(nil, err)
				return
			case stream && !yield(map[string]any{"generated_text": c.Text}, nil):
				return
			}
		}
		if !stream {
			yield(map[string]any{"generated_text": text, "list": []any{"x"}}, nil)
		}
	}
}

func (i invoker) Unmapped(map[string]any) []string { return []string{"of " + i.name} }

func (i invoker) model() *llm.Model {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: i.name, Family: "fake"}, Backend: i}
}

// scorer is a fake with another capability.
type scorer struct{ *fake }

func (scorer) Score(context.Context, *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return &llm.Score{Greedy: true}, llm.Usage{}, nil
}

// modelSet is a set of models with their policies.
type modelSet struct {
	models   map[string]*llm.Model
	policies map[string]Policy
	errors   map[string]error
	opened   []string
	store    Store
}

func newModelSet(models ...*llm.Model) *modelSet {
	s := &modelSet{models: map[string]*llm.Model{}, policies: map[string]Policy{}, errors: map[string]error{}}
	for _, m := range models {
		s.models[m.Name] = m
	}
	return s
}

func (s *modelSet) open(_ context.Context, name string) (*llm.Model, Policy, error) {
	s.opened = append(s.opened, name)
	if err := s.errors[name]; err != nil {
		return nil, s.policies[name], err
	}
	if s.models[name] == nil {
		return nil, Policy{}, llm.Errorf(llm.NotFound, "there is no model %q", name)
	}
	return s.models[name], s.policies[name], nil
}

func (s *modelSet) resilient() llm.Models { return Models(nil, s.open, Keep(&s.store)) }

func (s *modelSet) mustOpen(t *testing.T, ctx context.Context, name string) *llm.Model {
	t.Helper()
	m, err := s.resilient().Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// within runs f in a request and returns its record and the header of its answer.
func within(t *testing.T, ctx context.Context, f func(ctx context.Context)) (*httpx.Record, http.Header) {
	t.Helper()
	var rec *httpx.Record
	mux := httpx.Mux{
		Observe: func(r *httpx.Record) { rec = r },
		Routes: []httpx.Route{{Method: "GET", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
			f(r.Context())
			return nil
		}}},
	}
	w := httptest.NewRecorder()
	mux.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	return rec, w.Result().Header
}

// request returns a request that a seeded model always answers in the same way.
func request() *llm.Request {
	return &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}, Params: llm.Params{Temperature: new(0.0)}}
}

// text returns the single row of an answer.
func text(seq iter.Seq2[llm.Chunk, error]) (string, error) {
	rows, _, err := llm.Collect(seq, 1)
	if err != nil {
		return "", err
	}
	return rows[0].Text, nil
}
