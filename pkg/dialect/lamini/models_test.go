package lamini

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// repeater repeats each prompt, and ends the row with the finish reason of that name. Its
// embedding of a text has one element, the text's length.
type repeater struct{}

func (repeater) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for i, prompt := range req.Prompts {
			text, _ := prompt.Text()
			c := llm.Chunk{Row: i, Text: text, Finish: llm.Finish(text)}
			if i == len(req.Prompts)-1 {
				c.Usage = &llm.Usage{Input: i + 1, Output: i + 1}
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (repeater) Embed(_ context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	out := make([]llm.Embedding, len(req.Prompts))
	for i, prompt := range req.Prompts {
		text, _ := prompt.Text()
		out[i].Layers = []llm.Layer{{Vectors: [][]float32{{float32(len(text)), 0.5}}}}
	}
	return out, llm.Usage{Input: len(out)}, nil
}

// typist writes each prompt as the units of an age. A row is complete unless its prompt is
// late or free.
type typist struct{}

func (typist) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for i, prompt := range req.Prompts {
			text, _ := prompt.Text()
			c := llm.Chunk{Row: i, Text: `{ "units": "` + text + `", "age": 1e1 }`, Finish: llm.FinishLength, Guarantee: llm.Enforced}
			switch text {
			case "late":
				c.Text, c.Finish, c.Guarantee = `{"un`, llm.FinishDeadline, llm.Unchecked
			case "free":
				c.Text, c.Finish, c.Guarantee = "ten years", llm.FinishEOS, llm.Unchecked
			case "checked":
				c.Guarantee = llm.Validated
			}
			if i == len(req.Prompts)-1 {
				c.Usage = &llm.Usage{Input: i + 1, Output: i + 1}
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// failing is a backend that fails.
type failing struct{ err error }

func (f failing) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, f.err) }
}

func testHandler() http.Handler {
	model := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local"}, Backend: b}
	}
	models := llm.Fixed{
		model("repeater", repeater{}), model("typist", typist{}),
		model("unfit", failing{&llm.Error{Code: llm.Invalid, Param: "schema", Message: "/properties/age: the vocabulary has no '7'"}}), model("org/story:1", llmtest.Script{"Once", " upon", " a time"}),
		model("too-long", failing{&llm.Error{Code: llm.TooLong, Message: "the prompt has 300 tokens, the context of this model 256"}}),
		model("rows", failing{&llm.Error{Code: llm.Invalid, Param: "prompt", Message: "a request may have 256 rows"}}),
		model("picky", failing{&llm.Error{Code: llm.Unsupported, Param: "max_new_tokens", Message: "this model does not support it"}}),
		model("full", failing{&llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting", RetryAfter: 2 * time.Second}}),
		model("late", failing{fmt.Errorf("x: %w", context.DeadlineExceeded)}),
		model("upstream", failing{llm.Errorf(llm.Upstream, "the model failed")}),
		model("bug", failing{fmt.Errorf("a secret of ours")}),
	}
	return (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
}

func ask(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}
