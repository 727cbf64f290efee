// Package meter measures what requests cost: it notes the model and its tokens on
// the record of the request, whatever dialect asks. It knows llm and the record,
// nothing of dialects and of who reads the figures; package prom is one reader.
package meter

import (
	"context"
	"iter"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Models returns models that note on [httpx.RecordOf] which model was opened, by
// its own name, and the tokens that it took and gave.
func Models(models llm.Models) llm.Models { return metered{models} }

type metered struct{ llm.Models }

func (m metered) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := m.Models.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	httpx.RecordOf(ctx).Model = model.Name
	return &llm.Model{ModelInfo: model.ModelInfo, Backend: backend{model.Backend}}, nil
}

// backend adds the usage of each generation to the record. It cannot stand before a
// capability without pretending to have it, so dialects count what those used.
type backend struct{ llm.Backend }

// Unwrap lets [llm.As] see the capabilities of the backend.
func (b backend) Unwrap() llm.Backend { return b.Backend }

func (b backend) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for c, err := range b.Backend.Generate(ctx, req) {
			if c.Usage != nil {
				httpx.RecordOf(ctx).Count(*c.Usage)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
