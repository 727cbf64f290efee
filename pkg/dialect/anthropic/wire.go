// Package anthropic speaks Anthropic's Messages protocol. It knows HTTP and llm, nothing of
// models, templates or tokenizers.
//
// Start with [Routes]: httpx.Mux serves them.
//
// Source: the types of Anthropic's SDKs (2.12) and what these, LangChain and Claude Code read.
package anthropic

import (
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// messageRequest is the body of POST /v1/messages. Its keys are described by
// [messageTable].
type messageRequest struct {
	prompted
	MaxTokens     *int              `json:"max_tokens"`
	StopSequences wire.Many[string] `json:"stop_sequences"`
	Stream        bool              `json:"stream"`
	Temperature   *float64          `json:"temperature"`
	TopP          *float64          `json:"top_p"`
	TopK          *int              `json:"top_k"`
	Metadata      *metadata         `json:"metadata"`
	ServiceTier   string            `json:"service_tier"`
}

// prompted has the keys of POST /v1/messages/count_tokens, which messages have too.
type prompted struct {
	Model        string            `json:"model"`
	Messages     []message         `json:"messages"`
	System       json.RawMessage   `json:"system"` // a string or blocks
	Tools        []json.RawMessage `json:"tools"`
	ToolChoice   *toolChoice       `json:"tool_choice"`
	Thinking     *thinking         `json:"thinking"`
	OutputConfig *outputConfig     `json:"output_config"`
	OutputFormat *outputFormat     `json:"output_format"`
	CacheControl json.RawMessage   `json:"cache_control"`
	refused
}

// refused has the keys that are accepted with neutral values only.
type refused struct {
	Container         json.RawMessage `json:"container"`
	ContextManagement json.RawMessage `json:"context_management"`
	Diagnostics       json.RawMessage `json:"diagnostics"`
	InferenceGeo      json.RawMessage `json:"inference_geo"`
	MCPServers        json.RawMessage `json:"mcp_servers"`
	Speed             json.RawMessage `json:"speed"`
	Thread            json.RawMessage `json:"thread"`
	UserProfileID     json.RawMessage `json:"user_profile_id"`
	WorkspaceID       json.RawMessage `json:"workspace_id"`
}

type metadata struct {
	UserID string `json:"user_id"`
}

// message is a turn of the chat.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string or blocks
}

// inputBlock is a block of a message, of a result or of system. Which keys it has depends on
// its type.
type inputBlock struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	Citations    json.RawMessage `json:"citations"`
	Source       *source         `json:"source"`
	ID           *string         `json:"id"`
	Name         *string         `json:"name"`
	Input        json.RawMessage `json:"input"`
	Caller       json.RawMessage `json:"caller"`
	ToolsetName  json.RawMessage `json:"toolset_name"`
	ToolUseID    *string         `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"` // a string or blocks
	IsError      *bool           `json:"is_error"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	Data         *string         `json:"data"`
	CacheControl json.RawMessage `json:"cache_control"`
}

type source struct {
	Type      string          `json:"type"`
	MediaType string          `json:"media_type"`
	Data      string          `json:"data"`
	URL       json.RawMessage `json:"url"`
	FileID    json.RawMessage `json:"file_id"`
}

// tool is a tool of the client.
type tool struct {
	Type                string          `json:"type"`
	Name                string          `json:"name"`
	Description         string          `json:"description"`
	InputSchema         json.RawMessage `json:"input_schema"`
	Strict              *bool           `json:"strict"`
	CacheControl        json.RawMessage `json:"cache_control"`
	InputExamples       json.RawMessage `json:"input_examples"`
	EagerInputStreaming *bool           `json:"eager_input_streaming"`
	DeferLoading        json.RawMessage `json:"defer_loading"`
	AllowedCallers      json.RawMessage `json:"allowed_callers"`
}

type toolChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name"`
	DisableParallelToolUse bool   `json:"disable_parallel_tool_use"`
}

type thinking struct {
	Type         string  `json:"type"`
	BudgetTokens *int    `json:"budget_tokens"`
	Display      *string `json:"display"`
}

type outputConfig struct {
	Effort *string       `json:"effort"`
	Format *outputFormat `json:"format"`
}

type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// answerMessage is an answer, or its beginning in a stream.
type answerMessage struct {
	ID           string        `json:"id" doc:"id of the answer"`
	Type         string        `json:"type" doc:"always message" enum:"message"`
	Role         string        `json:"role" doc:"always assistant" enum:"assistant"`
	Model        string        `json:"model" doc:"the model's name, even if the request used an alias"`
	Content      []block       `json:"content" doc:"thinking, text and calls, in order; they are accepted unchanged as content of an assistant's message"`
	StopReason   *string       `json:"stop_reason" enum:"end_turn,max_tokens,stop_sequence,tool_use,refusal,model_context_window_exceeded" doc:"why the answer ended; max_tokens also if the time was up"`
	StopSequence *string       `json:"stop_sequence" doc:"the stop sequence that ended the answer"`
	Usage        usage         `json:"usage"`
	Guarantee    llm.Guarantee `json:"guarantee,omitempty" enum:"enforced,validated" doc:"for an answer with a format or tools: enforced if the model could only generate valid answers, validated if the answer was checked afterwards"`
}

type usage struct {
	InputTokens   int           `json:"input_tokens" doc:"tokens of the prompt that no cache had; 0 if a remote provider does not count them"`
	CacheCreation int           `json:"cache_creation_input_tokens" doc:"always 0"`
	CacheRead     int           `json:"cache_read_input_tokens" doc:"tokens of the prompt that were read from a provider's cache"`
	OutputTokens  int           `json:"output_tokens" doc:"generated tokens, thinking included; 0 if a remote provider does not count them"`
	OutputDetails outputDetails `json:"output_tokens_details"`
	ServiceTier   string        `json:"service_tier" doc:"always standard" enum:"standard"`
	Cost          llm.Cost      `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

type outputDetails struct {
	ThinkingTokens int `json:"thinking_tokens" doc:"how many of output_tokens are thinking"`
}

// block is a block of an answer. Which keys it has depends on its type.
type block struct {
	Type      string   `json:"type" enum:"text,thinking,tool_use" doc:"the kind of block"`
	Text      *string  `json:"text,omitempty" doc:"of text"`
	Citations *[]any   `json:"citations,omitempty" doc:"never present"`
	Thinking  *string  `json:"thinking,omitempty" doc:"of thinking: the text, empty if the request asks to omit it"`
	Signature *string  `json:"signature,omitempty" doc:"of thinking: a fixed text, since nothing is signed"`
	ID        string   `json:"id,omitempty" doc:"of tool_use: to be sent with its result"`
	Name      string   `json:"name,omitempty" doc:"of tool_use: the tool"`
	Input     *rawJSON `json:"input,omitempty" doc:"of tool_use: the arguments"`
}

// event is an event of a stream. Which keys it has depends on its type.
type event struct {
	Type         string         `json:"type" doc:"also the name of the server-sent event"`
	Message      *answerMessage `json:"message,omitempty" doc:"of message_start"`
	Index        *int           `json:"index,omitempty" doc:"position of the block"`
	ContentBlock *block         `json:"content_block,omitempty" doc:"of content_block_start: the empty block"`
	Delta        *delta         `json:"delta,omitempty" doc:"of content_block_delta and message_delta"`
	Usage        *usage         `json:"usage,omitempty" doc:"of message_delta: of the whole answer"`
	Error        *errorFields   `json:"error,omitempty" doc:"of error"`
}

// delta is what an event adds.
type delta struct {
	Type         string        `json:"type,omitempty" enum:"text_delta,input_json_delta,thinking_delta,signature_delta" doc:"of content_block_delta"`
	Text         *string       `json:"text,omitempty" doc:"the next piece"`
	PartialJSON  *string       `json:"partial_json,omitempty" doc:"the next piece of the arguments"`
	Thinking     *string       `json:"thinking,omitempty" doc:"the next piece"`
	Signature    *string       `json:"signature,omitempty" doc:"of thinking"`
	StopReason   *string       `json:"stop_reason,omitempty" doc:"of message_delta"`
	StopSequence *stopSequence `json:"stop_sequence,omitempty" doc:"of message_delta: the stop sequence that ended the answer, or null"`
	Guarantee    llm.Guarantee `json:"guarantee,omitempty" doc:"of message_delta, as in a message"`
}

// stopSequence is a text, or null.
type stopSequence struct{ text *string }

// MarshalJSON implements [json.Marshaler].
func (s stopSequence) MarshalJSON() ([]byte, error) { return json.Marshal(s.text) }

// JSONSchema implements [wire.Describer].
func (stopSequence) JSONSchema() *wire.Schema { return wire.Types("string", "null") }

// rawJSON is a JSON object.
type rawJSON json.RawMessage

// MarshalJSON implements [json.Marshaler].
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// JSONSchema implements [wire.Describer].
func (rawJSON) JSONSchema() *wire.Schema { return wire.AnyObject() }

// tokenCount is the answer to POST /v1/messages/count_tokens.
type tokenCount struct {
	InputTokens int `json:"input_tokens" doc:"tokens of the prompt"`
}

// listRequest is the query string of GET /v1/models.
type listRequest struct {
	BeforeID string `json:"before_id"`
	AfterID  string `json:"after_id"`
	Limit    *int   `json:"limit"`
}

// modelList is the answer to GET /v1/models.
type modelList struct {
	Data    []modelObject `json:"data" doc:"the models of the page"`
	HasMore bool          `json:"has_more" doc:"whether more models follow in the direction of the request"`
	FirstID *string       `json:"first_id" doc:"id of the first model of the page"`
	LastID  *string       `json:"last_id" doc:"id of the last model of the page"`
}

// modelObject describes a model.
type modelObject struct {
	Type           string `json:"type" doc:"always model" enum:"model"`
	ID             string `json:"id" doc:"the model's name"`
	DisplayName    string `json:"display_name" doc:"what the model is, or its name"`
	CreatedAt      string `json:"created_at" doc:"RFC 3339; the epoch if it is not known"`
	MaxInputTokens *int   `json:"max_input_tokens" doc:"the context in tokens, if it is known"`
	MaxTokens      *int   `json:"max_tokens" doc:"the same: prompt and answer share the context"`
	Lifecycle      string `json:"lifecycle" doc:"always active" enum:"active"`
}
