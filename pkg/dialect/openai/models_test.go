package openai

import (
	"context"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// catalog is a list of models with backends; an alias finds its model.
type catalog []llm.Model

func (c catalog) Open(_ context.Context, name string) (*llm.Model, error) {
	for i, m := range c {
		if name == "" || name == m.Name || name == m.Family+"/"+m.Name || name == "alias-of-"+m.Name {
			return &c[i], nil
		}
	}
	return nil, llm.Errorf(llm.NotFound, "no model %q", name)
}

func (c catalog) List(context.Context) (infos []llm.ModelInfo, err error) {
	for _, m := range c {
		infos = append(infos, m.ModelInfo)
	}
	return infos, nil
}

// chunks is a backend that plays chunks back, and then an error if there is one.
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

// failing returns a backend that says one word, then fails; with "" it fails at once.
func failing(word string, err error) chunks {
	c := chunks{err: err}
	if word != "" {
		c.list = []llm.Chunk{{Text: word}}
	}
	return c
}

// ended returns a backend whose only row ends for a reason.
func ended(why llm.Finish) chunks {
	return chunks{list: []llm.Chunk{{Text: "a"}, {Text: "b", Finish: why, Usage: &llm.Usage{Input: 2, Output: 2}}}}
}

// tokens has a character over two tokens, a special token and an impossible one.
var tokens = chunks{list: []llm.Chunk{
	{Tokens: []llm.Token{{ID: 1, Text: "\xe2\x82", Piece: "âĤ", Logprob: -0.5, Top: []llm.Token{{ID: 1, Text: "\xe2\x82", Logprob: -0.5}, {ID: 9, Piece: "<|end|>", Logprob: math.Inf(-1)}}}}},
	{Text: "€", Tokens: []llm.Token{{ID: 2, Text: "\xac", Piece: "¬", Logprob: -0.25, Top: []llm.Token{{ID: 2, Text: "\xac", Logprob: -0.25}}}}},
	{Tokens: []llm.Token{{ID: 9, Piece: "<|end|>", Logprob: -1}}},
	{Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1, Output: 3}},
}}

// echoed has the tokens of a prompt, the first of which nothing predicts, and two
// tokens that are spelt alike.
var echoed = chunks{list: []llm.Chunk{
	{Text: "€a", Tokens: []llm.Token{
		{ID: 1, Text: "\xe2\x82", Logprob: math.NaN()},
		{ID: 2, Text: "\xac", Logprob: -2, Top: []llm.Token{{ID: 5, Text: "b", Logprob: -1}, {ID: 6, Text: "b", Logprob: -1.5}}},
		{ID: 3, Text: "a", Logprob: -0.125, Top: []llm.Token{{ID: 3, Text: "a", Logprob: -0.125}}},
	}},
	{Text: "<b>", Tokens: []llm.Token{{ID: 4, Text: "<b>", Logprob: -1, Top: []llm.Token{{ID: 4, Text: "<b>", Logprob: -1}}}}},
	{Finish: llm.FinishLength, Usage: &llm.Usage{Input: 3, Output: 1}},
}}

// held plays chunks back as a row with a guarantee, and ends it for a reason.
func held(why llm.Finish, list ...llm.Chunk) chunks {
	last := llm.Chunk{Finish: why, Guarantee: llm.Enforced, Usage: &llm.Usage{Input: 2, Output: len(list)}}
	return chunks{list: append(slices.Clip(list), last)}
}

// calls are two calls in pieces, of which the second has no id.
var calls = []llm.Chunk{
	{Calls: []llm.Call{{ID: "call_a", Name: "weather"}}}, {Calls: []llm.Call{{Arguments: `{"city":`}}},
	{Calls: []llm.Call{{Arguments: `"<Pau>"}`}, {Index: 1, Name: "time", Arguments: "{}"}}},
}

// two has two rows, of which one was only checked.
var two = chunks{list: []llm.Chunk{
	{Text: `{}`, Finish: llm.FinishEOS, Guarantee: llm.Enforced},
	{Row: 1, Text: `{}`, Finish: llm.FinishEOS, Guarantee: llm.Validated, Usage: &llm.Usage{Input: 2, Output: 2}},
}}

// vectors is a backend that also embeds, each prompt as (3, 4), and whose tokens are
// the euro sign.
type vectors struct{ chunks }

func (vectors) Embed(_ context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	if text, _ := req.Prompts[0].Text(); text == "long" {
		return nil, llm.Usage{}, llm.TooManyTokens("the prompt has", 300, 256)
	}
	if req.Task == llm.EmbedCluster {
		return nil, llm.Usage{}, &llm.Error{Code: llm.Invalid, Param: "task", Message: "is not one of the model's"}
	}
	out := make([]llm.Embedding, len(req.Prompts))
	for i := range out {
		out[i].Layers = []llm.Layer{{Index: 1, Vectors: [][]float32{{3, 4}}}}
	}
	return out, llm.Usage{Input: 2 * len(out)}, nil
}

func (vectors) Tokenize(context.Context, []llm.Part, bool) ([]llm.Token, error) { return nil, nil }

func (vectors) Detokenize(_ context.Context, ids []int) (string, error) {
	return strings.Repeat("€", len(ids)), nil
}

func testCatalog() catalog {
	run := &llm.Run{ID: "r1", Domain: "novels"}
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local"}, Backend: b}
	}
	story := model("novels-5hr", llmtest.Script{"Once", " upon", " a time"})
	story.Run, story.Created = run, time.Unix(1739900000, 999)
	remote := model("org/claude:1", llmtest.Script{"hi"})
	remote.Family = "bedrock"
	return catalog{
		story, remote, model("tokens", tokens),
		model("vectors", vectors{tokens}), model("echo", echoed),
		model("context", ended(llm.FinishContext)), model("deadline", ended(llm.FinishDeadline)), model("filtered", ended(llm.FinishFiltered)),
		model("typed", held(llm.FinishEOS, llm.Chunk{Text: `{"city"`}, llm.Chunk{Text: `:"<Pau>"}`})),
		model("typed-length", held(llm.FinishLength, llm.Chunk{Text: `{"city":"P"}`})),
		model("caller", held(llm.FinishEOS, calls...)), model("caller-length", held(llm.FinishLength, llm.Chunk{Calls: []llm.Call{{ID: "call_a", Name: "time", Arguments: "{}"}}})),
		model("talker", held(llm.FinishEOS, append([]llm.Chunk{{Text: "Let me see."}}, calls...)...)), model("two", two),
		model("silent", chunks{list: []llm.Chunk{{}, {Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1}}}}),
		model("too-long", failing("", llm.TooManyTokens("the prompt has", 300, 256))),
		model("full", failing("", &llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting", RetryAfter: 2 * time.Second})),
		model("picky", failing("", fmt.Errorf("x: %w", &llm.Error{Code: llm.Unsupported, Param: "max_new_tokens", Message: "this model does not support it"}))),
		model("late", failing("", fmt.Errorf("x: %w", context.DeadlineExceeded))),
		model("breaks", failing("Once", llm.Errorf(llm.Upstream, "the model <x> failed"))),
		model("bug", failing("Once", fmt.Errorf("a secret of ours"))),
	}
}

func testHandler() http.Handler {
	now := func() time.Time { return time.Unix(1739900000, 0) }
	return (&httpx.Mux{Routes: Routes(Config{Models: testCatalog(), Now: now}), Fallback: Errors}).Handler()
}

func ask(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}
