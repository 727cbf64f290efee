// Package ollama speaks Ollama's API, for clients that speak nothing else. It knows HTTP and
// llm, nothing of models, templates or tokenizers.
//
// Start with [Routes]: httpx.Mux serves them. POST /api/chat and /api/generate are also paths of
// Alpha's API; [Ours] tells the requests apart.
//
// Source: the types of Ollama's clients for Python (0.6) and JavaScript, and what LangChain reads.
package ollama

import (
	"encoding/json"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// settings are the keys that chats and texts have in common.
type settings struct {
	Model       string          `json:"model"`
	Options     options         `json:"options"`
	Format      json.RawMessage `json:"format"` // "", "json" or a JSON Schema
	Stream      *bool           `json:"stream"`
	Think       json.RawMessage `json:"think"`      // a boolean or a level
	KeepAlive   json.RawMessage `json:"keep_alive"` // a duration or seconds
	Logprobs    bool            `json:"logprobs"`
	TopLogprobs *int            `json:"top_logprobs"`
}

// chatRequest is the body of POST /api/chat.
type chatRequest struct {
	settings
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools"`
}

// generateRequest is the body of POST /api/generate.
type generateRequest struct {
	settings
	Prompt   string            `json:"prompt"`
	System   string            `json:"system"`
	Raw      bool              `json:"raw"`
	Suffix   json.RawMessage   `json:"suffix"`
	Template json.RawMessage   `json:"template"`
	Context  json.RawMessage   `json:"context"`
	Images   wire.Many[string] `json:"images"`
	Width    json.RawMessage   `json:"width"`
	Height   json.RawMessage   `json:"height"`
	Steps    json.RawMessage   `json:"steps"`
}

// options are the settings of a generation.
type options struct {
	NumPredict       *int              `json:"num_predict"`
	Temperature      *float64          `json:"temperature"`
	TopK             *int              `json:"top_k"`
	TopP             *float64          `json:"top_p"`
	TypicalP         *float64          `json:"typical_p"`
	RepeatPenalty    *float64          `json:"repeat_penalty"`
	PresencePenalty  *float64          `json:"presence_penalty"`
	FrequencyPenalty *float64          `json:"frequency_penalty"`
	Seed             *int64            `json:"seed"`
	Stop             wire.Many[string] `json:"stop"`
	machine
}

// machine has the options that are about the computer, or about samplers that do not exist here.
type machine struct {
	NumCtx          *int            `json:"num_ctx"`
	NumKeep         *int            `json:"num_keep"`
	NumBatch        *int            `json:"num_batch"`
	NumGPU          *int            `json:"num_gpu"`
	MainGPU         *int            `json:"main_gpu"`
	NumThread       *int            `json:"num_thread"`
	NUMA            *bool           `json:"numa"`
	LowVRAM         *bool           `json:"low_vram"`
	F16KV           *bool           `json:"f16_kv"`
	UseMmap         *bool           `json:"use_mmap"`
	UseMlock        *bool           `json:"use_mlock"`
	RepeatLastN     *int            `json:"repeat_last_n"`
	MirostatTau     *float64        `json:"mirostat_tau"`
	MirostatEta     *float64        `json:"mirostat_eta"`
	PenalizeNewline *bool           `json:"penalize_newline"`
	Mirostat        json.RawMessage `json:"mirostat"`
	MinP            json.RawMessage `json:"min_p"`
	TFSZ            json.RawMessage `json:"tfs_z"`
	LogitsAll       json.RawMessage `json:"logits_all"`
	VocabOnly       json.RawMessage `json:"vocab_only"`
	EmbeddingOnly   json.RawMessage `json:"embedding_only"`
}

// message is a turn of a chat.
type message struct {
	Role       string            `json:"role"`
	Content    string            `json:"content"`
	Thinking   string            `json:"thinking"`
	Images     wire.Many[string] `json:"images"`
	ToolCalls  []toolCall        `json:"tool_calls"`
	ToolName   string            `json:"tool_name"`
	ToolCallID string            `json:"tool_call_id"`
	Name       string            `json:"name"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledObject `json:"function"`
}

type calledObject struct {
	Index     *int            `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// tool is a function of the client.
type tool struct {
	Type     string         `json:"type"`
	Function functionObject `json:"function"`
}

type functionObject struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// embedRequest is the body of POST /api/embed.
type embedRequest struct {
	Model      string            `json:"model"`
	Input      wire.Many[string] `json:"input"`
	Truncate   *bool             `json:"truncate"`
	Dimensions *int              `json:"dimensions"`
	Options    json.RawMessage   `json:"options"`
	KeepAlive  json.RawMessage   `json:"keep_alive"`
}

// embeddingsRequest is the body of POST /api/embeddings, the older route.
type embeddingsRequest struct {
	Model     string          `json:"model"`
	Prompt    string          `json:"prompt"`
	Options   json.RawMessage `json:"options"`
	KeepAlive json.RawMessage `json:"keep_alive"`
}

// showRequest is the body of POST /api/show.
type showRequest struct {
	Model   string `json:"model"`
	Name    string `json:"name"`
	Verbose *bool  `json:"verbose"`
}

// answerLine is an answer, or a piece of one in a stream, to a chat or a text.
type answerLine struct {
	Model     string                   `json:"model" doc:"the model's name, even if the request used an alias"`
	CreatedAt time.Time                `json:"created_at" doc:"RFC 3339"`
	Message   *answerMessage           `json:"message,omitempty" doc:"of a chat"`
	Response  *string                  `json:"response,omitempty" doc:"of a text: the text or its next piece"`
	Thinking  string                   `json:"thinking,omitempty" doc:"of a text: what the model thought before it, or the next piece"`
	Logprobs  []openaiapi.TokenLogprob `json:"logprobs,omitempty" doc:"one for each token, if they were requested"`
	Done      bool                     `json:"done" doc:"whether this is the end of the answer"`
	Reason    string                   `json:"done_reason,omitempty" enum:"stop,length,load" doc:"why it ended; load if nothing was asked"`
	durations
	Guarantee string `json:"guarantee,omitempty" enum:"enforced,validated" doc:"for an answer with a format or tools: enforced if the model could only generate valid answers, validated if the answer was checked afterwards"`
}

// durations are told at the end of an answer, in nanoseconds.
type durations struct {
	Total       int64    `json:"total_duration,omitempty" doc:"nanoseconds, of the whole request"`
	Load        int64    `json:"load_duration,omitempty" doc:"nanoseconds until the model was open"`
	PromptCount int      `json:"prompt_eval_count,omitempty" doc:"tokens of the prompt"`
	Prompt      int64    `json:"prompt_eval_duration,omitempty" doc:"nanoseconds until the first piece of the answer"`
	Count       int      `json:"eval_count,omitempty" doc:"generated tokens, thinking included"`
	Answer      int64    `json:"eval_duration,omitempty" doc:"nanoseconds from the first piece to the end"`
	Cost        llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// answerMessage is the message of the assistant.
type answerMessage struct {
	Role      string       `json:"role" enum:"assistant" doc:"always assistant"`
	Content   string       `json:"content" doc:"the text or its next piece"`
	Thinking  string       `json:"thinking,omitempty" doc:"what the model thought before it, or the next piece"`
	ToolCalls []answerCall `json:"tool_calls,omitempty" doc:"calls, each whole"`
}

type answerCall struct {
	ID       string         `json:"id" doc:"of the call"`
	Function answerFunction `json:"function"`
}

type answerFunction struct {
	Index     int     `json:"index" doc:"position of the call"`
	Name      string  `json:"name" doc:"the function"`
	Arguments rawJSON `json:"arguments" doc:"a JSON object"`
}

// rawJSON is a JSON object.
type rawJSON json.RawMessage

// MarshalJSON implements [json.Marshaler].
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// JSONSchema implements [wire.Describer].
func (rawJSON) JSONSchema() *wire.Schema { return wire.AnyObject() }

// embedAnswer is the answer to POST /api/embed.
type embedAnswer struct {
	Model      string      `json:"model" doc:"the model's name"`
	Embeddings [][]float32 `json:"embeddings" doc:"one vector of length 1 for each input"`
	durations
}

// embeddingsAnswer is the answer to POST /api/embeddings.
type embeddingsAnswer struct {
	Embedding []float32 `json:"embedding" doc:"the vector, as the model makes it"`
}

// modelList is the answer to GET /api/tags.
type modelList struct {
	Models []modelObject `json:"models" doc:"one for each model"`
}

// modelObject describes a model.
type modelObject struct {
	Name       string    `json:"name" doc:"with the tag latest"`
	Model      string    `json:"model" doc:"the same"`
	ModifiedAt time.Time `json:"modified_at" doc:"RFC 3339; the epoch if it is not known"`
	Size       int64     `json:"size" doc:"bytes of its file; 0 for a remote model"`
	Digest     string    `json:"digest" doc:"changes when name, size or time of the model change; not a hash of its content"`
	Details    details   `json:"details"`
}

type details struct {
	ParentModel   string   `json:"parent_model" doc:"always empty"`
	Format        string   `json:"format" doc:"always empty: the server reads several"`
	Family        string   `json:"family" doc:"the architecture, or the provider's term"`
	Families      []string `json:"families" doc:"the same"`
	ParameterSize string   `json:"parameter_size" doc:"number of parameters, empty if it is not known"`
	Quantization  string   `json:"quantization_level" doc:"always empty"`
}

// running is the answer to GET /api/ps.
type running struct {
	Models []runningModel `json:"models" doc:"the models in memory"`
}

type runningModel struct {
	modelObject
	ExpiresAt     time.Time `json:"expires_at" doc:"when the model leaves the memory if it is not used again; without a keep_alive in 100 years, which clients show as for ever: it leaves when others need its memory"`
	SizeVRAM      int64     `json:"size_vram" doc:"always 0: models run on the processor"`
	ContextLength int       `json:"context_length" doc:"tokens"`
}

// shown is the answer to POST /api/show.
type shown struct {
	Details      details        `json:"details"`
	ModelInfo    map[string]any `json:"model_info" doc:"general.architecture and the length of the context"`
	Capabilities []string       `json:"capabilities" doc:"completion, tools, vision or embedding"`
	ModifiedAt   time.Time      `json:"modified_at" doc:"RFC 3339; the epoch if it is not known"`
	Parameters   string         `json:"parameters" doc:"always empty"`
	Template     string         `json:"template" doc:"always empty: templates are those of the model's files"`
}

// errorBody is an error, also the last line of a stream.
type errorBody struct {
	Error string `json:"error" doc:"what went wrong"`
}
