package invoke

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// A record is a remote model. It maps four keys, and stream if streams is set. It answers
// with its request.
type record struct {
	llmtest.Script
	streams bool
}

func (m record) Unmapped(body map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if !slices.Contains([]string{"prompt", "temperature", "seed", "schema"}, name) && (name != "stream" || !m.streams) {
			names = append(names, name)
		}
	}
	return names
}

func (m record) Invoke(_ context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		sent, _ := json.Marshal(body)
		answer := map[string]any{"generated_text": string(sent), "seed": body["seed"], "output_tokens": json.Number("7"), "input_tokens": json.Number("3")}
		switch {
		case body["prompt"] == "silence":
		case body["prompt"] == "fail":
			if stream && !yield(map[string]any{"generated_text": "so far"}, nil) {
				return
			}
			yield(nil, &llm.Error{Code: llm.Upstream, Message: "the endpoint is gone", Err: fmt.Errorf("a secret of ours")})
		case !stream:
			yield(answer, nil)
		case yield(map[string]any{"generated_text": "one", "finish_reason": nil, "output_tokens": json.Number("1")}, nil) &&
			yield(map[string]any{}, nil):
			yield(answer, nil)
		}
	}
}

// opaque is a remote model that does not list the keys that its record maps.
type opaque struct{ llmtest.Script }

func (opaque) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return record{}.Invoke(ctx, body, stream)
}

// chunks is a model that answers with the same chunks.
type chunks []llm.Chunk

func (c chunks) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range c {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// failing is a backend that fails, after a first chunk if it has one.
type failing struct {
	err   error
	first string
}

func (f failing) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if f.first == "" || yield(llm.Chunk{Text: f.first}, nil) {
			yield(llm.Chunk{}, f.err)
		}
	}
}

func testModels() llm.Fixed {
	local := func(name string, b llm.Backend) llm.Model {
		return llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local", Type: "Alpha", Streaming: true}, Backend: b}
	}
	caller := []llm.Call{{ID: "call_1", Name: "f", Arguments: `{"a":7}`}}
	tokens := []llm.Token{{ID: 1, Text: "a", Logprob: -0.5, Top: []llm.Token{{ID: 2, Text: "b", Logprob: -0.25}}}, {ID: 9}}
	return llm.Fixed{
		local("org/story:1", llmtest.Script{"Once", " upon", " a time"}),
		local("form", chunks{{Text: `{"a":7}`, Finish: llm.FinishEOS, Guarantee: llm.Enforced, Usage: &llm.Usage{Input: 1, Output: 2}}}),
		local("caller", chunks{{Calls: caller, Tokens: tokens}, {}, {Finish: llm.FinishEOS, Usage: &llm.Usage{Input: 1, Output: 2}}}),
		local("long", failing{err: &llm.Error{Code: llm.TooLong, Message: "the prompt has 300 tokens, the context of this model 256"}}),
		local("picky", failing{err: &llm.Error{Code: llm.Invalid, Param: "top_p", Message: "must be greater than 0"}}),
		local("full", failing{err: &llm.Error{Code: llm.Overloaded, Message: "8 requests are waiting", RetryAfter: 2 * time.Second}}),
		local("late", failing{err: fmt.Errorf("x: %w", context.DeadlineExceeded)}),
		local("bug", failing{err: fmt.Errorf("a secret of ours")}),
		local("breaks", failing{err: fmt.Errorf("a secret of ours"), first: "so far"}),
		local("bedrock/hidden", llmtest.Script{"hidden"}),
		{ModelInfo: llm.ModelInfo{Name: "anthropic.claude-v2:1", Family: "bedrock", Type: "Claude"}, Backend: record{}},
		{ModelInfo: llm.ModelInfo{Name: "tgi.llama-2-13b", Family: "sagemaker", Type: "Llama2"}, Backend: record{streams: true}},
		{ModelInfo: llm.ModelInfo{Name: "lenient", Family: "bedrock", IgnoreUnmapped: new(true)}, Backend: record{}},
		{ModelInfo: llm.ModelInfo{Name: "strict", Family: "bedrock", IgnoreUnmapped: new(false)}, Backend: record{}},
		{ModelInfo: llm.ModelInfo{Name: "opaque", Family: "sagemaker", Type: "Llama2"}, Backend: opaque{}},
	}
}

func handler(models llm.Models) http.Handler {
	return (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
}

func ask(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

// to returns a request for a model.
func to(family, name, body string) string {
	return `{"model_family":"` + family + `","model_name":"` + name + `","body":` + body + `}`
}
