package intercept

import (
	"context"
	"slices"

	"glossa/pkg/llm"
)

// These are all parts of a new capability: its interface, a method, a wrapper type, and a
// row.

// A Summarizer is a capability that pkg/llm does not have.
type Summarizer interface {
	Summarize(ctx context.Context, texts []string) ([]float64, llm.Usage, error)
}

var summarize = counted("summarize", Summarizer.Summarize, func(texts []string) (n int64) {
	for _, text := range texts {
		n += int64(len(text))
	}
	return n
})

type summarizer struct{ w *wrapped }

func (r summarizer) Summarize(ctx context.Context, texts []string) ([]float64, llm.Usage, error) {
	return answer[[]float64](ctx, r.w, summarize, texts)
}

// WithSummarizer returns m behind a table with a row for Summarizer.
func WithSummarizer(m *llm.Model) *llm.Model {
	w := &wrapped{model: m.Backend, info: &m.ModelInfo, table: slices.Concat(table, []row{
		interceptedRow(func(w *wrapped) Summarizer { return summarizer{w} }, summarize),
	})}
	return &llm.Model{ModelInfo: m.ModelInfo, Backend: w}
}

// Counted returns the names of the methods of the table that use tokens.
func Counted() (names []string) {
	for _, r := range table {
		for _, m := range r.methods {
			if !m.Free {
				names = append(names, m.Name)
			}
		}
	}
	return names
}
