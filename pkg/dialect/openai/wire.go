// Package openai speaks the OpenAI protocol: models, chat completions, completions and
// embeddings, and vLLM's additions to it for tokens. It knows HTTP and llm, nothing of models, templates or tokenizers.
//
// Source: seed 002, OpenAI's published API reference, and what its SDKs rely on.
package openai

import (
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// chatRequest is the body of POST /v1/chat/completions. Each key has a row in
// [Parameters].
type chatRequest struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	MaxTokens           *int      `json:"max_tokens"`
	MaxCompletionTokens *int      `json:"max_completion_tokens"`
	MaximumTokens       *int      `json:"maximum_tokens"`
	Logprobs            bool      `json:"logprobs"`
	TopLogprobs         *int      `json:"top_logprobs"`
	TopK                *int      `json:"top_k"`   // this and Hosting: Aleph Alpha's clients
	Hosting             *string   `json:"hosting"` // cloud, or one of the model's
	sampling
	forms
	idle
	refused
}

// sampling are the keys that chats and completions have in common.
type sampling struct {
	Temperature      *float64           `json:"temperature"`
	TopP             *float64           `json:"top_p"`
	N                *int               `json:"n"`
	Stream           bool               `json:"stream"`
	StreamOptions    *streamOptions     `json:"stream_options"`
	Stop             wire.Many[string]  `json:"stop"`
	Seed             *int64             `json:"seed"`
	PresencePenalty  *float64           `json:"presence_penalty"`
	FrequencyPenalty *float64           `json:"frequency_penalty"`
	LogitBias        map[string]float64 `json:"logit_bias"` // by token id
}

// idle are the keys that cannot change an answer here.
type idle struct {
	User                 string            `json:"user"`
	Tags                 []string          `json:"tags"` // Aleph Alpha's
	SafetyIdentifier     string            `json:"safety_identifier"`
	Metadata             map[string]string `json:"metadata"`
	PromptCacheKey       string            `json:"prompt_cache_key"`
	PromptCacheRetention string            `json:"prompt_cache_retention"`
}

// refused are the keys of which only neutral values are taken.
type refused struct {
	Functions        json.RawMessage `json:"functions"`
	FunctionCall     json.RawMessage `json:"function_call"`
	Modalities       json.RawMessage `json:"modalities"`
	Audio            json.RawMessage `json:"audio"`
	Prediction       json.RawMessage `json:"prediction"`
	WebSearchOptions json.RawMessage `json:"web_search_options"`
	ReasoningEffort  json.RawMessage `json:"reasoning_effort"`
	Verbosity        json.RawMessage `json:"verbosity"`
	Store            json.RawMessage `json:"store"`
	ServiceTier      json.RawMessage `json:"service_tier"`
	SteeringConcepts json.RawMessage `json:"steering_concepts"` // Aleph Alpha's
}

type streamOptions struct {
	IncludeUsage       bool            `json:"include_usage"`
	IncludeObfuscation json.RawMessage `json:"include_obfuscation"`
}

// message is a turn. The keys after Name are there because clients send answers
// back as they got them, or as their SDK read them.
type message struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"` // a string, content parts or null
	ToolCalls    []toolCall      `json:"tool_calls"`
	ToolCallID   string          `json:"tool_call_id"`
	Name         json.RawMessage `json:"name"`
	FunctionCall json.RawMessage `json:"function_call"`
	Refusal      json.RawMessage `json:"refusal"`
	Annotations  json.RawMessage `json:"annotations"`
	Audio        json.RawMessage `json:"audio"`
	Parsed       json.RawMessage `json:"parsed"`
}

// contentPart is a part of type text.
type contentPart struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// chatAnswer is an answer that is not streamed.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"` // chat.completion
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"` // absent where a remote provider does not tell all of it
}

type chatChoice struct {
	Index        int           `json:"index"`
	Message      chatMessage   `json:"message"`
	Logprobs     *logprobs     `json:"logprobs,omitempty"`
	FinishReason string        `json:"finish_reason"`
	Guarantee    llm.Guarantee `json:"guarantee,omitempty"` // ours: how far the message keeps the form that was asked for
}

type chatMessage struct {
	Role      string        `json:"role"`
	Content   *string       `json:"content"`           // null where there are calls alone
	Refusal   any           `json:"refusal,omitempty"` // *string, always nil: written as null where a form was asked for
	ToolCalls []callMessage `json:"tool_calls,omitempty"`
}

// chatChunk is an event of a stream.
type chatChunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"` // chat.completion.chunk
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   any           `json:"usage,omitempty"` // *usage: nil is written as null, and left out if there is not even that
}

type chunkChoice struct {
	Index        int           `json:"index"`
	Delta        delta         `json:"delta"`
	Logprobs     *logprobs     `json:"logprobs,omitempty"`
	FinishReason *string       `json:"finish_reason"`
	Guarantee    llm.Guarantee `json:"guarantee,omitempty"` // on a row's last event
}

type delta struct {
	Role      string        `json:"role,omitempty"`
	Content   any           `json:"content,omitempty"` // *string: nil is written as null, where a row begins with a call
	ToolCalls []callMessage `json:"tool_calls,omitempty"`
}

type logprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal *string        `json:"refusal"` // always null
}

// tokenLogprob is a token in its place, topLogprob one that might have been.
type tokenLogprob struct {
	topLogprob
	TopLogprobs []topLogprob `json:"top_logprobs"`
}

type topLogprob struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // null for special tokens
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

type modelList struct {
	Object string        `json:"object"` // list
	Data   []modelObject `json:"data"`
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // model
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}
