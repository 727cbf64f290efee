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

// plainRequest is the body of POST /embed_sparse and of POST /embed_all in the protocol of Text
// Embeddings Inference.
type plainRequest struct {
	modelKey
	Inputs json.RawMessage `json:"inputs"` // as in inputsRequest
	inputsKeys
}

// inputsKeys are the keys that these requests share.
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

// sparse translates a request for sparse embeddings.
func (q *plainRequest) sparse() (*llm.EmbedRequest, error) { return q.kind(llm.EmbedSparse) }

// unpooled translates a request for the vectors of all tokens.
func (q *plainRequest) unpooled() (*llm.EmbedRequest, error) { return q.kind(llm.EmbedUnpooled) }

// kind translates a request for a kind of embeddings.
func (q *plainRequest) kind(kind llm.EmbedKind) (*llm.EmbedRequest, error) {
	req, err := q.of(q.Inputs)
	if err == nil {
		req.Kind = kind
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

// tokenVectors returns the vectors of the tokens of each prompt.
func tokenVectors(list []llm.Embedding) [][][]float32 {
	out := make([][][]float32, len(list))
	for i, made := range list {
		out[i] = made.Layers[0].Vectors
	}
	return out
}
