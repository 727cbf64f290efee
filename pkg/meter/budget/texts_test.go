package budget

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A textReader embeds, ranks, classifies, scores and translates texts.
type textReader struct{ llm.Backend }

func (textReader) Embed(context.Context, *llm.EmbedRequest) (_ []llm.Embedding, u llm.Usage, err error) {
	return nil, u, nil
}
func (textReader) Rerank(context.Context, *llm.RerankRequest) (_ []llm.Relevance, u llm.Usage, err error) {
	return nil, u, nil
}
func (textReader) Classify(context.Context, *llm.ClassifyRequest) (_ []llm.Classification, u llm.Usage, err error) {
	return nil, u, nil
}
func (textReader) Score(context.Context, *llm.ScoreRequest) (_ *llm.Score, u llm.Usage, err error) {
	return nil, u, nil
}
func (textReader) Translate(context.Context, *llm.TranslateRequest) (_ []llm.Translation, u llm.Usage, err error) {
	return nil, u, nil
}

// A countingReader counts a token for 4 bytes.
type countingReader struct {
	textReader
	llm.Tokenizer
}

// TestTextsMustFit: a call that only reads texts needs a budget for their tokens, but not for their
// bytes. One request for embeddings of long texts could otherwise spend any number of budgets.
func TestTextsMustFit(t *testing.T) {
	text := strings.Repeat("x", 4000) // 1000 tokens
	half := text[:2000]
	calls := map[string]struct {
		tokens int64
		call   func(context.Context, llm.Backend) error
	}{
		"embed": {1000, func(ctx context.Context, m llm.Backend) error {
			_, _, err := must(llm.As[llm.Embedder](m)).Embed(ctx, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text(half), llm.Text(half)}})
			return err
		}},
		"rerank": {1000, func(ctx context.Context, m llm.Backend) error {
			_, _, err := must(llm.As[llm.Reranker](m)).Rerank(ctx, &llm.RerankRequest{Pairs: []llm.Pair{{Query: half, Document: half}}})
			return err
		}},
		"classify": {1000, func(ctx context.Context, m llm.Backend) error {
			_, _, err := must(llm.As[llm.Classifier](m)).Classify(ctx, &llm.ClassifyRequest{Inputs: []llm.ClassifyInput{{Text: half[:1000]}, {Text: half[1000:], Second: &half}}})
			return err
		}},
		"score": {1000, func(ctx context.Context, m llm.Backend) error {
			_, _, err := must(llm.As[llm.Scorer](m)).Score(ctx, &llm.ScoreRequest{Prompt: llm.Text(half), Continuation: half})
			return err
		}},
		"translate": {2000, func(ctx context.Context, m llm.Backend) error {
			_, _, err := must(llm.As[llm.Translator](m)).Translate(ctx, &llm.TranslateRequest{Texts: []string{text}})
			return err
		}},
	}
	silent := textReader{speaker{&atomic.Int64{}, 10, 0}}
	for name, c := range calls {
		for kind, model := range map[string]llm.Backend{"counted": countingReader{silent, counter{}}, "estimated": silent} {
			for limit, fits := range map[int64]bool{c.tokens - 1: false, c.tokens + 100: true, 5000: true} {
				b := New(Config{Now: at(noon())})
				account := dayOf("key k", noon())
				h := &hold{rec: &httpx.Record{}, now: b.cfg.Now, quotas: []quota{{account, tokens, limit, "day"}}, leases: []*lease{b.lease(account, limit)}}
				err := c.call(t.Context(), held(model, h))
				if e, ok := errors.AsType[*llm.Error](err); fits && err != nil || !fits && (!ok || e.Code != llm.Overloaded) {
					t.Errorf("%s, %s, a budget of %d: %v", name, kind, limit, err)
				}
			}
		}
	}
}
