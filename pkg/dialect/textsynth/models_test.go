package textsynth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/meter"
)

// scores is a model of words: each counts as a token of log-probability -0.5, and
// "dog" is the most likely. It fails if err is set.
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
	score := &llm.Score{Logprob: -0.5 * float64(len(words)), Greedy: req.Continuation == " dog", Tokens: make([]llm.Token, len(words))}
	return score, llm.Usage{Input: max(1, len(strings.Fields(before))) + len(words)}, nil
}

// certain gives every text the same log-probability.
type certain struct {
	llmtest.Script
	logprob float64
}

func (c certain) Score(context.Context, *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return &llm.Score{Logprob: c.logprob, Greedy: true}, llm.Usage{Input: 1}, nil
}

// speller translates a text to a description of the request. It always detects the language
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

// writer replays chunks, and then an error if there is one.
type writer struct {
	chunks []llm.Chunk
	err    error
	got    *llm.Request
}

func (w *writer) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		w.got = req
		for _, c := range w.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if w.err != nil {
			yield(llm.Chunk{}, w.err)
		}
	}
}

// ended returns a writer whose only row ends with a reason.
func ended(why llm.Finish) *writer {
	return &writer{chunks: []llm.Chunk{{Text: "a"}, {Text: "b", Finish: why, Usage: &llm.Usage{Input: 2, Output: 2}}}}
}

// letters is a model whose tokens are bytes, with the byte values as ids. It fails if err is
// set.
type letters struct {
	llmtest.Script
	err error
}

func (l letters) Tokenize(_ context.Context, parts []llm.Part, start bool) ([]llm.Token, error) {
	text := parts[0]
	if start || text.Special || text.Tokens != nil || l.err != nil {
		return nil, cmp.Or(l.err, fmt.Errorf("asked for %+v, %v", text, start))
	}
	tokens := make([]llm.Token, len(text.Text))
	for i := range tokens {
		tokens[i] = llm.Token{ID: int(text.Text[i]), Text: text.Text[i : i+1], Piece: "?"}
	}
	return tokens, nil
}

func (letters) Detokenize(context.Context, []int) (string, error) { return "", nil }

// wrapper hides the capabilities of a backend from everything except [llm.As].
type wrapper struct{ inner llm.Backend }

func (w wrapper) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return w.inner.Generate(ctx, req)
}

func (w wrapper) Unwrap() llm.Backend { return w.inner }

// newStory writes three words, and a chunk without text among them.
func newStory() *writer {
	return &writer{chunks: []llm.Chunk{
		{Text: "Once"}, {Text: " <upon>\n"}, {Text: ""}, {Text: " a tïme", Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 3, Output: 5}},
	}}
}

// twoRows are two completions that end at different times, the second one cut.
func twoRows() []llm.Chunk {
	return []llm.Chunk{
		{Row: 0, Text: "a"}, {Row: 1, Text: "b"}, {Row: 0, Text: ""}, {Row: 1, Text: ""}, {Row: 0, Text: "c", Finish: llm.FinishStop},
		{Row: 1, Text: "d"}, {Row: 1, Finish: llm.FinishLength, Usage: &llm.Usage{Input: 1, Output: 7}},
	}
}

// typedRows returns two structured completions, the second with the given guarantee.
func typedRows(second llm.Guarantee) []llm.Chunk {
	return []llm.Chunk{
		{Row: 0, Text: `{"a"`}, {Row: 1, Text: `{"a":2}`, Finish: llm.FinishLength, Guarantee: second}, {Row: 0, Text: `:"<1>"}`},
		{Row: 0, Finish: llm.FinishEOS, Guarantee: llm.Enforced, Usage: &llm.Usage{Input: 1, Output: 3}},
	}
}

func model(name string, b llm.Backend) llm.Model {
	return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local"}, Backend: b}
}

// writers returns models that complete texts in different ways.
func writers(story *writer) []llm.Model {
	plays := func(list ...llm.Chunk) *writer { return &writer{chunks: list} }
	breaks, bug := plays(llm.Chunk{Text: "Once"}), plays(llm.Chunk{Text: "Once"})
	breaks.err, bug.err = llm.Errorf(llm.Upstream, "the model <x> failed"), errors.New("a secret of ours")
	models := []llm.Model{
		model("story", story), model("letters", wrapper{letters{}}), model("breaks", breaks), model("bug", bug),
		model("late", &writer{err: fmt.Errorf("x: %w", context.DeadlineExceeded)}),
		model("cut", plays(llm.Chunk{Text: "end", Finish: llm.FinishContext, Usage: &llm.Usage{Input: 9, Output: 1, Truncated: true}})),
		model("silent", plays(llm.Chunk{}, llm.Chunk{Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1}})),
		model("two", plays(twoRows()...)), model("typed", plays(typedRows(llm.Enforced)...)), model("half", plays(typedRows(llm.Unchecked)...)),
	}
	for _, why := range []llm.Finish{llm.FinishEOS, llm.FinishStop, llm.FinishLength, llm.FinishContext, llm.FinishDeadline, llm.FinishFiltered} {
		models = append(models, model("ends-"+string(why), ended(why)))
	}
	return models
}

// fixture is the dialect with models that record their requests.
type fixture struct {
	http.Handler
	scores  *scores
	speller *speller
	story   *writer
	used    llm.Usage // of the last request
}

func newFixture() *fixture {
	f := &fixture{scores: &scores{}, speller: &speller{}, story: newStory()}
	fails := func(name string, e *llm.Error) []llm.Model {
		wrapped := fmt.Errorf("x: %w", e)
		return []llm.Model{
			model("scores-"+name, &scores{err: e}), model("speller-"+name, &speller{err: wrapped}),
			model("writer-"+name, &writer{err: wrapped}), model("letters-"+name, letters{err: wrapped}),
		}
	}
	models := llm.Fixed{
		model("gptj_6B", f.scores), model("m2m100_1_2B", f.speller),
		model("org/gpt:1 %", wrapper{&scores{}}), model("plain", llmtest.Script{"x"}),
		model("never", certain{logprob: math.Inf(-1)}), model("above", certain{logprob: 1e-9}), model("broken", certain{logprob: math.NaN()}),
	}
	models = append(models, writers(f.story)...)
	models = append(models, fails("length", &llm.Error{Code: llm.Invalid, Param: "max_new_tokens", Message: "not so many"})...)
	models = append(models, fails("too-long", &llm.Error{Code: llm.TooLong, Message: "the prompt has 9 tokens"})...)
	models = append(models, fails("schema", &llm.Error{Code: llm.Invalid, Param: "schema", Message: "/a: pattern: not so"})...)
	models = append(models, fails("grammar", &llm.Error{Code: llm.Invalid, Param: "grammar", Message: "line 1: not so"})...)
	models = append(models, fails("prompt", &llm.Error{Code: llm.Invalid, Param: "prompt", Message: "not so"})...)
	models = append(models, fails("target", &llm.Error{Code: llm.Unsupported, Param: "target_lang", Message: "not that one"})...)
	models = append(models, fails("full", &llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting"})...)
	mux := httpx.Mux{
		Routes: Routes(Config{Models: meter.Models(models)}), Fallback: Errors,
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
