package openai

import (
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// completionRequest is the body of POST /v1/completions.
type completionRequest struct {
	modelKey
	Prompt    json.RawMessage   `json:"prompt"` // a string, token ids, or a list of either
	MaxTokens *int              `json:"max_tokens"`
	BestOf    *int              `json:"best_of"`
	Echo      *bool             `json:"echo"`
	Logprobs  *int              `json:"logprobs"`
	Suffix    json.RawMessage   `json:"suffix"`
	Store     json.RawMessage   `json:"store"` // sent by go-openai, as is Metadata
	User      string            `json:"user"`
	Metadata  map[string]string `json:"metadata"`
	sampling
}

// completionAnswer is a whole answer, or an event of a stream.
type completionAnswer struct {
	ID      string             `json:"id" doc:"id of the answer"`
	Object  string             `json:"object" doc:"always text_completion" enum:"text_completion"`
	Created int64              `json:"created" doc:"seconds since 1970"`
	Model   string             `json:"model" doc:"the model's name, even if the request used an alias"`
	Choices []completionChoice `json:"choices" doc:"one for each requested choice of each prompt"`
	Usage   **usage            `json:"usage,omitempty" doc:"absent if a remote provider omits part of it; in streams as for chats"`
}

type completionChoice struct {
	Text         string              `json:"text" doc:"the text; in a stream, its next piece"`
	Index        int                 `json:"index" doc:"for a list of prompts, n times the index of the prompt plus that of the choice"`
	Logprobs     *completionLogprobs `json:"logprobs" doc:"log-probabilities, if requested"`
	FinishReason *string             `json:"finish_reason" enum:"stop,length,content_filter" doc:"null in every chunk of a choice except the last"`
}

// completionLogprobs describes the tokens of a text, an element each. TopLogprobs has {}
// where TokenLogprobs has null, as openai-go reads no null there.
type completionLogprobs struct {
	TextOffset    []int                `json:"text_offset" doc:"the number of characters before each token, including the prompt"`
	TokenLogprobs []*float64           `json:"token_logprobs" doc:"natural logarithms; null for a token without a context"`
	Tokens        []string             `json:"tokens" doc:"the texts of the tokens"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs" doc:"the likeliest tokens at each position, and the token of the text"`
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
		list = []llm.Prompt{llm.Text("")} // as OpenAI: the start of a text
	}
	params := c.params()
	params.MaxTokens, params.BestOf, params.Echo, params.Logprobs = c.MaxTokens, c.BestOf, c.Echo, c.Logprobs
	return &llm.Request{
		Prompts: list, N: c.choices(), Stream: c.Stream, Params: params,
		Defaults: llm.Params{MaxTokens: new(defaultTokens), Temperature: new(1.0)},
	}, nil
}

// check returns what is wrong with keys that depend on each other.
func (c *completionRequest) check() error {
	switch {
	case c.BestOf != nil && *c.BestOf < c.choices():
		return wire.Invalid("best_of", "must be at least n, which is %d", c.choices())
	case c.BestOf != nil && *c.BestOf > c.choices() && c.Stream:
		return wire.Invalid("best_of", "must not be greater than n in a stream: the best texts are known only at the end")
	}
	return c.sampling.check()
}
