// Package structured gives models that cannot be held to a form, those of remote
// providers, answers that are checked: it asks for the form, reads the answer, checks
// it, asks once for a correction, and then says that there is no answer. It refuses to
// know providers, wire formats and how forms are checked.
package structured

import (
	"context"
	"iter"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// Wrap returns b with the parameters Schema and Grammar, which b never sees: rows that
// are given out are [llm.Validated]. Requests without them go to b as they are.
//
// Nothing can be promised of a text before its end, so a row is one chunk, which comes
// when the row is complete and valid, whether the request is streamed or not. The text
// of a Schema is its canonical one, not the model's spelling; a Grammar's is the
// model's, but for white space around it where the grammar has none. A row that is a
// call of a tool is passed on unchecked. A row that was ended by ctx or the provider's
// filter before it was valid has no text.
//
// lost, if set, is told of the tokens of a request that ends with an error, which has no
// chunk to tell them: answers that are not valid cost what others do. turns are those
// in which the process compiles forms; nil bounds nothing.
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
		f, err := formOf(ctx, &req.Params, b.turns)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		a := &answers{ctx: ctx, model: b.inner, form: f, req: f.ask(req), yield: yield, done: make([]bool, req.Rows()), lost: b.lost}
		a.run()
	}
}
