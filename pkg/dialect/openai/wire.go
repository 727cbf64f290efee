// Package openai speaks the OpenAI protocol: models, chat completions, completions and
// embeddings, and vLLM's additions to it for tokens. It knows HTTP and llm, nothing of models, templates or tokenizers.
//
// Start with [Routes]: httpx.Mux serves them.
//
// Source: Alpha's documentation of its API, OpenAI's published API reference, and what its SDKs rely on.
package openai

import (
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// modelKey is the key that all requests have in common.
type modelKey struct {
	Model string `json:"model"`
}

// modelName returns the name that was sent, "" if there was none.
func (m *modelKey) modelName() string { return m.Model }

// chatRequest is the body of POST /v1/chat/completions. Its keys are described by
// [chatTable]; the other requests have tables too.
type chatRequest struct {
	modelKey
	conversation
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MaximumTokens       *int            `json:"maximum_tokens"`
	Logprobs            bool            `json:"logprobs"`
	TopLogprobs         *int            `json:"top_logprobs"`
	TopK                *int            `json:"top_k"`   // sent by Aleph Alpha's clients, as is Hosting
	Hosting             *string         `json:"hosting"` // cloud, or a hosting of the model
	ResponseFormat      *responseFormat `json:"response_format"`
	Prediction          *prediction     `json:"prediction"`
	ToolChoice          json.RawMessage `json:"tool_choice"` // a string or a toolChoice
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	sampling
	reasoningKeys
	noEffect
	refused
}

// conversation has the keys that chats and [tokenizeRequest] have in common.
type conversation struct {
	Messages messages `json:"messages"`
	Tools    tools    `json:"tools"`
}

// sampling has the keys that chats and completions have in common.
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

// noEffect has the keys that cannot change an answer.
type noEffect struct {
	User                 string            `json:"user"`
	Tags                 []string          `json:"tags"` // sent by Aleph Alpha's clients
	SafetyIdentifier     string            `json:"safety_identifier"`
	Metadata             map[string]string `json:"metadata"`
	PromptCacheKey       string            `json:"prompt_cache_key"`
	PromptCacheRetention string            `json:"prompt_cache_retention"`
	PromptCacheOptions   json.RawMessage   `json:"prompt_cache_options"`
}

// refused has the keys that are accepted with neutral values only.
type refused struct {
	Functions        json.RawMessage `json:"functions"`
	FunctionCall     json.RawMessage `json:"function_call"`
	Modalities       json.RawMessage `json:"modalities"`
	Audio            json.RawMessage `json:"audio"`
	WebSearchOptions json.RawMessage `json:"web_search_options"`
	Verbosity        json.RawMessage `json:"verbosity"`
	Moderation       json.RawMessage `json:"moderation"`
	Store            json.RawMessage `json:"store"`
	ServiceTier      json.RawMessage `json:"service_tier"`
	SteeringConcepts json.RawMessage `json:"steering_concepts"` // sent by Aleph Alpha's clients
}

type streamOptions struct {
	IncludeUsage       bool            `json:"include_usage"`
	IncludeObfuscation json.RawMessage `json:"include_obfuscation"`
}

type messages []message

// message is a turn. Clients send answers back as they got them, or as their SDK parsed
// them: the keys after Name are for those.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // a string, content parts or null
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	pastReasoning
	Name         string          `json:"name"`
	FunctionCall json.RawMessage `json:"function_call"`
	Refusal      json.RawMessage `json:"refusal"`
	Annotations  json.RawMessage `json:"annotations"`
	Audio        json.RawMessage `json:"audio"`
	Parsed       json.RawMessage `json:"parsed"`
	Provider     json.RawMessage `json:"provider_specific_fields"`
}

// prediction is text that the answer probably has.
type prediction struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"` // a string or parts of the type text
}

// contentPart is a part of the type text or image_url. OpenAI's Agents SDK for JavaScript
// sends answers back as a part that has the other keys of the message, too.
type contentPart struct {
	Type                  string          `json:"type"`
	Text                  *string         `json:"text"`
	ImageURL              *imageURL       `json:"image_url"`
	PromptCacheBreakpoint json.RawMessage `json:"prompt_cache_breakpoint"`
	CacheControl          json.RawMessage `json:"cache_control"` // sent by OpenRouter's clients
	Role                  string          `json:"role"`
	Refusal               json.RawMessage `json:"refusal"`
	Annotations           json.RawMessage `json:"annotations"`
	ReasoningContent      *string         `json:"reasoning_content"`
	Reasoning             *string         `json:"reasoning"`
}

// imageURL is an image in a message.
type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail"`
}

// chatAnswer is an answer that is not streamed.
type chatAnswer struct {
	ID      string       `json:"id" doc:"id of the answer"`
	Object  string       `json:"object" doc:"always chat.completion" enum:"chat.completion"`
	Created int64        `json:"created" doc:"seconds since 1970"`
	Model   string       `json:"model" doc:"the model's name, even if the request used an alias"`
	Choices []chatChoice `json:"choices" doc:"one for each requested choice"`
	Usage   *usage       `json:"usage,omitempty" doc:"absent if a remote provider omits part of it"`
}

type chatChoice struct {
	Index        int           `json:"index" doc:"position of the choice"`
	Message      chatMessage   `json:"message"`
	Logprobs     *logprobs     `json:"logprobs,omitempty" doc:"present if logprobs is true"`
	FinishReason string        `json:"finish_reason" doc:"why the answer ends" enum:"stop,length,tool_calls,content_filter"`
	Guarantee    llm.Guarantee `json:"guarantee,omitempty" enum:"enforced,validated" doc:"for a message with a response_format or tools: enforced if the model could only generate valid messages, validated if the message was checked afterwards"`
}

type chatMessage struct {
	Role string `json:"role" doc:"always assistant" enum:"assistant"`
	reasoningText
	Content   *string       `json:"content" doc:"null if there are only tool_calls"`
	Refusal   **string      `json:"refusal,omitempty" doc:"always null; present with a response_format or tools"`
	ToolCalls []callMessage `json:"tool_calls,omitempty" doc:"the calls of tools"`
}

// chatChunk is an event of a stream.
type chatChunk struct {
	ID      string        `json:"id" doc:"id of the answer, the same in all events"`
	Object  string        `json:"object" doc:"always chat.completion.chunk" enum:"chat.completion.chunk"`
	Created int64         `json:"created" doc:"seconds since 1970"`
	Model   string        `json:"model" doc:"the model's name, even if the request used an alias"`
	Choices []chunkChoice `json:"choices" doc:"empty in the chunk that include_usage adds"`
	Usage   **usage       `json:"usage,omitempty" doc:"with include_usage, null in every chunk except the last; otherwise only in the last chunk of each choice"`
}

type chunkChoice struct {
	Index        int           `json:"index" doc:"position of the choice"`
	Delta        delta         `json:"delta"`
	Logprobs     *logprobs     `json:"logprobs,omitempty"`
	FinishReason *string       `json:"finish_reason" enum:"stop,length,tool_calls,content_filter" doc:"null in every chunk of a choice except the last"`
	Guarantee    llm.Guarantee `json:"guarantee,omitempty" enum:"enforced,validated" doc:"only in the last chunk of a choice"`
}

type delta struct {
	Role string `json:"role,omitempty" enum:"assistant" doc:"only in the first chunk of a choice"`
	reasoningText
	Content   **string      `json:"content,omitempty" doc:"null in the first chunk if a call follows"`
	ToolCalls []callMessage `json:"tool_calls,omitempty" doc:"pieces of calls of tools"`
}

// reasoningText is what the model thought before the content, under both names that clients
// read.
type reasoningText struct {
	ReasoningContent string `json:"reasoning_content,omitempty" doc:"what the model thought before the content"`
	Reasoning        string `json:"reasoning,omitempty" doc:"the same as reasoning_content"`
}

type logprobs struct {
	Content []openaiapi.TokenLogprob `json:"content" doc:"one for each token of the content"`
	Refusal *string                  `json:"refusal" doc:"always null"`
}

type usage struct {
	PromptTokens     int      `json:"prompt_tokens" doc:"tokens of the prompt"`
	CompletionTokens int      `json:"completion_tokens" doc:"generated tokens"`
	TotalTokens      int      `json:"total_tokens" doc:"prompt_tokens and completion_tokens together"`
	Cost             llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`

	PromptDetails *promptDetails     `json:"prompt_tokens_details,omitempty" doc:"present if the provider read tokens of the prompt from its cache"`
	Details       *completionDetails `json:"completion_tokens_details,omitempty" doc:"present if the model reasoned, or the request has a prediction"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens" doc:"how many of prompt_tokens were known: computed before, or read from the provider's cache"`
}

type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens" doc:"how many of completion_tokens are reasoning"`

	AcceptedPredictionTokens int `json:"accepted_prediction_tokens" doc:"tokens of the prediction that came in order, in all choices"`
	RejectedPredictionTokens int `json:"rejected_prediction_tokens" doc:"tokens of the prediction that did not"`
}

type modelList struct {
	Object string        `json:"object" doc:"always list" enum:"list"`
	Data   []modelObject `json:"data" doc:"the default model is the first"`
}

type modelObject struct {
	ID      string `json:"id" doc:"the model's name"`
	Object  string `json:"object" doc:"always model" enum:"model"`
	Created int64  `json:"created" doc:"seconds since 1970; 0 if unknown"`
	OwnedBy string `json:"owned_by" doc:"family of the model"`
	Task    string `json:"task,omitempty" doc:"what a model does that does not continue texts: embed or classify them, or rerank documents" enum:"embed,rerank,classify"`

	EmbeddingTypes []llm.EmbedKind `json:"embedding_types,omitempty" doc:"values of type that a model in this process accepts in /v1/embeddings: dense, sparse, multi_vector"`
	Labels         []string        `json:"labels,omitempty" doc:"those of a model that classifies texts, in the order of its scores in /classify; a reranker may have one"`
	Input          []string        `json:"input_modalities,omitempty" doc:"text and image, of a model that reads images as far as its record knows"`
}
