package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// embedRequest is the body of POST /v1/embed and POST /v2/embed, in Cohere's protocol.
type embedRequest struct {
	modelKey
	Texts           []string        `json:"texts"`
	Inputs          []embedInput    `json:"inputs"`
	InputType       string          `json:"input_type"`
	EmbeddingTypes  []string        `json:"embedding_types"`
	OutputDimension *int            `json:"output_dimension"`
	Truncate        *string         `json:"truncate"`
	Images          json.RawMessage `json:"images"`
	MaxTokens       json.RawMessage `json:"max_tokens"`
	Priority        *int            `json:"priority"`
}

// embedInput is an input of several parts, which have one vector.
type embedInput struct {
	Content []embedPart `json:"content"`
}

type embedPart struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text"`
	Image json.RawMessage `json:"image_url"`
}

// embedHead has the keys that all answers of Cohere's protocol for embeddings share.
type embedHead struct {
	ID           string          `json:"id" doc:"the id of the answer"`
	ResponseType string          `json:"response_type" doc:"the shape of embeddings" enum:"embeddings_floats,embeddings_by_type"`
	Model        string          `json:"model" doc:"the model's name, even if the request used an alias"`
	Texts        []string        `json:"texts" doc:"what was embedded"`
	Meta         embedMeta       `json:"meta"`
	Usage        *embeddingUsage `json:"usage,omitempty"` // absent if a remote provider omits the count
}

type embedMeta struct {
	Version apiVersion    `json:"api_version"`
	Billed  *embedTokens  `json:"billed_units,omitempty"` // as usage
	Tokens  *rerankTokens `json:"tokens,omitempty"`       // as usage
}

type embedTokens struct {
	Input int `json:"input_tokens" doc:"tokens of all inputs"`
}

// embedFloats is the answer of the first version to a request without embedding_types.
type embedFloats struct {
	embedHead
	Embeddings [][]float32 `json:"embeddings" doc:"a vector of length 1 for each input"`
}

// embedByType is the answer with vectors of several types.
type embedByType struct {
	embedHead
	Embeddings typedVectors `json:"embeddings"`
}

// typedVectors has the vectors of the types that were asked for, one for each input.
type typedVectors struct {
	Float   [][]float32 `json:"float,omitempty" doc:"vectors of length 1"`
	Int8    [][]int     `json:"int8,omitempty" doc:"values from -127 to 127: the value of largest magnitude in each vector is 127 or -127"`
	Uint8   [][]int     `json:"uint8,omitempty" doc:"the values of int8 plus 128"`
	Binary  [][]int     `json:"binary,omitempty" doc:"the bytes of ubinary minus 128"`
	Ubinary [][]int     `json:"ubinary,omitempty" doc:"bytes of eight values each, the first one in the highest bit: 1 if it is above 0"`
	Base64  []string    `json:"base64,omitempty" doc:"the little-endian float32 bytes of vectors of length 1"`
}

// quantTypes are the values of embedding_types; the first is the default.
var quantTypes = []string{"float", "int8", "uint8", "binary", "ubinary", "base64"}

// cohereTasks are the values of input_type.
var cohereTasks = []string{"search_document", "search_query", "classification", "clustering"}

// embedTruncates are the values of truncate that are supported; START is not.
var embedTruncates = []string{"END", "NONE"}

// request translates a request of Cohere's protocol for embeddings.
func (e *embedRequest) request() (*llm.EmbedRequest, error) {
	switch {
	case e.Texts != nil && e.Inputs != nil:
		return nil, wire.Invalid("texts", "either texts or inputs is accepted")
	case e.Texts == nil && e.Inputs == nil:
		return nil, wire.Invalid("texts", "is required")
	}
	texts, err := e.texts()
	if err != nil {
		return nil, err
	}
	req := &llm.EmbedRequest{Task: tasks[e.InputType], Dimensions: value(e.OutputDimension), MaxValues: maxValues}
	req.Truncate = e.Truncate == nil || *e.Truncate == "END"
	for _, text := range texts {
		req.Prompts = append(req.Prompts, llm.Text(text))
	}
	return req, nil
}

// texts returns what is to be embedded: the parts of an input are joined by line feeds.
func (e *embedRequest) texts() ([]string, error) {
	texts := e.Texts
	for i, input := range e.Inputs {
		var parts []string
		for j, part := range input.Content {
			if part.Text == nil {
				return nil, wire.Invalid(fmt.Sprintf("inputs[%d].content[%d].text", i, j), "is required")
			}
			parts = append(parts, *part.Text)
		}
		texts = append(texts, strings.Join(parts, "\n"))
	}
	for i, text := range texts {
		if text == "" {
			return nil, wire.Invalid(e.place(i), "must not be empty")
		}
	}
	return texts, nil
}

// place returns the path of an input.
func (e *embedRequest) place(i int) string {
	if e.Texts != nil {
		return fmt.Sprintf("texts[%d]", i)
	}
	return fmt.Sprintf("inputs[%d]", i)
}

// answer translates the embeddings for req, its translation, for a version of the protocol.
func (e *embedRequest) answer(model, version string, req *llm.EmbedRequest, list []llm.Embedding, used llm.Usage) (any, error) {
	head := embedHead{ID: openaiapi.NewID("embed-"), ResponseType: "embeddings_by_type", Model: model, Texts: make([]string, len(req.Prompts)), Meta: embedMeta{Version: apiVersion{version}}}
	for i, prompt := range req.Prompts {
		head.Texts[i], _ = prompt.Text()
	}
	if !used.Partial {
		head.Meta.Billed, head.Meta.Tokens = &embedTokens{used.Input}, &rerankTokens{Input: used.Input}
		head.Usage = &embeddingUsage{used.Input, used.Input, used.Cost}
	}
	vectors, err := unitVectors(list, "output_dimension", e.OutputDimension)
	if err != nil {
		return nil, err
	}
	types := e.EmbeddingTypes
	if len(types) == 0 {
		if version == "1" {
			head.ResponseType = "embeddings_floats"
			return embedFloats{head, vectors}, nil
		}
		types = quantTypes[:1]
	}
	return embedByType{head, newTyped(types, vectors)}, nil
}

// unitVectors returns the vectors of embeddings with length 1. They must have the number of
// dimensions that key asks for.
func unitVectors(list []llm.Embedding, key string, dimensions *int) ([][]float32, error) {
	out := make([][]float32, len(list))
	for i, made := range list {
		out[i] = llm.Unit(made.Layers[0].Vectors[0])
		if has := len(out[i]); dimensions != nil && *dimensions != has {
			return nil, notShortened(key, has)
		}
	}
	return out, nil
}

// newTyped returns vectors as values of some types.
func newTyped(types []string, vectors [][]float32) (out typedVectors) {
	for _, v := range vectors {
		for _, each := range []struct {
			name   string
			to     *[][]int
			values func([]float32) []int
			offset int
		}{
			{"int8", &out.Int8, int8s, 0}, {"uint8", &out.Uint8, int8s, 128},
			{"binary", &out.Binary, packed, -128}, {"ubinary", &out.Ubinary, packed, 0},
		} {
			if slices.Contains(types, each.name) {
				*each.to = append(*each.to, plus(each.values(v), each.offset))
			}
		}
		if slices.Contains(types, "float") {
			out.Float = append(out.Float, v)
		}
		if slices.Contains(types, "base64") {
			out.Base64 = append(out.Base64, base64.StdEncoding.EncodeToString(bytesOf([][]float32{v})))
		}
	}
	return out
}

// int8s returns the values of a vector, scaled so that the largest magnitude is 127: the cosine
// of two vectors does not depend on their scales.
func int8s(v []float32) []int {
	most := float64(0)
	for _, x := range v {
		most = max(most, math.Abs(float64(x)))
	}
	out := make([]int, len(v))
	if most == 0 {
		return out
	}
	for i, x := range v {
		out[i] = int(math.Round(127 * float64(x) / most))
	}
	return out
}

// packed returns the signs of a vector, eight in a byte, the first one in the highest bit. The
// last byte is filled with zeros.
func packed(v []float32) []int {
	out := make([]int, (len(v)+7)/8)
	for i, x := range v {
		if x > 0 {
			out[i/8] |= 0x80 >> (i % 8)
		}
	}
	return out
}

// plus adds a number to each of some values, and returns them.
func plus(values []int, n int) []int {
	for i := range values {
		values[i] += n
	}
	return values
}
