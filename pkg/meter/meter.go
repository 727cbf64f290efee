// Package meter measures what requests cost: it notes the model, its tokens and when
// its answer began on the record of the request, whatever dialect asks. It knows llm
// and the record, nothing of dialects and of who reads the figures; packages prom and
// emf are readers.
package meter

import (
	"context"
	"iter"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Models returns models that note on [httpx.RecordOf] which model was opened, by
// its own name, the tokens that it took and gave, and when its first piece came.
func Models(models llm.Models) llm.Models { return metered{models} }

type metered struct{ llm.Models }

func (m metered) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := m.Models.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	rec := httpx.RecordOf(ctx)
	rec.Model, rec.Family = model.Name, model.Family
	return &llm.Model{ModelInfo: model.ModelInfo, Backend: wrap(model.Backend)}, nil
}

// wrap returns b as it is measured. What stands before a capability would pretend to
// have it, so there is a kind of wrapper with Invoke, for models that have it, and
// dialects count what the other capabilities used.
func wrap(b llm.Backend) llm.Backend {
	if invoker, err := llm.As[llm.Invoker](b); err == nil {
		return invoked{backend{b}, invoker}
	}
	return backend{b}
}

// backend adds the usage of each generation to the record.
type backend struct{ llm.Backend }

// Unwrap lets [llm.As] see the capabilities of the backend.
func (b backend) Unwrap() llm.Backend { return b.Backend }

// Generate implements [llm.Backend]. Whoever leaves the sequence before its end has
// used tokens too: the model is cancelled, and what its last chunk says is counted.
func (b backend) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		rec := httpx.RecordOf(ctx)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		left := false
		for c, err := range b.Backend.Generate(ctx, req) {
			if c.Usage != nil {
				rec.Count(*c.Usage)
			}
			if left {
				continue
			}
			if c.Text != "" || len(c.Tokens) > 0 || len(c.Calls) > 0 {
				rec.Began()
			}
			if !yield(c, err) {
				left = true
				cancel()
			}
		}
	}
}

// invoked is a backend that can be invoked too. Its tokens are counted by the dialect,
// which reads the answers.
type invoked struct {
	backend
	invoker llm.Invoker
}

// Invoke implements [llm.Invoker].
func (b invoked) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for keys, err := range b.invoker.Invoke(ctx, body, stream) {
			if text, _ := keys["generated_text"].(string); text != "" || keys["tool_calls"] != nil {
				httpx.RecordOf(ctx).Began()
			}
			if !yield(keys, err) {
				return
			}
		}
	}
}
