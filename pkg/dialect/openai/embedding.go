package openai

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
	Type           string          `json:"type"` // one of embeddingTypes
	ReturnTokens   bool            `json:"return_tokens"`
	User           string          `json:"user"`
	embeddingNames
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
	Embedding embedding `json:"embedding" doc:"type dense: a vector of length 1; sparse: ids of tokens and their weights; multi_vector: a vector for each token. With encoding_format base64, the little-endian float32 bytes of all vectors"`
	Shape     []int     `json:"shape,omitempty" doc:"of type multi_vector: the number of vectors and their length"`
	Tokens    []string  `json:"tokens,omitempty" doc:"with return_tokens: the token of each weight or vector, as spelled in the vocabulary"`
}

type embeddingUsage struct {
	PromptTokens int      `json:"prompt_tokens" doc:"tokens of all inputs"`
	TotalTokens  int      `json:"total_tokens" doc:"the same as prompt_tokens"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

// embedding is written as a list of numbers, as a list of vectors, as base64 of their values, or
// as weights of tokens.
type embedding struct {
	kind    llm.EmbedKind
	vectors [][]float32
	indices []int // of the weights of a sparse embedding
	base64  bool  // of bytes, little-endian

	integers []int // instead of the only vector, of a byte each; nil: it has floats
}

// weights is a sparse embedding, in the order of the ids.
type weights struct {
	Indices []int     `json:"indices"`
	Values  []float32 `json:"values"`
}

// JSONSchema implements [wire.Describer].
func (embedding) JSONSchema() *wire.Schema {
	text, numbers := wire.Types("string"), wire.ListOf(wire.Types("number"))
	text.ContentEncoding = "base64"
	sparse := wire.Types("object")
	sparse.Properties = wire.Properties{{Name: "indices", Schema: wire.ListOf(wire.Types("integer"))}, {Name: "values", Schema: numbers}}
	sparse.Required = []string{"indices", "values"}
	return wire.AnyOf(numbers, wire.ListOf(numbers), text, sparse)
}

// MarshalJSON implements [json.Marshaler].
func (e embedding) MarshalJSON() ([]byte, error) {
	switch {
	case e.kind == llm.EmbedSparse:
		return json.Marshal(weights{e.indices, e.vectors[0]})
	case e.integers != nil && e.base64:
		b := make([]byte, len(e.integers))
		for i, v := range e.integers {
			b[i] = byte(v)
		}
		return json.Marshal(b)
	case e.integers != nil:
		return json.Marshal(e.integers)
	case e.base64:
		return json.Marshal(bytesOf(e.vectors))
	case e.kind == llm.EmbedMulti:
		return json.Marshal(e.vectors)
	}
	return json.Marshal(e.vectors[0])
}

// bytesOf returns the values of vectors, one after the other.
func bytesOf(vectors [][]float32) []byte {
	b := []byte{}
	for _, v := range vectors {
		b = slices.Grow(b, 4*len(v))
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// embeddingTypes are the values of type; the first is the default.
var embeddingTypes = []string{string(llm.EmbedDense), string(llm.EmbedSparse), string(llm.EmbedMulti)}

// maxValues bounds the values of all vectors of an answer: those of 2048 vectors with 4096
// dimensions.
const maxValues = 1 << 23

// request translates a request for embeddings; every error names the key at fault.
func (e *embeddingRequest) request() (*llm.EmbedRequest, error) {
	list, err := inputPrompts("input", e.Input)
	if err != nil {
		return nil, err
	}
	req := &llm.EmbedRequest{Prompts: list, PromptName: e.PromptName, Task: tasks[cmp.Or(e.InputType, e.Task)], Kind: llm.EmbedKind(e.Type)}
	switch {
	case e.InputType != "" && e.Task != "" && tasks[e.InputType] != tasks[e.Task]:
		return nil, wire.Invalid("task", "contradicts input_type")
	case req.Task != "" && req.PromptName != "":
		return nil, wire.Invalid("prompt_name", "cannot be combined with input_type or task")
	case e.ReturnTokens && (req.Kind == "" || req.Kind == llm.EmbedDense):
		return nil, wire.Invalid("return_tokens", "is only accepted with type sparse or multi_vector")
	}
	if err := e.names(); err != nil {
		return nil, err
	}
	_, dimensions := e.dimensions()
	req.Dimensions = value(dimensions)
	req.Truncate, err = e.truncates()
	return req, err
}

// inputPrompts reads texts or token ids to embed, none of them an empty text.
func inputPrompts(key string, raw json.RawMessage) ([]llm.Prompt, error) {
	list, err := prompts(key, raw)
	switch {
	case err != nil:
		return nil, err
	case len(list) > maxInputs:
		return nil, wire.Invalid(key, "at most %d inputs", maxInputs)
	}
	for i, prompt := range list {
		if text, ok := prompt.Text(); ok && text == "" {
			return nil, wire.Invalid(key, "input %d is an empty string", i)
		}
	}
	return list, nil
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
	if e.Truncation != nil {
		return *e.Truncation, nil
	}
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
	key, dimensions := e.dimensions()
	for i, made := range list {
		o := &out.Data[i]
		*o = embeddingObject{Object: "embedding", Index: i, Embedding: e.embedding(&made)}
		if v := o.Embedding.vectors; o.Embedding.kind == llm.EmbedDense && dimensions != nil && *dimensions != len(v[0]) {
			return nil, notShortened(key, len(v[0]))
		} else if o.Embedding.kind == llm.EmbedMulti {
			o.Shape = []int{len(v), 0}
			if len(v) > 0 {
				o.Shape[1] = len(v[0])
			}
		}
		if e.ReturnTokens {
			o.Tokens = spellings(made.Tokens)
		}
	}
	return out, nil
}

// notShortened returns the error of a model whose vectors have another number of dimensions than key
// asks for.
func notShortened(key string, has int) error {
	return &llm.Error{Code: llm.Unsupported, Param: key, Message: fmt.Sprintf("embeddings of this model have %d dimensions and cannot be shortened", has)}
}

// embedding translates the embedding of an input.
func (e *embeddingRequest) embedding(made *llm.Embedding) embedding {
	out := embedding{kind: cmp.Or(llm.EmbedKind(e.Type), llm.EmbedDense), vectors: made.Layers[0].Vectors}
	switch out.base64 = e.EncodingFormat != nil && *e.EncodingFormat == "base64" || e.valueType() == "base64"; out.kind {
	case llm.EmbedDense:
		out.vectors = [][]float32{llm.Unit(out.vectors[0])}
		out.integers = e.integers(out.vectors[0])
	case llm.EmbedSparse:
		out.indices = make([]int, len(made.Tokens))
		for i, token := range made.Tokens {
			out.indices[i] = token.ID
		}
	}
	return out
}

// spellings returns the tokens as the vocabulary spells them.
func spellings(tokens []llm.Token) []string {
	list := make([]string, len(tokens))
	for i, token := range tokens {
		list[i] = token.Piece
	}
	return list
}
