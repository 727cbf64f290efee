// Package responses speaks OpenAI's Responses protocol. It knows HTTP and llm, nothing of
// models, templates or tokenizers, nor where a [Store] keeps responses, nor who their owners
// are.
//
// Start with [Routes]: httpx.Mux serves them.
//
// Source: OpenAI's published API reference, the types of its SDKs, and what Codex, the
// Agents SDK and the AI SDK read.
package responses

import (
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// createRequest is the body of POST /v1/responses. Its keys are described by
// [createTable].
type createRequest struct {
	Model             string             `json:"model"`
	Input             json.RawMessage    `json:"input"` // a string or items
	Instructions      *string            `json:"instructions"`
	MaxOutputTokens   *int               `json:"max_output_tokens"`
	Temperature       *float64           `json:"temperature"`
	TopP              *float64           `json:"top_p"`
	TopLogprobs       *int               `json:"top_logprobs"`
	Stream            bool               `json:"stream"`
	StreamOptions     *streamOptions     `json:"stream_options"`
	Tools             []json.RawMessage  `json:"tools"`
	ToolChoice        json.RawMessage    `json:"tool_choice"` // a string or a [toolChoice]
	ParallelToolCalls *bool              `json:"parallel_tool_calls"`
	Text              *textOptions       `json:"text"`
	Reasoning         *reasoningOptions  `json:"reasoning"`
	Truncation        string             `json:"truncation"`
	Include           wire.Many[string]  `json:"include"`
	Metadata          *map[string]string `json:"metadata"`

	Store              *bool   `json:"store"`
	PreviousResponseID *string `json:"previous_response_id"`
	noEffect
	refused

	earlier    []json.RawMessage          // items of PreviousResponseID and of those before it
	referenced map[string]json.RawMessage // items that Input refers to, by id
}

// noEffect has the keys that cannot change an answer.
type noEffect struct {
	MaxToolCalls         *int            `json:"max_tool_calls"`
	User                 string          `json:"user"`
	SafetyIdentifier     string          `json:"safety_identifier"`
	PromptCacheKey       string          `json:"prompt_cache_key"`
	PromptCacheRetention string          `json:"prompt_cache_retention"`
	PromptCacheOptions   json.RawMessage `json:"prompt_cache_options"`
	ClientMetadata       json.RawMessage `json:"client_metadata"`
}

// refused has the keys that are accepted with neutral values only.
type refused struct {
	Conversation      json.RawMessage `json:"conversation"`
	Background        json.RawMessage `json:"background"`
	Prompt            json.RawMessage `json:"prompt"`
	ContextManagement json.RawMessage `json:"context_management"`
	Moderation        json.RawMessage `json:"moderation"`
	ServiceTier       json.RawMessage `json:"service_tier"`
}

type streamOptions struct {
	IncludeObfuscation json.RawMessage `json:"include_obfuscation"`
}

type textOptions struct {
	Format    *textFormat     `json:"format"`
	Verbosity json.RawMessage `json:"verbosity"`
}

type textFormat struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

type reasoningOptions struct {
	Effort          *string         `json:"effort"`
	Summary         *string         `json:"summary"`
	GenerateSummary *string         `json:"generate_summary"`
	Context         json.RawMessage `json:"context"`
	Mode            json.RawMessage `json:"mode"`
}

// response is an answer, or the state of one in an event.
type response struct {
	ID                 string             `json:"id" doc:"id of the answer, the same in all events"`
	Object             string             `json:"object" doc:"always response" enum:"response"`
	CreatedAt          int64              `json:"created_at" doc:"seconds since 1970"`
	CompletedAt        *int64             `json:"completed_at" doc:"seconds since 1970; null until the answer is complete"`
	Status             string             `json:"status" enum:"in_progress,completed,incomplete,failed,cancelled" doc:"incomplete if a limit or a filter ended the answer"`
	Error              *responseError     `json:"error" doc:"of a failed answer"`
	IncompleteDetails  *incompleteDetails `json:"incomplete_details" doc:"of an incomplete answer"`
	Model              string             `json:"model" doc:"the model's name, even if the request used an alias"`
	Output             []item             `json:"output" doc:"reasoning, messages and calls, in order; they are accepted unchanged as input"`
	Usage              *usage             `json:"usage" doc:"null until the end, or if a remote provider omits part of it"`
	Guarantee          llm.Guarantee      `json:"guarantee,omitempty" enum:"enforced,validated" doc:"for an answer with a format or tools: enforced if the model could only generate valid answers, validated if the answer was checked afterwards"`
	Instructions       *string            `json:"instructions" doc:"as sent"`
	MaxOutputTokens    *int               `json:"max_output_tokens" doc:"as sent"`
	Temperature        *float64           `json:"temperature" doc:"as sent; else the default, or null for a remote model"`
	TopP               *float64           `json:"top_p" doc:"as sent; else the default, or null for a remote model"`
	TopLogprobs        int                `json:"top_logprobs" doc:"as sent"`
	Text               textEcho           `json:"text"`
	Reasoning          reasoningEcho      `json:"reasoning"`
	Tools              tools              `json:"tools" doc:"as sent"`
	ToolChoice         choice             `json:"tool_choice" doc:"as sent"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls" doc:"whether the answer may have more than one call"`
	Truncation         string             `json:"truncation" enum:"auto,disabled" doc:"as sent"`
	Metadata           map[string]string  `json:"metadata" doc:"as sent"`
	PreviousResponseID *string            `json:"previous_response_id" doc:"as sent"`
	Store              bool               `json:"store" doc:"whether the response is stored"`
	Background         bool               `json:"background" doc:"always false"`
	ServiceTier        string             `json:"service_tier" doc:"always default" enum:"default"`
}

type responseError struct {
	Code    string `json:"code" doc:"a machine-readable code"`
	Message string `json:"message" doc:"what went wrong"`
}

type incompleteDetails struct {
	Reason string `json:"reason" enum:"max_output_tokens,content_filter" doc:"max_output_tokens also if the context is full or the time is up"`
}

type textEcho struct {
	Format formatEcho `json:"format"`
}

type formatEcho struct {
	Type   string  `json:"type" enum:"text,json_object,json_schema" doc:"as sent"`
	Name   string  `json:"name,omitempty" doc:"as sent"`
	Strict *bool   `json:"strict,omitempty" doc:"as sent"`
	Schema *object `json:"schema,omitempty" doc:"as sent"`
}

type reasoningEcho struct {
	Effort  *string `json:"effort" doc:"as sent"`
	Summary *string `json:"summary" doc:"as sent"`
}

type usage struct {
	InputTokens   int           `json:"input_tokens" doc:"tokens of the prompt"`
	InputDetails  inputDetails  `json:"input_tokens_details"`
	OutputTokens  int           `json:"output_tokens" doc:"generated tokens"`
	OutputDetails outputDetails `json:"output_tokens_details"`
	TotalTokens   int           `json:"total_tokens" doc:"input_tokens and output_tokens together"`
	Cost          llm.Cost      `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

type inputDetails struct {
	CachedTokens     int `json:"cached_tokens" doc:"how many of input_tokens were known: computed before, or read from a provider's cache"`
	CacheWriteTokens int `json:"cache_write_tokens" doc:"always 0"`
}

type outputDetails struct {
	ReasoningTokens int `json:"reasoning_tokens" doc:"how many of output_tokens are reasoning"`
}

// item is an item of the output. Which keys it has depends on its type.
type item struct {
	ID        string  `json:"id" doc:"the same in all events"`
	Type      string  `json:"type" enum:"message,reasoning,function_call,custom_tool_call" doc:"the kind of item"`
	Status    string  `json:"status" enum:"in_progress,completed,incomplete" doc:"incomplete if a limit or a filter ended it"`
	Role      string  `json:"role,omitempty" enum:"assistant" doc:"of a message"`
	Summary   *[]part `json:"summary,omitempty" doc:"of reasoning: the reasoning, if the request has reasoning.summary, else empty"`
	Content   *[]part `json:"content,omitempty" doc:"of a message and of reasoning"`
	CallID    string  `json:"call_id,omitempty" doc:"of a call: to be sent with its output"`
	Name      string  `json:"name,omitempty" doc:"of a call: the tool"`
	Namespace string  `json:"namespace,omitempty" doc:"of a call: the tool's namespace, if it has one"`
	Arguments *string `json:"arguments,omitempty" doc:"of a function_call: a JSON object"`
	Input     *string `json:"input,omitempty" doc:"of a custom_tool_call: a text"`
}

// part is a part of a message or of reasoning.
type part struct {
	Type        string                    `json:"type" enum:"output_text,reasoning_text,summary_text" doc:"the kind of part"`
	Text        string                    `json:"text" doc:"the text"`
	Annotations *[]object                 `json:"annotations,omitempty" doc:"of output_text: always empty"`
	Logprobs    *[]openaiapi.TokenLogprob `json:"logprobs,omitempty" doc:"of output_text: one for each token, if they were requested"`
}

// event is an event of a stream. Which keys it has depends on its type.
type event struct {
	Type           string                    `json:"type" doc:"also the name of the server-sent event"`
	SequenceNumber int                       `json:"sequence_number" doc:"counted from 0"`
	Response       *response                 `json:"response,omitempty" doc:"of response.created, in_progress, completed, incomplete and failed"`
	ItemID         string                    `json:"item_id,omitempty" doc:"id of the item that the event is about"`
	OutputIndex    *int                      `json:"output_index,omitempty" doc:"position of the item in the output"`
	ContentIndex   *int                      `json:"content_index,omitempty" doc:"position of the part in the item"`
	SummaryIndex   *int                      `json:"summary_index,omitempty" doc:"position of the part in the summary"`
	Item           *item                     `json:"item,omitempty" doc:"of response.output_item.added and done"`
	Part           *part                     `json:"part,omitempty" doc:"of events about a part"`
	Delta          *string                   `json:"delta,omitempty" doc:"the next piece"`
	Text           *string                   `json:"text,omitempty" doc:"the whole text"`
	Name           string                    `json:"name,omitempty" doc:"the function"`
	Arguments      *string                   `json:"arguments,omitempty" doc:"the whole arguments"`
	Input          *string                   `json:"input,omitempty" doc:"the whole input"`
	Logprobs       *[]openaiapi.TokenLogprob `json:"logprobs,omitempty" doc:"of output_text: the tokens of the piece or of the text, if they were requested"`
}

// tools are the tools of the client, as sent.
type tools []json.RawMessage

// JSONSchema implements [wire.Describer].
func (tools) JSONSchema() *wire.Schema { return wire.ListOf(wire.AnyObject()) }

// object is a JSON object of the client, as sent.
type object json.RawMessage

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return o, nil }

// JSONSchema implements [wire.Describer].
func (object) JSONSchema() *wire.Schema { return wire.AnyObject() }

// choice is the tool_choice of the client, as sent.
type choice json.RawMessage

// MarshalJSON implements json.Marshaler.
func (c choice) MarshalJSON() ([]byte, error) { return c, nil }

// JSONSchema implements [wire.Describer].
func (choice) JSONSchema() *wire.Schema { return wire.AnyOf(wire.Types("string"), wire.AnyObject()) }
