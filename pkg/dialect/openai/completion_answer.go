package openai

import (
	"context"
	"math"
	"unicode/utf8"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// completions translates the rows of a completion, whole or as they come.
type completions struct {
	head         completionAnswer // what all events share
	withLogprobs bool
	withUsage    bool  // stream_options.include_usage
	at           []int // by row: characters before its next token
}

// newCompletions returns the translator of the answer to req.
func (c *completionRequest) newCompletions(ctx context.Context, model *llm.Model, req *llm.Request, head completionAnswer) (*completions, error) {
	out := &completions{head: head, withLogprobs: c.Logprobs != nil, withUsage: c.withUsage(), at: make([]int, req.Rows())}
	if !out.withLogprobs || c.Echo != nil && *c.Echo {
		return out, nil
	}
	for i, prompt := range req.Prompts {
		n, err := characters(ctx, model, prompt)
		if err != nil {
			return nil, err
		}
		for row := i * req.N; row < (i+1)*req.N; row++ {
			out.at[row] = n
		}
	}
	return out, nil
}

// characters returns the length of a prompt.
func characters(ctx context.Context, model *llm.Model, prompt llm.Prompt) (int, error) {
	text, ok := prompt.Text()
	if !ok {
		tokenizer, err := llm.As[llm.Tokenizer](model)
		if err != nil {
			return 0, err
		}
		if text, err = tokenizer.Detokenize(ctx, prompt.Parts[0].Tokens); err != nil {
			return 0, err
		}
	}
	return utf8.RuneCountInString(text), nil
}

// choice translates a part of a row, or all of it.
func (s *completions) choice(c llm.Chunk) completionChoice {
	choice := completionChoice{Text: c.Text, Index: c.Row}
	if c.Finish != "" {
		choice.FinishReason = new(finishReason(c.Finish, false))
	}
	if s.withLogprobs {
		choice.Logprobs = s.logprobs(c.Row, c.Tokens)
	}
	return choice
}

// events returns the events of a chunk; usage is as in a chat's stream.
func (s *completions) events(c llm.Chunk) (events []completionAnswer) {
	if c.Text == "" && len(c.Tokens) == 0 && c.Finish == "" {
		return nil
	}
	event := s.head
	event.Choices = []completionChoice{s.choice(c)}
	switch {
	case s.withUsage:
		event.Usage = new(*usage)
	case hasFullUsage(c):
		event.Usage = new(newUsage(*c.Usage))
	}
	events = append(events, event)
	if hasFullUsage(c) && s.withUsage {
		last := s.head
		last.Choices, last.Usage = []completionChoice{}, new(newUsage(*c.Usage))
		events = append(events, last)
	}
	return events
}

// logprobs describes the next tokens of a row.
func (s *completions) logprobs(row int, tokens []llm.Token) *completionLogprobs {
	n := len(tokens)
	out := &completionLogprobs{make([]int, n), make([]*float64, n), make([]string, n), make([]map[string]float64, n)}
	for i, t := range tokens {
		own := openaiapi.NewLogprob(t)
		out.Tokens[i], out.TextOffset[i], out.TopLogprobs[i] = own.Token, s.offset(row, t.Text), map[string]float64{}
		if math.IsNaN(t.Logprob) {
			continue
		}
		out.TokenLogprobs[i] = &own.Logprob
		for _, top := range append(t.Top[:len(t.Top):len(t.Top)], t) {
			might := openaiapi.NewLogprob(top)
			if _, ok := out.TopLogprobs[i][might.Token]; !ok { // of two that are spelt alike, the likelier
				out.TopLogprobs[i][might.Token] = might.Logprob
			}
		}
	}
	return out
}

// offset returns how many characters of a row are before its next token, and counts those
// that begin in it. A token that continues a character has the offset of the character.
func (s *completions) offset(row int, text string) int {
	at := s.at[row]
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			s.at[row]++
		}
	}
	if text != "" && !utf8.RuneStart(text[0]) {
		return max(0, at-1)
	}
	return at
}
