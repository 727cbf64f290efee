// Package lamini speaks the Lamini protocol: completions of one prompt or of a list,
// embeddings, the version. It knows HTTP and llm, nothing of models or tokenizers.
//
// Source: Lamini's documentation, and the requirements of Lamini's Python SDK.
package lamini

import (
	"encoding/json"

	"glossa/pkg/wire"
)

// completionRequest is the body of POST /v1/completions and /v2/completions.
// [completionTable] describes its keys.
type completionRequest struct {
	ModelName     string            `json:"model_name"`
	Prompt        wire.Many[string] `json:"prompt"`
	OutputType    json.RawMessage   `json:"output_type"` // an object of types by key
	MaxNewTokens  *int              `json:"max_new_tokens"`
	MaxTokens     *int              `json:"max_tokens"`
	ReservationID json.RawMessage   `json:"reservation_id"`
	CacheID       json.RawMessage   `json:"cache_id"`
}

// output is the answer to a prompt without an output_type.
type output struct {
	Output string `json:"output"`
}

// outputs is an output, or JSON of an output_type, or a list if the prompt is a list.
type outputs struct{ wire.Many[any] }

// JSONSchema implements [wire.Describer].
func (outputs) JSONSchema() *wire.Schema {
	one := wire.Types("object")
	one.Description = "an object with the key output, or with the keys of output_type"
	return wire.AnyOf(one, wire.ListOf(one))
}

// answerV2 is the answer of /v2/completions. It has lists if the prompt is a list, as the
// answer of /v1, which consists of the outputs alone.
type answerV2 struct {
	Outputs      outputs           `json:"outputs" doc:"one for each prompt"`
	FinishReason wire.Many[string] `json:"finish_reason" doc:"stop, length or timeout; a list if prompt is one"`
}

// embeddingRequest is the body of POST /v1/embedding.
type embeddingRequest struct {
	ModelName string            `json:"model_name"`
	Prompt    wire.Many[string] `json:"prompt"`
}

type embeddingAnswer struct {
	Embedding wire.Many[[]float32] `json:"embedding" doc:"a vector; a list of them if prompt is a list"`
}

// versionAnswer is the answer of GET /v1/version.
type versionAnswer struct {
	Server string     `json:"server" doc:"version of the server"`
	Client string     `json:"client" doc:"the SDK version tested with this server"`
	API    []endpoint `json:"api" doc:"the endpoints"`
}

type endpoint struct {
	Name string `json:"name" doc:"name of the endpoint"`
	Path string `json:"path" doc:"its path"`
}
