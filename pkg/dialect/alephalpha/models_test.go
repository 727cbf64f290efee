package alephalpha

import (
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

// catalog is a list of models with backends. Aliases are resolved.
type catalog []llm.Model

func (c catalog) Open(_ context.Context, name string) (*llm.Model, error) {
	for i, m := range c {
		if name == m.Name || name == m.Family+"/"+m.Name || name == "alias-of-"+m.Name {
			return &c[i], nil
		}
	}
	return nil, llm.Errorf(llm.NotFound, "no model %q", name)
}

func (c catalog) List(context.Context) (infos []llm.ModelInfo, err error) {
	for _, m := range c[:2] {
		infos = append(infos, m.ModelInfo)
	}
	return infos, nil
}

// words is a model whose tokens are words: each has the number of its letters as id,
// log-probability -0.5 and vectors of its layer, and "dog" is the most likely. It records
// its requests, and fails if err is set.
type words struct {
	llmtest.Script
	err      error
	complete *llm.Request
	embedded *llm.EmbedRequest
	scored   *llm.ScoreRequest
}

func (m *words) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	m.complete = req
	if m.err != nil {
		return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, m.err) }
	}
	return m.Script.Generate(ctx, req)
}

func (m *words) Tokenize(_ context.Context, parts []llm.Part, start bool) (list []llm.Token, err error) {
	if start {
		return nil, errors.New("a start token was asked for")
	}
	for i, word := range strings.Fields(parts[0].Text) {
		t := llm.Token{ID: len(word), Text: word, Piece: word, Logprob: -0.5, Top: []llm.Token{{Text: " dog", Logprob: -0.5}}}
		if i > 0 {
			t.Text, t.Piece = " "+word, "Ġ"+word
		}
		list = append(list, t)
	}
	return list, m.err
}

func (m *words) Detokenize(_ context.Context, ids []int) (string, error) {
	var list []string
	for _, id := range ids {
		if id < 0 {
			return "", &llm.Error{Code: llm.Invalid, Param: "prompt", Message: fmt.Sprintf("there is no token %d", id)}
		}
		list = append(list, strings.Repeat("x", id))
	}
	return strings.Join(list, " "), m.err
}

func (m *words) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	m.embedded = req
	if req.Task != "" {
		return nil, llm.Usage{}, llm.Errorf(llm.Unsupported, "this model is not trained for embeddings")
	}
	text, _ := req.Prompts[0].Text()
	tokens, err := m.Tokenize(ctx, []llm.Part{{Text: text}}, false)
	out := llm.Embedding{Tokens: tokens}
	for _, index := range req.Layers {
		if index < 0 {
			index += 3 // of two layers
		}
		vectors := make([][]float32, len(tokens))
		if len(req.Pooling) > 0 {
			vectors = make([][]float32, len(req.Pooling))
		}
		for i := range vectors {
			vectors[i] = []float32{float32(index), 0.1, -float32(i) / 2}
		}
		out.Layers = append(out.Layers, llm.Layer{Index: index, Vectors: vectors})
	}
	return []llm.Embedding{out}, llm.Usage{Input: len(tokens)}, err
}

func (m *words) Score(ctx context.Context, req *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	m.scored = req
	before, _ := req.Prompt.Text()
	tokens, err := m.Tokenize(ctx, []llm.Part{{Text: req.Continuation}}, false)
	if err == nil && len(tokens) == 0 {
		err = &llm.Error{Code: llm.Invalid, Param: "continuation", Message: "adds no token to the context"}
	}
	score := &llm.Score{Logprob: -0.5 * float64(len(tokens)), Tokens: tokens, Greedy: req.Continuation == " dog", Argmax: strings.Repeat(" dog", len(tokens))}
	return score, llm.Usage{Input: max(1, len(strings.Fields(before))) + len(tokens)}, err
}

// chunks is a backend that replays chunks, and then an error if there is one.
type chunks struct {
	list []llm.Chunk
	err  error
}

func (c chunks) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, chunk := range c.list {
			if !yield(chunk, nil) {
				return
			}
		}
		if c.err != nil {
			yield(llm.Chunk{}, c.err)
		}
	}
}

// ended returns a backend whose only row ends with a reason.
func ended(why llm.Finish) chunks {
	return chunks{list: []llm.Chunk{{Text: "a"}, {Text: "b", Finish: why, Usage: &llm.Usage{Input: 2, Output: 2}}}}
}

// tokens has an echoed prompt, a character over two tokens, tokens of one text, a
// special token and an impossible one.
var tokens = chunks{list: []llm.Chunk{
	{Text: "So", Tokens: []llm.Token{{ID: 7, Text: "So", Piece: "So", Logprob: math.NaN(), Top: []llm.Token{{Text: "x"}}}}},
	{Tokens: []llm.Token{{ID: 1, Text: "\xe2\x82", Piece: "âĤ", Logprob: -2, Top: []llm.Token{{Text: "a<b", Logprob: -1}, {Text: "a<b", Logprob: -3}, {ID: 9, Piece: "<|end|>", Logprob: math.Inf(-1)}}}}},
	{Text: "€", Tokens: []llm.Token{{ID: 2, Text: "\xac", Piece: "¬", Logprob: -0.25, Top: []llm.Token{{ID: 2, Text: "\xac", Logprob: -0.25}}}}},
	{Tokens: []llm.Token{{ID: 9, Piece: "<|end|>", Logprob: -1}}},
	{Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1, Output: 3}},
}}

// fixture is the dialect with models that record their requests.
type fixture struct {
	http.Handler
	words *words
	used  llm.Usage // of the last request
}

func newFixture() *fixture {
	f := &fixture{words: &words{Script: llmtest.Script{"Once", " upon", " a time"}}}
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local"}, Backend: b}
	}
	fails := func(name string, err error) llm.Model { return model(name, &words{err: err}) }
	main, remote := model("luminous", f.words), model("org/claude:1", llmtest.Script{"hi"})
	main.Version, main.Description, main.Context, main.Hostings = "2021-12", "tells stories", 2048, []string{"aleph-alpha", "cloud"}
	main.Aliases = []string{"luminous-base", "org/claude:1", "luminous-base"}
	remote.Family = "bedrock"
	models := catalog{
		main, remote, model("tokens", tokens), model("context", ended(llm.FinishContext)), model("deadline", ended(llm.FinishDeadline)),
		model("stopped", ended(llm.FinishStop)), model("filtered", ended(llm.FinishFiltered)),
		fails("too-long", &llm.Error{Code: llm.TooLong, Message: "the prompt has 4000 tokens, the context of this model 2048"}),
		fails("full", &llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting"}),
		fails("picky", fmt.Errorf("x: %w", &llm.Error{Code: llm.Unsupported, Param: "max_new_tokens", Message: "this model does not support it"})),
		fails("layers", &llm.Error{Code: llm.Invalid, Param: "layers", Message: "9 is not from -3 to 2"}),
		fails("late", fmt.Errorf("x: %w", context.DeadlineExceeded)), fails("bug", errors.New("a secret of ours")),
		model("breaks", chunks{list: []llm.Chunk{{Text: "Once"}}, err: llm.Errorf(llm.Upstream, "the model <x> failed")}),
	}
	mux := httpx.Mux{Routes: Routes(Config{Models: meter.Models(models), Login: login}), Fallback: Errors, Observe: func(r *httpx.Record) { f.used = r.Usage }}
	f.Handler = mux.Handler()
	return f
}

func login(_ context.Context, email, password string) (token, role string, err error) {
	if email != "a@b.c" || password != "right" {
		return "", "", llm.Errorf(llm.Unauthenticated, "wrong email or password")
	}
	return "t1", "client", nil
}

func ask(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}
