package meter

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

// models is a catalog of one model, "m" with the alias "alias", which is also a Tokenizer.
type models struct{ backend llm.Backend }

type scripted struct{ llm.Backend }

func (s scripted) Unwrap() llm.Backend { return s.Backend }

func (scripted) Tokenize(context.Context, []llm.Part, bool) ([]llm.Token, error) { return nil, nil }
func (scripted) Detokenize(context.Context, []int) (string, error)               { return "", nil }

func (m models) Open(_ context.Context, name string) (*llm.Model, error) {
	if name != "alias" {
		return nil, llm.Errorf(llm.NotFound, "there is no model %q", name)
	}
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: "m", Family: "local"}, Backend: scripted{m.backend}}, nil
}

func (models) List(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

// handle returns the record of a request that opens a model and calls do.
func handle(t *testing.T, b llm.Backend, name string, do func(*http.Request, *llm.Model) error) *httpx.Record {
	t.Helper()
	var rec *httpx.Record
	mux := httpx.Mux{
		Observe: func(r *httpx.Record) { rec = r },
		Routes: []httpx.Route{{Method: "GET", Pattern: "/", Handle: func(_ http.ResponseWriter, r *http.Request) error {
			m, err := Models(models{b}).Open(r.Context(), name)
			if err != nil {
				return err
			}
			if _, err := llm.As[llm.Tokenizer](m); err != nil {
				t.Error(err)
			}
			return do(r, m)
		}}},
	}
	mux.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	return rec
}

func request() *llm.Request { return &llm.Request{Prompts: []llm.Prompt{llm.Text("x")}} }

func TestModelsNoteModelAndTokens(t *testing.T) {
	twice := func(r *http.Request, m *llm.Model) error {
		for range 2 {
			if _, _, err := llm.Collect(m.Generate(r.Context(), request()), 1); err != nil {
				return err
			}
		}
		return nil
	}
	for name, want := range map[string]httpx.Record{
		"alias": {Model: "m", Family: "local", Usage: llm.Usage{Input: 2, Output: 4}}, "other": {},
	} {
		rec := handle(t, llmtest.Script{"a", "b"}, name, twice)
		if rec.Model != want.Model || rec.Family != want.Family || rec.Usage != want.Usage || (rec.FirstText > 0) != (want.Model != "") {
			t.Errorf("%s: %+v", name, rec)
		}
	}
}

// A client that leaves early has used tokens, and receives nothing more.
func TestLeftEarly(t *testing.T) {
	rec := handle(t, llmtest.Script{"a", "b", "c", "d"}, "alias", func(r *http.Request, m *llm.Model) error {
		n := 0
		for range m.Generate(r.Context(), request()) {
			if n++; n == 2 {
				break
			}
		}
		if n != 2 || r.Context().Err() != nil {
			t.Error(n, r.Context().Err())
		}
		return nil
	})
	if want := (llm.Usage{Input: 1, Output: 2}); rec.Usage != want {
		t.Errorf("%+v", rec.Usage)
	}
}

// pieces is a backend that yields its chunks, then an error.
type pieces []llm.Chunk

func (p pieces) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range p {
			time.Sleep(time.Microsecond) // the clock advances
			if !yield(c, nil) {
				return
			}
		}
		yield(llm.Chunk{}, llm.Errorf(llm.Upstream, "it broke off"))
	}
}

// The first piece is the first chunk with a text, a token, a call or reasoning, and each is noticed.
func TestFirstText(t *testing.T) {
	var early time.Duration
	for name, c := range map[string]llm.Chunk{
		"text": {Text: "a"}, "token": {Tokens: []llm.Token{{ID: 1}}}, "call": {Calls: []llm.Call{{Name: "f"}}}, "reasoning": {Reasoning: "a"}, "": {Finish: llm.FinishEOS},
	} {
		rec := handle(t, pieces{{}, c, {Text: "more"}}, "alias", func(r *http.Request, m *llm.Model) error {
			i, wrote, rec := 0, 0, httpx.RecordOf(r.Context())
			rec.Wrote = func() { wrote++ }
			defer func() {
				if want := 1 + min(len(name), 1); wrote != want {
					t.Errorf("%s: %d pieces, want %d", name, wrote, want)
				}
			}()
			for range m.Generate(r.Context(), request()) {
				switch i++; {
				case i == 1 && rec.FirstText != 0, i == 2 && (rec.FirstText > 0) != (name != ""):
					t.Errorf("%s: at chunk %d it was %v", name, i, rec.FirstText)
				case i == 2:
					early = rec.FirstText
				}
			}
			return nil
		})
		if rec.FirstText == 0 || name != "" && rec.FirstText != early {
			t.Errorf("%s: %v, after %v", name, rec.FirstText, early)
		}
	}
}

// invoker is a backend that is invoked.
type invoker struct {
	llmtest.Script
	answers []map[string]any
}

func (b invoker) Invoke(context.Context, map[string]any, bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for _, keys := range b.answers {
			if !yield(keys, nil) {
				return
			}
		}
	}
}

func TestInvoke(t *testing.T) {
	for want, b := range map[bool]invoker{
		true:  {nil, []map[string]any{{"input_tokens": 3}, {"generated_text": "a"}, {"generated_text": "b"}}},
		false: {nil, []map[string]any{{"input_tokens": 3, "generated_text": nil}}},
	} {
		n := 0
		rec := handle(t, b, "alias", func(r *http.Request, m *llm.Model) error {
			in, err := llm.As[llm.Invoker](m)
			if err != nil {
				return err
			}
			for range in.Invoke(r.Context(), nil, true) {
				if n++; n == 1 && httpx.RecordOf(r.Context()).FirstText != 0 {
					t.Error("the first event has no text")
				}
			}
			return nil
		})
		if rec.Err != nil || n != len(b.answers) || (rec.FirstText > 0) != want {
			t.Errorf("%d answers, %+v", n, rec)
		}
	}
	rec := handle(t, llmtest.Script{}, "alias", func(_ *http.Request, m *llm.Model) error {
		_, err := llm.As[llm.Invoker](m)
		return err
	})
	if rec.Err == nil || rec.Err.Code != llm.Unsupported {
		t.Errorf("a model that is no invoker is one: %v", rec.Err)
	}
}

func TestBackendKeepsTheContract(t *testing.T) {
	m, err := Models(models{llmtest.Script{`{"ok":`, "true", "}"}}).Open(t.Context(), "alias")
	if err != nil {
		t.Fatal(err)
	}
	if err := llmtest.TestBackend(t.Context(), m); err != nil {
		t.Error(err)
	}
}
