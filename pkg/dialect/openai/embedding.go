package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"glossa/pkg/llm"
)

// embeddingRequest is the body of POST /v1/embeddings. Each key has a row in
// [EmbeddingParameters].
type embeddingRequest struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"` // a string, token ids, or a list of either
	EncodingFormat *string         `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
	User           string          `json:"user"`
}

type embeddingAnswer struct {
	Object string            `json:"object"` // list
	Data   []embeddingObject `json:"data"`
	Model  string            `json:"model"`
	Usage  embeddingUsage    `json:"usage"`
}

type embeddingObject struct {
	Object    string `json:"object"` // embedding
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or a string: base64 of them, little-endian
}

type embeddingUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// request translates a request for embeddings; every error names the key at fault.
func (e *embeddingRequest) request() (*llm.EmbedRequest, error) {
	if e.EncodingFormat != nil && *e.EncodingFormat != "float" && *e.EncodingFormat != "base64" {
		return nil, invalid("encoding_format", "must be float or base64, not %.40q", *e.EncodingFormat)
	}
	if e.Dimensions != nil && *e.Dimensions < 1 {
		return nil, invalid("dimensions", "must be at least 1")
	}
	list, err := prompts("input", e.Input)
	switch {
	case err != nil:
		return nil, err
	case list == nil:
		return nil, invalid("input", "must be given")
	case len(list) > maxInputs:
		return nil, invalid("input", "at most %d inputs", maxInputs)
	}
	for i, prompt := range list {
		if text, ok := prompt.Text(); ok && text == "" {
			return nil, invalid("input", "input %d is an empty string", i)
		}
	}
	return &llm.EmbedRequest{Prompts: list}, nil
}

// answer translates embeddings. Those of a model have one length.
func (e *embeddingRequest) answer(model string, list []llm.Embedding, used llm.Usage) (*embeddingAnswer, error) {
	out := &embeddingAnswer{
		Object: "list", Data: make([]embeddingObject, len(list)), Model: model, Usage: embeddingUsage{used.Input, used.Input},
	}
	for i, made := range list {
		vector := unit(made.Layers[0].Vectors[0])
		if e.Dimensions != nil && *e.Dimensions != len(vector) {
			message := fmt.Sprintf("embeddings of this model have %d dimensions and cannot be shortened", len(vector))
			return nil, &llm.Error{Code: llm.Unsupported, Param: "dimensions", Message: message}
		}
		out.Data[i] = embeddingObject{Object: "embedding", Index: i, Embedding: vector}
		if e.EncodingFormat != nil && *e.EncodingFormat == "base64" {
			out.Data[i].Embedding = encode(vector)
		}
	}
	return out, nil
}

// unit returns v with length 1, as OpenAI's embeddings have it: the dot product of two
// is then the cosine of their angle.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	if sum == 0 {
		return out
	}
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

// encode writes floats as base64 of their bytes, little-endian.
func encode(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}
