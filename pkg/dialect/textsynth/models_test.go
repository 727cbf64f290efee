package textsynth

import (
	"context"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// catalog is a list of models with backends.
type catalog []llm.Model

func (c catalog) Open(_ context.Context, name string) (*llm.Model, error) {
	for i, m := range c {
		if name == m.Name || name == m.Family+"/"+m.Name {
			return &c[i], nil
		}
	}
	return nil, llm.Errorf(llm.NotFound, "no model %q", name)
}

func (c catalog) List(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

// scores is a model of words: each counts as a token of log-probability -0.5, and
// "dog" is the likeliest. It fails if err is set.
type scores struct {
	llmtest.Script
	err error
	got *llm.ScoreRequest
}

func (s *scores) Score(_ context.Context, req *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	s.got = req
	if s.err != nil {
		return nil, llm.Usage{}, s.err
	}
	before, _ := req.Prompt.Text()
	words := strings.Fields(req.Continuation)
	score := &llm.Score{Logprob: -0.5 * float64(len(words)), Greedy: req.Continuation == " dog"}
	return score, llm.Usage{Input: max(1, len(strings.Fields(before))) + len(words)}, nil
}

// certain gives one log-probability to everything.
type certain struct {
	llmtest.Script
	logprob float64
}

func (c certain) Score(context.Context, *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return &llm.Score{Logprob: c.logprob, Greedy: true}, llm.Usage{Input: 1}, nil
}

// speller translates by naming what it was asked for. Every language it detects is
// nso. It fails if err is set.
type speller struct {
	llmtest.Script
	err error
	got *llm.TranslateRequest
}

func (s *speller) Translate(_ context.Context, req *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	s.got = req
	if s.err != nil {
		return nil, llm.Usage{}, s.err
	}
	var used llm.Usage
	out := make([]llm.Translation, len(req.Texts))
	for i, text := range req.Texts {
		out[i].Text = fmt.Sprintf("<%s> & %s", req.Target, strings.ToUpper(text))
		if req.Source == "" {
			out[i].Source = "nso"
		}
		used.Input += len(text)
		used.Output += req.Beams * len(text)
	}
	return out, used, nil
}

// wrapper hides the capabilities of a backend from all but [llm.As].
type wrapper struct{ inner llm.Backend }

func (w wrapper) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return w.inner.Generate(ctx, req)
}

func (w wrapper) Unwrap() llm.Backend { return w.inner }

// fixture is the dialect over models whose requests are kept.
type fixture struct {
	http.Handler
	scores  *scores
	speller *speller
	used    llm.Usage // of the last request
}

func newFixture() *fixture {
	f := &fixture{scores: &scores{}, speller: &speller{}}
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local"}, Backend: b}
	}
	fails := func(name string, e *llm.Error) []llm.Model {
		return []llm.Model{model("scores-"+name, &scores{err: e}), model("speller-"+name, &speller{err: fmt.Errorf("x: %w", e)})}
	}
	models := catalog{
		model("gptj_6B", f.scores), model("m2m100_1_2B", f.speller),
		model("org/gpt:1 %", wrapper{&scores{}}), model("plain", llmtest.Script{"x"}),
		model("never", certain{logprob: math.Inf(-1)}), model("above", certain{logprob: 1e-9}), model("broken", certain{logprob: math.NaN()}),
	}
	models = append(models, fails("too-long", &llm.Error{Code: llm.TooLong, Message: "the prompt has 9 tokens"})...)
	models = append(models, fails("prompt", &llm.Error{Code: llm.Invalid, Param: "prompt", Message: "not so"})...)
	models = append(models, fails("target", &llm.Error{Code: llm.Unsupported, Param: "target_lang", Message: "not that one"})...)
	models = append(models, fails("full", &llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting"})...)
	mux := httpx.Mux{
		Routes: Routes(Config{Models: models}), Fallback: Errors,
		Observe: func(r *httpx.Record) { f.used = r.Usage },
	}
	f.Handler = mux.Handler()
	return f
}

func ask(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}
