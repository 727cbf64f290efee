package openai

import (
	"encoding/json"

	"glossa/pkg/llm"
)

// inputsRequest is the body of POST /embed in the protocol of Text Embeddings Inference.
type inputsRequest struct {
	modelKey
	Inputs     json.RawMessage `json:"inputs"` // a string, token ids, or a list of either
	Normalize  *bool           `json:"normalize"`
	Dimensions *int            `json:"dimensions"`
	inputsKeys
}

// sparseRequest is the body of POST /embed_sparse in the protocol of Text Embeddings Inference.
type sparseRequest struct {
	modelKey
	Inputs json.RawMessage `json:"inputs"` // as in inputsRequest
	inputsKeys
}

// inputsKeys are the keys that both requests share.
type inputsKeys struct {
	PromptName          string          `json:"prompt_name"`
	Truncate            bool            `json:"truncate"`
	TruncationDirection json.RawMessage `json:"truncation_direction"`
}

// sparseValue is a weight of a sparse embedding.
type sparseValue struct {
	Index int     `json:"index" doc:"id of the token"`
	Value float32 `json:"value" doc:"its weight"`
}

// request translates a request for dense embeddings.
func (q *inputsRequest) request() (*llm.EmbedRequest, error) {
	req, err := q.of(q.Inputs)
	if err == nil {
		req.Dimensions = value(q.Dimensions)
	}
	return req, err
}

// request translates a request for sparse embeddings.
func (q *sparseRequest) request() (*llm.EmbedRequest, error) {
	req, err := q.of(q.Inputs)
	if err == nil {
		req.Kind = llm.EmbedSparse
	}
	return req, err
}

// of returns the request for embeddings of inputs.
func (k *inputsKeys) of(inputs json.RawMessage) (*llm.EmbedRequest, error) {
	list, err := inputPrompts("inputs", inputs)
	if err != nil {
		return nil, err
	}
	return &llm.EmbedRequest{Prompts: list, PromptName: k.PromptName, Truncate: k.Truncate, MaxValues: maxValues}, nil
}

// answer returns the vectors of embeddings: of length 1, or with normalize false as the model
// makes them.
func (q *inputsRequest) answer(list []llm.Embedding) ([][]float32, error) {
	out, err := unitVectors(list, "dimensions", q.Dimensions)
	if err == nil && isFalse(q.Normalize) {
		for i := range out {
			out[i] = list[i].Layers[0].Vectors[0]
		}
	}
	return out, err
}

// sparseValues returns the weights of sparse embeddings.
func sparseValues(list []llm.Embedding) [][]sparseValue {
	out := make([][]sparseValue, len(list))
	for i, made := range list {
		out[i] = make([]sparseValue, len(made.Tokens))
		for j, token := range made.Tokens {
			out[i][j] = sparseValue{token.ID, made.Layers[0].Vectors[0][j]}
		}
	}
	return out
}
