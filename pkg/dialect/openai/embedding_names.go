package openai

import (
	"cmp"
	"encoding/json"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// embeddingNames are the keys of Jina and Voyage that OpenAI does not have.
type embeddingNames struct {
	EmbeddingType   string          `json:"embedding_type"`
	OutputType      string          `json:"output_dtype"`
	EncodingType    string          `json:"encoding_type"`
	OutputDimension *int            `json:"output_dimension"`
	Truncation      *bool           `json:"truncation"`
	Normalized      json.RawMessage `json:"normalized"`
	LateChunking    json.RawMessage `json:"late_chunking"`
	Multivector     json.RawMessage `json:"return_multivector"`
}

// embeddingNameRows describe them.
func embeddingNameRows() []wire.Parameter {
	const sent = "; sent by "
	return []wire.Parameter{
		{Name: "embedding_type", OneOf: quantTypes, Absent: "float", Note: "the type of values, as in /v2/embed; only with type dense" + sent + "Jina's clients"},
		{Name: "output_dtype", OneOf: quantTypes[:5], Absent: "float", Note: "the same as embedding_type" + sent + "Voyage's clients"},
		{Name: "encoding_type", OneOf: quantTypes, Absent: "float", Note: "the same as embedding_type" + sent + "LlamaIndex's client of Jina"},
		{Name: "output_dimension", Bounds: wire.AtLeast(1), Absent: "the dimensions of the model", Remote: wire.ByRecord, Note: "the same as dimensions" + sent + "Voyage's clients"},
		{Name: "truncation", Absent: "false", Remote: wire.ByRecord, Note: "the same as truncate, but a model that cannot cut texts gets them whole" + sent + "Voyage's clients"},
		{Name: "normalized", Disposition: wire.Refused, Note: "vectors have length 1", Neutral: []string{"true"}},
		{Name: "late_chunking", Disposition: wire.Refused, Note: "each text is embedded by itself", Neutral: []string{"false"}},
		{Name: "return_multivector", Disposition: wire.Refused, Note: "type multi_vector asks for vectors of tokens", Neutral: []string{"false"}},
	}
}

// names checks the other names of keys, and puts their values into those of OpenAI.
func (e *embeddingRequest) names() error {
	switch {
	case e.EmbeddingType != "" && e.OutputType != "" && e.EmbeddingType != e.OutputType:
		return wire.Invalid("output_dtype", "contradicts embedding_type")
	case e.EncodingType != "" && e.EncodingType != e.valueType():
		return wire.Invalid("encoding_type", "contradicts embedding_type or output_dtype")
	case e.valueType() != "float" && e.Type != "" && e.Type != string(llm.EmbedDense):
		return wire.Invalid("embedding_type", "is only accepted with type dense")
	case e.OutputDimension != nil && e.Dimensions != nil && *e.OutputDimension != *e.Dimensions:
		return wire.Invalid("output_dimension", "contradicts dimensions")
	case e.Truncation != nil && len(e.Truncate) > 0 && string(e.Truncate) != "null":
		return wire.Invalid("truncation", "cannot be combined with truncate")
	}
	return nil
}

// valueType returns the type of values that is asked for.
func (e *embeddingRequest) valueType() string {
	return cmp.Or(e.EmbeddingType, e.OutputType, e.EncodingType, "float")
}

// dimensions returns the number of dimensions that is asked for, and its key.
func (e *embeddingRequest) dimensions() (key string, n *int) {
	if e.OutputDimension != nil {
		return "output_dimension", e.OutputDimension
	}
	return "dimensions", e.Dimensions
}

// integers returns the values of a vector in the type that is asked for, nil if they are floats.
func (e *embeddingRequest) integers(v []float32) []int {
	switch e.valueType() {
	case "int8":
		return int8s(v)
	case "uint8":
		return plus(int8s(v), 128)
	case "binary":
		return plus(packed(v), -128)
	case "ubinary":
		return packed(v)
	}
	return nil
}
