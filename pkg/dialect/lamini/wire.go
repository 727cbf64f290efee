// Package lamini speaks the Lamini protocol: completions of one prompt or of a list,
// embeddings, the version. It knows HTTP and llm, nothing of models or tokenizers.
//
// Source: seed 004, and what Lamini's Python SDK relies on.
package lamini

import (
	"encoding/json"

	"glossa/pkg/wire"
)

// completionRequest is the body of POST /v1/completions and /v2/completions. Each key
// has a row in [Parameters]; so it is with the other request.
type completionRequest struct {
	ModelName     *string            `json:"model_name"`
	Prompt        wire.Many[*string] `json:"prompt"`      // nil for null, which is none
	OutputType    json.RawMessage    `json:"output_type"` // an object of types by key
	MaxNewTokens  *int               `json:"max_new_tokens"`
	MaxTokens     *int               `json:"max_tokens"`
	ReservationID json.RawMessage    `json:"reservation_id"`
	CacheID       json.RawMessage    `json:"cache_id"`
}

// output is the answer to a prompt without an output_type.
type output struct {
	Output string `json:"output"`
}

// answerV2 is the answer of /v2/completions. Like that of /v1, which is outputs alone,
// it has lists where the prompt is one.
type answerV2 struct {
	Outputs      any `json:"outputs"`       // output or []output; with an output_type, JSON of it
	FinishReason any `json:"finish_reason"` // string or []string
}

// embeddingRequest is the body of POST /v1/embedding.
type embeddingRequest struct {
	ModelName *string            `json:"model_name"`
	Prompt    wire.Many[*string] `json:"prompt"`
}

type embeddingAnswer struct {
	Embedding any `json:"embedding"` // []float32 or [][]float32
}

// versionAnswer is the answer of GET /v1/version.
type versionAnswer struct {
	Server string     `json:"server"`
	Client string     `json:"client"` // of the SDK that is known to work
	API    []endpoint `json:"api"`
}

type endpoint struct {
	Name string `json:"name"`
	Path string `json:"path"`
}
