package resilience

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// judge is a model that scores and embeds, with its name in its answers. Its calls
// fail in the order of fails.
type judge struct {
	llmtest.Script
	name  string
	fails []error
	hangs bool
	calls int
}

func (j *judge) next(ctx context.Context) error {
	j.calls++
	if j.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if len(j.fails) == 0 {
		return nil
	}
	err := j.fails[0]
	j.fails = j.fails[1:]
	return err
}

func (j *judge) Score(ctx context.Context, _ *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return &llm.Score{Argmax: j.name}, llm.Usage{Input: 3}, j.next(ctx)
}

func (j *judge) Embed(ctx context.Context, _ *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	return []llm.Embedding{{Tokens: []llm.Token{{Text: j.name}}, Layers: []llm.Layer{{Vectors: [][]float32{{1, 2}}}}}}, llm.Usage{Input: 3}, j.next(ctx)
}

func (j *judge) model() *llm.Model {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: j.name, Family: "fake"}, Backend: j}
}

func score(ctx context.Context, m *llm.Model) (string, error) {
	s, err := llm.As[llm.Scorer](m)
	if err != nil {
		return "", err
	}
	out, _, err := s.Score(ctx, &llm.ScoreRequest{Prompt: llm.Text("p"), Continuation: "c"})
	if err != nil {
		return "", err
	}
	return out.Argmax, nil
}

func embed(ctx context.Context, m *llm.Model, prompt string) (name string, vector []float32, err error) {
	e, err := llm.As[llm.Embedder](m)
	if err != nil {
		return "", nil, err
	}
	list, _, err := e.Embed(ctx, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text(prompt)}, Pooling: []llm.Pooling{llm.PoolMean}})
	if err != nil {
		return "", nil, err
	}
	return list[0].Tokens[0].Text, list[0].Layers[0].Vectors[0], nil
}

// All scores and vectors of a request come from one model: those of two are not
// comparable.
func TestScoresOfOneModel(t *testing.T) {
	down := fails(llm.Unavailable, 0)
	for name, test := range map[string]struct {
		a, b []error
		want []string // "" is an error
	}{
		"the first fails":                 {[]error{down}, nil, []string{"b", "b", "b"}},
		"the first fails later":           {[]error{nil, down, nil}, nil, []string{"a", "", "a"}},
		"the other fails when it answers": {[]error{down}, []error{nil, down, nil}, []string{"b", "", "b"}},
		"both fail at first":              {[]error{down, down}, []error{down}, []string{"", "b", "b"}},
	} {
		a, b := &judge{name: "a", fails: test.a}, &judge{name: "b", fails: test.b}
		s := newModelSet(a.model(), b.model())
		s.policies["a"] = Policy{Fallbacks: []string{"b"}}
		var got []string
		within(t, t.Context(), func(ctx context.Context) {
			m := s.mustOpen(t, ctx, "a")
			for range test.want {
				name, _ := score(ctx, m)
				got = append(got, name)
			}
			if last := got[len(got)-1]; last != "" {
				a.fails, b.fails = nil, nil
				if name, _, err := embed(ctx, m, "p"); name != last || err != nil {
					t.Errorf("a vector is of %q: %v", name, err)
				}
			}
		})
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	a, b := &judge{name: "a", fails: []error{down}}, &judge{name: "b"}
	s := newModelSet(a.model(), b.model())
	s.policies["a"] = Policy{Fallbacks: []string{"b"}}
	for _, want := range []string{"b", "a"} { // another request, another choice
		if got, err := score(t.Context(), s.mustOpen(t, t.Context(), "a")); got != want || err != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
}

// Token ids mean other texts to another model, so it is not called.
func TestTokensOfOneModel(t *testing.T) {
	for name, call := range map[string]func(context.Context, llm.Backend, llm.Prompt) error{
		"score": func(ctx context.Context, b llm.Backend, p llm.Prompt) error {
			s, _ := llm.As[llm.Scorer](b)
			_, _, err := s.Score(ctx, &llm.ScoreRequest{Prompt: p, Continuation: "c"})
			return err
		},
		"embed": func(ctx context.Context, b llm.Backend, p llm.Prompt) error {
			e, _ := llm.As[llm.Embedder](b)
			_, _, err := e.Embed(ctx, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a"), p}})
			return err
		},
	} {
		for _, ids := range []bool{true, false} {
			prompt := llm.Text("p")
			if ids {
				prompt.Parts[0] = llm.Part{Tokens: []int{7}}
			}
			a, b := &judge{name: "a", fails: []error{fails(llm.Unavailable, 0)}}, &judge{name: "b"}
			s := newModelSet(a.model(), b.model())
			s.policies["a"] = Policy{Fallbacks: []string{"b"}}
			err := call(t.Context(), s.mustOpen(t, t.Context(), "a"), prompt)
			if (err != nil) != ids || b.calls != map[bool]int{true: 0, false: 1}[ids] {
				t.Errorf("%s, token ids %v: %v after %d calls of b", name, ids, err, b.calls)
			}
		}
	}
}

// A model that hangs has three quarters of the time for an answer in one piece.
func TestTimeOfVectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		s := newModelSet((&judge{name: "a", hangs: true}).model(), (&judge{name: "b"}).model())
		s.policies["a"] = Policy{Fallbacks: []string{"b"}}
		start := time.Now()
		rec, _ := within(t, ctx, func(ctx context.Context) {
			if got, _, err := embed(ctx, s.mustOpen(t, ctx, "a"), "p"); got != "b" || err != nil {
				t.Error(got, err)
			}
		})
		if took := time.Since(start); took != 6*time.Second || !slices.Equal(rec.Fallbacks, []string{"a: timeout"}) {
			t.Errorf("after %v, %q", took, rec.Fallbacks)
		}
	})
}

// Vectors and scores of a model in this process are kept, those of a remote one are not.
func TestVectorsAreKept(t *testing.T) {
	for _, local := range []bool{true, false} {
		a := &judge{name: "a"}
		s := newModelSet(a.model())
		s.policies["a"] = Policy{Keep: hour, Seeded: local}
		for i, test := range []struct {
			prompt string
			calls  int
			cached string
		}{{"p", 1, "miss"}, {"p", 1, "hit"}, {"q", 2, "miss"}, {"p", 2, "hit"}} {
			if !local {
				test.calls, test.cached = i+1, ""
			}
			rec, header := within(t, t.Context(), func(ctx context.Context) {
				name, vector, err := embed(ctx, s.mustOpen(t, ctx, "a"), test.prompt)
				if name != "a" || err != nil || !slices.Equal(vector, []float32{1, 2}) {
					t.Error(name, vector, err)
				}
				vector[0] = 7 // it belongs to its receiver
			})
			if a.calls != test.calls || header.Get(CacheHeader) != test.cached || rec.Err != nil {
				t.Errorf("local %v, %d: %q after %d calls", local, i, header.Get(CacheHeader), a.calls)
			}
		}
		for range 2 {
			if got, err := score(t.Context(), s.mustOpen(t, t.Context(), "a")); got != "a" || err != nil {
				t.Error(got, err)
			}
		}
		if want := map[bool]int{true: 3, false: 6}[local]; a.calls != want {
			t.Errorf("local %v: %d calls, want %d", local, a.calls, want)
		}
	}
}
