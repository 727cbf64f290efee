// Package meter measures the cost of requests: it writes the model, its tokens and the
// start of its answer to the record of the request, whatever the dialect and the
// capability. It knows llm and the record, nothing of dialects and of the readers of the
// measurements; packages prom and emf are readers.
package meter

import (
	"context"
	"iter"

	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// Models returns models that write to [httpx.RecordOf] the name of the opened model,
// the tokens that each call used, and the time of the first piece.
func Models(models llm.Models) llm.Models { return metered{models} }

type metered struct{ llm.Models }

func (m metered) Open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := m.Models.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	rec := httpx.RecordOf(ctx)
	rec.Model, rec.Family = model.Name, model.Family
	return intercept.Wrap(model, meter{}), nil
}

// meter adds the usage of each call to the record.
type meter struct{}

// Intercept implements [intercept.Interceptor]. A client that leaves the sequence before
// its end has used tokens too: the model is cancelled, and if it then reports its usage,
// that is counted.
func (meter) Intercept(ctx context.Context, call *intercept.Call, next intercept.Next) iter.Seq2[intercept.Piece, error] {
	if call.Free {
		return next(ctx, call)
	}
	return func(yield func(intercept.Piece, error) bool) {
		rec := httpx.RecordOf(ctx)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var used llm.Usage
		defer func() { rec.Count(used) }() // even in a panic
		left := false
		for p, err := range next(ctx, call) {
			if p.Usage != nil {
				used = *p.Usage
			}
			if left {
				continue
			}
			if p.Answers() {
				rec.Piece()
			}
			if !yield(p, err) {
				if !call.Drains {
					return
				}
				left = true
				cancel()
			}
		}
	}
}
