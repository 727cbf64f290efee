package openai

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// embeddingRequest is the body of POST /v1/embeddings.
type embeddingRequest struct {
	modelKey
	Input          json.RawMessage `json:"input"` // a string, token ids, or a list of either
	EncodingFormat *string         `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
	Truncate       json.RawMessage `json:"truncate"` // a boolean, or a word
	PromptName     string          `json:"prompt_name"`
	InputType      string          `json:"input_type"`
	Task           string          `json:"task"`
	User           string          `json:"user"`
}

type embeddingAnswer struct {
	Object string            `json:"object" doc:"always list" enum:"list"`
	Data   []embeddingObject `json:"data" doc:"one for each input"`
	Model  string            `json:"model" doc:"the model's name, even if the request used an alias"`
	Usage  *embeddingUsage   `json:"usage,omitempty"` // absent if a remote provider omits the count
}

type embeddingObject struct {
	Object    string    `json:"object" doc:"always embedding" enum:"embedding"`
	Index     int       `json:"index" doc:"position of the input"`
	Embedding embedding `json:"embedding" doc:"a vector of length 1; with encoding_format base64, its little-endian float32 bytes"`
}

type embeddingUsage struct {
	PromptTokens int      `json:"prompt_tokens" doc:"tokens of all inputs"`
	TotalTokens  int      `json:"total_tokens" doc:"the same as prompt_tokens"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// embedding is a vector that is written as a list of numbers, or as base64.
type embedding struct {
	vector []float32
	base64 bool // of its bytes, little-endian
}

// JSONSchema implements [wire.Describer].
func (embedding) JSONSchema() *wire.Schema {
	text := wire.Types("string")
	text.ContentEncoding = "base64"
	return wire.AnyOf(wire.ListOf(wire.Types("number")), text)
}

// MarshalJSON implements [json.Marshaler].
func (e embedding) MarshalJSON() ([]byte, error) {
	if !e.base64 {
		return json.Marshal(e.vector)
	}
	b := make([]byte, 0, 4*len(e.vector))
	for _, x := range e.vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return json.Marshal(b)
}

// request translates a request for embeddings; every error names the key at fault.
func (e *embeddingRequest) request() (*llm.EmbedRequest, error) {
	list, err := prompts("input", e.Input)
	switch {
	case err != nil:
		return nil, err
	case len(list) > maxInputs:
		return nil, wire.Invalid("input", "at most %d inputs", maxInputs)
	}
	for i, prompt := range list {
		if text, ok := prompt.Text(); ok && text == "" {
			return nil, wire.Invalid("input", "input %d is an empty string", i)
		}
	}
	req := &llm.EmbedRequest{Prompts: list, PromptName: e.PromptName, Task: tasks[cmp.Or(e.InputType, e.Task)]}
	switch {
	case e.InputType != "" && e.Task != "" && tasks[e.InputType] != tasks[e.Task]:
		return nil, wire.Invalid("task", "contradicts input_type")
	case req.Task != "" && req.PromptName != "":
		return nil, wire.Invalid("prompt_name", "cannot be combined with input_type or task")
	case e.Dimensions != nil:
		req.Dimensions = *e.Dimensions
	}
	req.Truncate, err = e.truncates()
	return req, err
}

// tasks maps the words of Cohere, Jina, Voyage and NVIDIA for what the vectors are for.
var tasks = map[string]llm.EmbedTask{
	"query": llm.EmbedQuery, "search_query": llm.EmbedQuery, "retrieval.query": llm.EmbedQuery,
	"document": llm.EmbedDocument, "passage": llm.EmbedDocument, "search_document": llm.EmbedDocument, "retrieval.passage": llm.EmbedDocument,
	"symmetric": llm.EmbedSymmetric, "text-matching": llm.EmbedSymmetric,
	"classification": llm.EmbedClassify, "clustering": llm.EmbedCluster, "separation": llm.EmbedCluster,
}

// truncates reports whether a long text is cut at its end. Cohere and NVIDIA write NONE and
// END, others booleans.
func (e *embeddingRequest) truncates() (bool, error) {
	if len(e.Truncate) == 0 || string(e.Truncate) == "null" {
		return false, nil
	}
	if e.Truncate[0] != '"' {
		var cut bool
		err := wire.UnmarshalAt("truncate", e.Truncate, &cut)
		return cut, err
	}
	var word string
	if err := wire.UnmarshalAt("truncate", e.Truncate, &word); err != nil {
		return false, err
	}
	switch strings.ToUpper(word) {
	case "END":
		return true, nil
	case "NONE":
		return false, nil
	}
	return false, wire.Invalid("truncate", "must be a boolean, END or NONE, not %.40q", word)
}

// answer translates embeddings. All vectors of a model have one length.
func (e *embeddingRequest) answer(model string, list []llm.Embedding, used llm.Usage) (*embeddingAnswer, error) {
	out := &embeddingAnswer{
		Object: "list", Data: make([]embeddingObject, len(list)), Model: model,
	}
	if !used.Partial {
		out.Usage = &embeddingUsage{used.Input, used.Input, used.Cost}
	}
	base64 := e.EncodingFormat != nil && *e.EncodingFormat == "base64"
	for i, made := range list {
		vector := llm.Unit(made.Layers[0].Vectors[0])
		if e.Dimensions != nil && *e.Dimensions != len(vector) {
			message := fmt.Sprintf("embeddings of this model have %d dimensions and cannot be shortened", len(vector))
			return nil, &llm.Error{Code: llm.Unsupported, Param: "dimensions", Message: message}
		}
		out.Data[i] = embeddingObject{Object: "embedding", Index: i, Embedding: embedding{vector, base64}}
	}
	return out, nil
}
