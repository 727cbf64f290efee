// Package structured adds checked structured output to models that cannot be
// constrained, such as those of remote providers: it asks for the format, reads the
// answer, checks it, asks once for a correction, and finally returns an error. It
// refuses to know providers, wire formats and how formats are checked.
//
// Start with [Wrap].
package structured

import (
	"context"
	"iter"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// Wrap returns b with the parameters Schema and Grammar, which b never sees: the rows
// are [llm.Validated]. Requests without them go to b unchanged.
//
// A text cannot be checked before its end, so a row is one chunk, which is sent when the
// row is complete and valid, whether the request is streamed or not. The text of a
// Schema is its canonical one, not the model's spelling; a Grammar's is the model's,
// except that white space around it is removed if the grammar has none. A row with a
// tool call is passed on unchecked. A row that ctx or the provider's filter ended before
// it was valid has no text.
//
// lost, if set, is called with the usage of a request that ends with an error and thus
// has no last chunk: invalid answers cost as much as others. turns limits concurrent
// compilations in the process; nil means no limit.
func Wrap(b llm.Backend, lost func(ctx context.Context, used llm.Usage), turns *grammar.Turns) llm.Backend {
	return &backend{b, lost, turns}
}

type backend struct {
	inner llm.Backend
	lost  func(ctx context.Context, used llm.Usage)
	turns *grammar.Turns
}

// Unwrap lets [llm.As] see the capabilities of the model.
func (b *backend) Unwrap() llm.Backend { return b.inner }

// Generate implements [llm.Backend].
func (b *backend) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	if len(req.Schema) == 0 && req.Grammar == nil {
		return b.inner.Generate(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		f, err := formatOf(ctx, &req.Params, b.turns)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		a := &answers{ctx: ctx, model: b.inner, form: f, req: f.ask(req), yield: yield, done: make([]bool, req.Rows()), lost: b.lost}
		a.run()
	}
}
