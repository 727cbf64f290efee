package openai

import (
	"cmp"
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// completionRequest is the body of POST /v1/completions. Each key has a row in
// [CompletionParameters].
type completionRequest struct {
	Model     string            `json:"model"`
	Prompt    json.RawMessage   `json:"prompt"` // a string, token ids, or a list of either
	MaxTokens *int              `json:"max_tokens"`
	BestOf    *int              `json:"best_of"`
	Echo      *bool             `json:"echo"`
	Logprobs  *int              `json:"logprobs"`
	Suffix    json.RawMessage   `json:"suffix"`
	Store     json.RawMessage   `json:"store"` // this and metadata: go-openai has them
	User      string            `json:"user"`
	Metadata  map[string]string `json:"metadata"`
	sampling
}

// completionAnswer is a whole answer, or an event of a stream.
type completionAnswer struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"` // text_completion
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   any                `json:"usage,omitempty"` // *usage, as in chatChunk
}

type completionChoice struct {
	Text         string              `json:"text"`
	Index        int                 `json:"index"` // of a list of prompts: its index times n, and the choice
	Logprobs     *completionLogprobs `json:"logprobs"`
	FinishReason *string             `json:"finish_reason"`
}

// completionLogprobs describes the tokens of a text, an element each.
type completionLogprobs struct {
	TextOffset    []int                `json:"text_offset"`    // characters before it, those of the prompt too
	TokenLogprobs []*float64           `json:"token_logprobs"` // null: nothing predicts it
	Tokens        []string             `json:"tokens"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"` // the likeliest in its place, and itself; {} where TokenLogprobs has null, as openai-go reads no null here
}

// request translates a completion; every error names the key at fault.
func (c *completionRequest) request() (*llm.Request, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	list, err := prompts("prompt", c.Prompt)
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []llm.Prompt{llm.Text("")} // as OpenAI: the beginning of a text
	}
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	params.MaxTokens, params.BestOf, params.Echo, params.Logprobs = c.MaxTokens, c.BestOf, c.Echo, c.Logprobs
	return &llm.Request{
		Prompts: list, N: c.choices(), Stream: c.Stream, Params: params,
		Defaults: llm.Params{MaxTokens: new(defaultTokens), Temperature: new(1.0)},
	}, nil
}

// check returns what is wrong with the keys that need no translation.
func (c *completionRequest) check() error {
	if err := wire.Refuse(completionRows, c, "", ""); err != nil {
		return err
	}
	switch {
	case c.Model == "":
		return invalid("model", "must be given")
	case c.MaxTokens != nil && *c.MaxTokens < 0:
		return invalid("max_tokens", "must not be negative")
	case c.BestOf != nil && *c.BestOf < c.choices():
		return invalid("best_of", "must be at least n, which is %d", c.choices())
	case c.BestOf != nil && *c.BestOf > c.choices() && c.Stream:
		return invalid("best_of", "above n cannot be streamed: the best are known at the end only")
	}
	return cmp.Or(
		c.sampling.check(maxTextStops),
		within("best_of", c.BestOf, 1, maxChoices),
		within("logprobs", c.Logprobs, 0, maxTopLogprobs),
	)
}
