package engine

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Score implements [llm.Scorer]. Spaces at the end of the prompt count as the beginning
// of the continuation, as in byte-level vocabularies. Both are tokenised as one text and
// separated after the number of tokens of the prompt alone, as in the language model
// evaluation harness.
func (e *Engine) Score(ctx context.Context, req *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	if req.Continuation == "" {
		return nil, llm.Usage{}, invalid("continuation", "must not be empty")
	}
	if req.Top < 0 || req.Top > e.tokens {
		return nil, llm.Usage{}, invalid("logprobs", "must be from 0 to the size of the vocabulary")
	}
	s := &settings{n: 1, bestOf: 1, echo: true, score: true, tokens: true, logprobs: max(1, req.Top)}
	rows, usage, err := llm.Collect(func(yield func(llm.Chunk, error) bool) {
		e.serve(ctx, s, func() ([]*prompt, error) { return e.encodeScore(ctx, req) }, yield)
	}, 1)
	if err != nil {
		return nil, usage, err
	}
	return newScore(rows[0].Tokens, req.Top), usage, nil
}

func newScore(tokens []llm.Token, top int) *llm.Score {
	score, argmax := &llm.Score{Tokens: tokens, Greedy: true}, strings.Builder{}
	for i := range tokens {
		t := &tokens[i]
		score.Logprob += t.Logprob
		score.Greedy = score.Greedy && t.Top[0].ID == t.ID
		argmax.WriteString(t.Top[0].Text)
		t.Top = t.Top[:min(top, len(t.Top))]
	}
	score.Argmax = argmax.String()
	return score
}

// encodeScore returns the prompt and the continuation as one prompt. Only the
// continuation is described.
func (e *Engine) encodeScore(ctx context.Context, req *llm.ScoreRequest) ([]*prompt, error) {
	if req.Prompt.Messages != nil {
		return nil, llm.Errorf(llm.Invalid, "a chat cannot be scored: send it as text")
	}
	if e.seq2seq != nil {
		return e.encodeScoredAnswer(ctx, req)
	}
	before, after := moveSpaces(req.Prompt, req.Continuation)
	ids, whole := tokenizer.Collector{Max: e.context}, tokenizer.Collector{Max: e.context}
	const both = "the context and the continuation have"
	lead, err := e.textTokens(ctx, &ids, before)
	if err != nil {
		return nil, e.tooLong(both, err)
	}
	if _, err := e.textTokens(ctx, &whole, after); err != nil {
		return nil, tooLongIn("continuation", e.tooLong(both, err))
	}
	if whole.Total() <= ids.Total() {
		return nil, invalid("continuation", "adds no token to the context")
	}
	out := &prompt{ids: whole.IDs()}
	out.fill(lead, e.empty)
	if out.lead += ids.Total(); out.lead == 0 { // nothing predicts the first token
		out.ids, out.lead = append([]int{e.empty}, out.ids...), 1
	}
	out.input = len(out.ids) // an empty context is the end-of-text token (TextSynth, logprob)
	// The logits of the last token are not needed, but it takes a place.
	if n := len(out.ids); n > e.context {
		return nil, tooLongIn("continuation", llm.TooManyTokens(both, n, e.context))
	}
	return []*prompt{out}, nil
}

// moveSpaces returns the prompt without its trailing spaces, and the prompt with the
// continuation.
func moveSpaces(p llm.Prompt, continuation string) (before, after llm.Prompt) {
	parts := slices.Clone(p.Parts)
	if n := len(parts); n > 0 && parts[n-1].Tokens == nil {
		last := &parts[n-1]
		trimmed := strings.TrimRightFunc(last.Text, unicode.IsSpace)
		continuation = last.Text[len(trimmed):] + continuation
		last.Text = trimmed
	}
	return llm.Prompt{Parts: parts}, llm.Prompt{Parts: append(slices.Clip(parts), llm.Part{Text: continuation})}
}
