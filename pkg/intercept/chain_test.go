package intercept_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/meter/budget"
	"glossa/pkg/meter/emf"
	"glossa/pkg/meter/prom"
	"glossa/pkg/resilience"
)

// A worker is a model of every capability. Each call uses 7 tokens and gives 5, fails after it has
// used some, or waits for its context to end.
type worker struct {
	fails  error
	wasted llm.Usage
	hangs  bool
	calls  int
}

func (w *worker) work(ctx context.Context) (llm.Usage, error) {
	w.calls++
	if w.hangs {
		<-ctx.Done()
		return llm.Usage{}, ctx.Err()
	}
	if w.fails != nil {
		return w.wasted, w.fails
	}
	return llm.Usage{Input: 7, Output: 5}, nil
}

func (w *worker) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		used, err := w.work(ctx)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		yield(llm.Chunk{Text: "a", Finish: llm.FinishEOS, Usage: &used}, nil)
	}
}

func (w *worker) Invoke(ctx context.Context, _ map[string]any, _ bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		used, err := w.work(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(map[string]any{"generated_text": "a", "input_tokens": used.Input, "output_tokens": used.Output}, nil)
	}
}

func (w *worker) Score(ctx context.Context, _ *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	used, err := w.work(ctx)
	return &llm.Score{}, used, err
}

func (w *worker) Embed(ctx context.Context, _ *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	used, err := w.work(ctx)
	return []llm.Embedding{{}}, used, err
}

func (w *worker) Translate(ctx context.Context, _ *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	used, err := w.work(ctx)
	return []llm.Translation{{}}, used, err
}

func (w *worker) Rerank(ctx context.Context, _ *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	used, err := w.work(ctx)
	return []llm.Relevance{{}}, used, err
}

func (w *worker) Classify(ctx context.Context, _ *llm.ClassifyRequest) ([]llm.Classification, llm.Usage, error) {
	used, err := w.work(ctx)
	return []llm.Classification{{}}, used, err
}

func (w *worker) Summarize(ctx context.Context, _ []string) ([]float64, llm.Usage, error) {
	used, err := w.work(ctx)
	return []float64{1}, used, err
}

func (w *worker) Tokenize(context.Context, []llm.Part, bool) ([]llm.Token, error) {
	return []llm.Token{{ID: 3}}, w.fails
}

func (w *worker) Detokenize(context.Context, []int) (string, error) { return "text", w.fails }

func (w *worker) TokenizerJSON(context.Context) ([]byte, error) { return []byte("{}"), w.fails }

// use calls c of m with f.
func use[C, A any](m *llm.Model, f func(C) (A, llm.Usage, error)) error {
	c, err := llm.As[C](m)
	if err == nil {
		_, _, err = f(c)
	}
	return err
}

// calls returns a call of 40 bytes for each method of the table that uses tokens.
func calls() map[string]func(context.Context, *llm.Model) error {
	text := strings.Repeat("x", 40)
	return map[string]func(context.Context, *llm.Model) error{
		"generate": func(ctx context.Context, m *llm.Model) error {
			_, _, err := llm.Collect(m.Generate(ctx, &llm.Request{Prompts: []llm.Prompt{llm.Text(text)}, Params: llm.Params{MaxTokens: new(5)}}), 1)
			return err
		},
		"invoke": func(ctx context.Context, m *llm.Model) error {
			invoker, err := llm.As[llm.Invoker](m)
			if err != nil {
				return err
			}
			for _, err = range invoker.Invoke(ctx, map[string]any{"prompt": text, "max_new_tokens": 5}, false) {
			}
			return err
		},
		"score": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(s llm.Scorer) (*llm.Score, llm.Usage, error) {
				return s.Score(ctx, &llm.ScoreRequest{Prompt: llm.Text(text[:20]), Continuation: text[20:]})
			})
		},
		"embed": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(e llm.Embedder) ([]llm.Embedding, llm.Usage, error) {
				return e.Embed(ctx, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text(text[:20]), {Messages: []llm.Message{{Parts: []llm.Part{{Text: text[20:]}}}}}}})
			})
		},
		"translate": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(t llm.Translator) ([]llm.Translation, llm.Usage, error) {
				return t.Translate(ctx, &llm.TranslateRequest{Texts: []string{text[:20], text[20:]}, Target: "fr"})
			})
		},
		"rerank": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(r llm.Reranker) ([]llm.Relevance, llm.Usage, error) {
				return r.Rerank(ctx, &llm.RerankRequest{Pairs: []llm.Pair{{Query: text[:10], Document: text[10:20]}, {Query: "", Document: text[20:]}}})
			})
		},
		"classify": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(c llm.Classifier) ([]llm.Classification, llm.Usage, error) {
				return c.Classify(ctx, &llm.ClassifyRequest{Inputs: []llm.ClassifyInput{{Text: text[:10]}, {Text: text[10:20], Second: new(text[20:])}}})
			})
		},
		"summarize": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(r intercept.Summarizer) ([]float64, llm.Usage, error) { return r.Summarize(ctx, []string{text}) })
		},
	}
}

// A house serves the models a and b to the key k, with all interceptors in their order;
// b is the fallback of a.
type house struct {
	a, b   worker
	secret string
	budget *budget.Budgets
	models llm.Models
	guard  func(*http.Request, *httpx.Route) (*http.Request, error)
	prom   *prom.Meter
	lines  bytes.Buffer
	emf    *emf.Meter
	record *httpx.Record
}

func newHouse(t *testing.T, perDay int64) *house {
	t.Helper()
	h := &house{}
	store := account.NewFile(filepath.Join(t.TempDir(), "accounts.json"))
	secret, k, err := account.NewAPIKey("k", account.Client, time.Time{})
	if k.Limits.TokensPerDay = perDay; err == nil {
		err = store.Add(t.Context(), k)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.secret, h.guard = secret, account.New(account.Config{Store: store}).Guard
	h.budget = budget.New(budget.Config{Ledger: budget.NewMemory()})
	known := func(string) bool { return true }
	h.prom, h.emf = prom.New(prom.Config{Known: known}), emf.New(emf.Config{Writer: &h.lines, Known: known})
	var kept resilience.Store
	h.models = h.budget.Models(meter.Models(resilience.Models(nil, h.open, resilience.Keep(&kept))))
	return h
}

// open implements [resilience.Open].
func (h *house) open(_ context.Context, name string) (*llm.Model, resilience.Policy, error) {
	p := resilience.Policy{}
	w := &h.b
	if name == "a" {
		w, p.Fallbacks = &h.a, []string{"b"}
	}
	return intercept.WithSummarizer(&llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "remote"}, Backend: w}), p, nil
}

// serve runs do in a request of 40 bytes to the model a, and returns the status.
func (h *house) serve(ctx context.Context, do func(context.Context, *llm.Model) error) int {
	mux := httpx.Mux{
		Observe: func(r *httpx.Record) { h.record = r; h.budget.Observe(r); h.emf.Observe(r); h.prom.Observe(r) },
		Guard:   h.guard,
		Routes: []httpx.Route{{Method: "POST", Pattern: "/x", Permission: httpx.Inference, Handle: func(_ http.ResponseWriter, r *http.Request) error {
			if _, err := httpx.ReadBody(r); err != nil {
				return err
			}
			m, err := h.models.Open(r.Context(), "a")
			if err != nil {
				return err
			}
			return do(r.Context(), m)
		}}},
	}
	r := httptest.NewRequest("POST", "/x", strings.NewReader(strings.Repeat("x", 40))).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer "+h.secret)
	w := httptest.NewRecorder()
	mux.Handler().ServeHTTP(w, r)
	return w.Code
}

// scrape returns the lines that Prometheus scrapes.
func (h *house) scrape() string {
	w := httptest.NewRecorder()
	mux := httpx.Mux{Routes: h.prom.Routes()}
	mux.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// Every method of the table that uses tokens has a call here, and so has a capability
// that is added with only its row.
func TestEveryMethodIsCalled(t *testing.T) {
	want := append(intercept.Counted(), "summarize")
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(calls())); !slices.Equal(got, want) {
		t.Errorf("calls of %q, the table has %q", got, want)
	}
}

// Each call is counted once, under the model that answered: on the record, in
// CloudWatch's metrics and for Prometheus.
func TestCounted(t *testing.T) {
	for name, call := range calls() {
		for _, model := range []string{"a", "b"} {
			h := newHouse(t, 1000)
			if model == "b" {
				h.a.fails = llm.Errorf(llm.Unavailable, "the provider is down")
			}
			twice := func(ctx context.Context, m *llm.Model) error { return errors.Join(call(ctx, m), call(ctx, m)) }
			if code := h.serve(t.Context(), twice); code != 200 {
				t.Errorf("%s: %d, %v", name, code, h.record.Err)
			}
			if want := (llm.Usage{Input: 14, Output: 10}); h.record.Usage != want || h.record.Model != model {
				t.Errorf("%s: %+v of %s, want %+v of %s", name, h.record.Usage, h.record.Model, want, model)
			}
			for _, want := range []string{`"invocations":1,`, `"tokens_in":14,"tokens_out":10,"errors":0,`, `"model":"` + model + `"`} {
				if !strings.Contains(h.lines.String(), want) {
					t.Errorf("%s: %s is not in %s", name, want, h.lines.String())
				}
			}
			for direction, n := range map[string]int{"input": 14, "output": 10} {
				want := fmt.Sprintf(`glossa_tokens_total{dialect="",direction=%q,family="remote",model=%q} %d`, direction, model, n)
				if !strings.Contains(h.scrape(), want) {
					t.Errorf("%s: Prometheus does not get %s", name, want)
				}
			}
		}
	}
}

// What a call used before it failed is counted once, whether another model answers or not.
func TestWasted(t *testing.T) {
	wasted := llm.Usage{Input: 3}
	for code, want := range map[llm.Code]llm.Usage{llm.Unavailable: {Input: 10, Output: 5}, llm.Invalid: wasted} {
		for _, name := range []string{"classify", "embed", "rerank", "score", "translate"} {
			h := newHouse(t, 0)
			h.a.fails, h.a.wasted = llm.Errorf(code, "it failed"), wasted
			if h.serve(t.Context(), calls()[name]); h.record.Usage != want {
				t.Errorf("%s: %s: %+v, want %+v", name, code, h.record.Usage, want)
			}
		}
	}
}

// A fallback answers for a model whose provider is down, and the header and the log name
// it; an invalid request goes to no other model.
func TestFallback(t *testing.T) {
	for name, call := range calls() {
		h := newHouse(t, 0)
		h.a.fails = llm.Errorf(llm.Unavailable, "the provider is down")
		code := h.serve(t.Context(), call)
		if code != 200 || h.b.calls != 1 || h.record.Header.Get(resilience.ModelHeader) != "b" || !slices.Equal(h.record.Fallbacks, []string{"a: unavailable"}) {
			t.Errorf("%s: %d after %d calls of b, %v, %q", name, code, h.b.calls, h.record.Header, h.record.Fallbacks)
		}
		if !strings.Contains(h.lines.String(), `"fallbacks":["a: unavailable"]`) {
			t.Errorf("%s: %s", name, h.lines.String())
		}
		h = newHouse(t, 0)
		h.a.fails = llm.Errorf(llm.Invalid, "not so")
		if code := h.serve(t.Context(), call); code != 400 || h.b.calls != 0 {
			t.Errorf("%s: %d after %d calls of b", name, code, h.b.calls)
		}
	}
}

// A spent budget rejects each call before it reaches a model: in a new request, and
// within a request with many calls.
func TestLimited(t *testing.T) {
	for name, call := range calls() {
		h := newHouse(t, 100)
		asked := 0
		code := h.serve(t.Context(), func(ctx context.Context, m *llm.Model) error {
			for {
				if err := call(ctx, m); err != nil {
					return err
				}
				if asked++; asked > 100 {
					return nil
				}
			}
		})
		if code != 429 || h.a.calls != asked || asked < 2 || asked > 9 || h.b.calls != 0 {
			t.Errorf("%s: %d after %d calls: %+v", name, code, h.a.calls, h.record.Err)
		}
		h.serve(t.Context(), func(ctx context.Context, m *llm.Model) error {
			httpx.RecordOf(ctx).Count(llm.Usage{Input: 100})
			return nil
		})
		before := h.a.calls
		if code := h.serve(t.Context(), call); code != 429 || h.a.calls != before {
			t.Errorf("%s: %d after %d calls", name, code, h.a.calls-before)
		}
	}
}

// A call reserves a token for each byte of its texts while it runs.
func TestReserved(t *testing.T) {
	for name, call := range calls() {
		if name == "generate" || name == "invoke" {
			continue // these also reserve tokens for their answers
		}
		h := newHouse(t, 1000)
		err := errors.New("no call")
		h.serve(t.Context(), func(ctx context.Context, m *llm.Model) error {
			// The body's 40 bytes are used up, so the call must reserve its own.
			httpx.RecordOf(ctx).Count(llm.Usage{Input: 40})
			err = call(ctx, m)
			return err
		})
		left := h.record.Header.Get("X-Ratelimit-Remaining-Tokens")
		if err != nil || left != "920" {
			t.Errorf("%s: %s left, %v", name, left, err)
		}
	}
}

// A client that leaves ends the call, and no other model is called. The provider has
// received the prompt by then, so its tokens are estimated, unless the model reports
// its usage.
func TestClientLeaves(t *testing.T) {
	for name, call := range calls() {
		h := newHouse(t, 1000)
		h.a.hangs = true
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		h.serve(ctx, func(ctx context.Context, m *llm.Model) error {
			cancel()
			err = call(ctx, m)
			return err
		})
		if !errors.Is(err, context.Canceled) || h.b.calls != 0 || h.a.calls > 1 || h.record.Fallbacks != nil {
			t.Errorf("%s: %v after %d and %d calls, %q", name, err, h.a.calls, h.b.calls, h.record.Fallbacks)
		}
		want := llm.Usage{Input: 10}
		if name == "generate" {
			want = llm.Usage{}
		}
		if h.record.Usage != want {
			t.Errorf("%s: %+v", name, h.record.Usage)
		}
		h.a.hangs = false
		if code := h.serve(t.Context(), call); code != 200 || h.record.Usage != (llm.Usage{Input: 7, Output: 5}) {
			t.Errorf("%s: the next client: %d, %+v", name, code, h.record.Usage)
		}
	}
}

// Calls about the model itself are free: they use no tokens, and no other model is called.
func TestFree(t *testing.T) {
	for name, call := range map[string]func(context.Context, *llm.Model) error{
		"tokenize": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(t llm.Tokenizer) (int, llm.Usage, error) {
				tokens, err := t.Tokenize(ctx, []llm.Part{{Text: "a"}}, true)
				if err == nil && (len(tokens) != 1 || tokens[0].ID != 3) {
					err = fmt.Errorf("%v", tokens)
				}
				return 0, llm.Usage{}, err
			})
		},
		"detokenize": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(t llm.Tokenizer) (int, llm.Usage, error) {
				text, err := t.Detokenize(ctx, []int{1})
				if err == nil && text != "text" {
					err = errors.New(text)
				}
				return 0, llm.Usage{}, err
			})
		},
		"tokenizerjson": func(ctx context.Context, m *llm.Model) error {
			return use(m, func(f llm.TokenizerFile) (int, llm.Usage, error) {
				file, err := f.TokenizerJSON(ctx)
				if err == nil && string(file) != "{}" {
					err = fmt.Errorf("%s", file)
				}
				return 0, llm.Usage{}, err
			})
		},
	} {
		h := newHouse(t, 1000)
		if code := h.serve(t.Context(), call); code != 200 || h.record.Usage != (llm.Usage{}) || h.record.Header.Get(resilience.ModelHeader) != "" {
			t.Errorf("%s: %d, %+v, %v: %v", name, code, h.record.Usage, h.record.Header, h.record.Err)
		}
		h.a.fails = llm.Errorf(llm.Unavailable, "the provider is down")
		if code := h.serve(t.Context(), call); code != 503 || h.b.calls != 0 || h.record.Fallbacks != nil {
			t.Errorf("%s: %d after %d calls of b", name, code, h.b.calls)
		}
	}
}
