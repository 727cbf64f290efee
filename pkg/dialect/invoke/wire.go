// Package invoke speaks the protocol of the API layer: one body of canonical keys for every
// model of every provider. It knows HTTP and llm, nothing of models, of their records and of
// providers.
//
// Source: API layer's documentation, and the behaviour of its server and its client.
package invoke

import "encoding/json"

// request is the body of POST /invoke and /invoke_stream. [requestTable] describes its keys.
type request struct {
	model          canonicalModel             // set after it is opened
	ModelFamily    *string                    `json:"model_family"`
	ModelName      *string                    `json:"model_name"`
	Body           map[string]json.RawMessage `json:"body"` // canonical keys
	IgnoreUnmapped *bool                      `json:"ignore_unmapped"`
	EmptyLines     *bool                      `json:"empty_lines"`
}

// health is the answer of GET /ping.
type health struct {
	HealthCheck string `json:"Health_Check" doc:"state of the service"`
}

// modelList is the answer of GET /list_models.
type modelList struct {
	Models []model `json:"models" doc:"the models"`
}

type model struct {
	Type      string `json:"model_type" doc:"type of the model's family, such as the name of a provider"`
	Name      string `json:"model_name" doc:"name for requests"`
	Family    string `json:"model_family" doc:"where the model runs"`
	Streaming bool   `json:"streaming" doc:"whether it streams answers"`
}

// message is a message for a model in the process.
type message struct {
	Role       string          `json:"role"`    // system, user, assistant or tool
	Content    json.RawMessage `json:"content"` // a string or a list of parts
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

type part struct {
	Type *string `json:"type"` // text, or absent
	Text *string `json:"text"`
}

// tool is a function that a chat may call.
type tool struct {
	Type     string   `json:"type"` // function
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema, an object
	Strict      *bool           `json:"strict"`     // without effect: arguments always match the schema
}

// toolCall is a call in a message or in an answer; in a stream, a piece of one.
type toolCall struct {
	Index    *int   `json:"index,omitempty" doc:"position of the call in the answer"`    // in streams
	ID       string `json:"id,omitempty" doc:"id that the result of the call must name"` // of a first piece
	Type     string `json:"type,omitempty" doc:"always function"`                        // function, of a first piece
	Function called `json:"function"`
}

type called struct {
	Name      string `json:"name,omitempty" doc:"name of the tool"`                                  // of a first piece
	Arguments string `json:"arguments" doc:"arguments as JSON; in a stream, the next piece of them"` // JSON
}

// token is a token of an answer.
type token struct {
	ID      int      `json:"id" doc:"id in the model's vocabulary"`
	Text    string   `json:"text" doc:"its text"`
	Special bool     `json:"special" doc:"whether it is a special token"`
	Logprob *float64 `json:"logprob" doc:"the natural logarithm of the probability; null for a token without a context"`
	Top     []token  `json:"top,omitempty" doc:"the most likely tokens at this position"`
}
