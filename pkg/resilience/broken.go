package resilience

import (
	"context"
	"iter"

	"glossa/pkg/llm"
)

// broken is a model that could not be opened: what it can do is not known, and all of
// it is the error that opening it gave. It is no [llm.Invoker], as dialects then ask
// for a generation, which every fallback has.
type broken struct{ err error }

// Generate implements [llm.Backend].
func (b broken) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, b.err) }
}

// Score implements [llm.Scorer].
func (b broken) Score(context.Context, *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return nil, llm.Usage{}, b.err
}

// Embed implements [llm.Embedder].
func (b broken) Embed(context.Context, *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	return nil, llm.Usage{}, b.err
}

// Tokenize implements [llm.Tokenizer].
func (b broken) Tokenize(context.Context, llm.Part, bool) ([]llm.Token, error) { return nil, b.err }

// Detokenize implements [llm.Tokenizer].
func (b broken) Detokenize(context.Context, []int) (string, error) { return "", b.err }

// Render implements [llm.Renderer].
func (b broken) Render([]llm.Message, []llm.Tool, bool) ([]llm.Part, bool, error) {
	return nil, false, b.err
}

// TokenizerJSON implements [llm.TokenizerFile].
func (b broken) TokenizerJSON(context.Context) ([]byte, error) { return nil, b.err }

// Translate implements [llm.Translator].
func (b broken) Translate(context.Context, *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	return nil, llm.Usage{}, b.err
}
