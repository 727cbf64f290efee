// Package invoke speaks the protocol of the API layer: one body of canonical keys for every
// model of every provider. It knows HTTP and llm, nothing of models, of their records and of
// providers.
//
// Source: seed 003, and the behaviour of its server and its client.
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
	HealthCheck string `json:"Health_Check"`
}

// modelList is the answer of GET /list_models.
type modelList struct {
	Models []model `json:"models"`
}

type model struct {
	Type      string `json:"model_type"`
	Name      string `json:"model_name"`
	Family    string `json:"model_family"`
	Streaming bool   `json:"streaming"`
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
	Index    *int   `json:"index,omitempty"` // in streams
	ID       string `json:"id,omitempty"`    // of a first piece
	Type     string `json:"type,omitempty"`  // function, of a first piece
	Function called `json:"function"`
}

type called struct {
	Name      string `json:"name,omitempty"` // of a first piece
	Arguments string `json:"arguments"`      // JSON
}

// token is a token of an answer.
type token struct {
	ID      int      `json:"id"`
	Text    string   `json:"text"`
	Special bool     `json:"special"`
	Logprob *float64 `json:"logprob" doc:"the natural logarithm of the probability; null for a token without a context"`
	Top     []token  `json:"top,omitempty"`
}
