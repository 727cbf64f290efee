package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// similarityRequest is the body of POST /similarity in the protocol of Text Embeddings Inference, and at
// the root in that of Hugging Face's Inference API.
type similarityRequest struct {
	modelKey
	Inputs     similarityInputs     `json:"inputs"`
	Parameters similarityParameters `json:"parameters"`
}

type similarityInputs struct {
	Source    *string  `json:"source_sentence"`
	Sentences []string `json:"sentences"`
}

type similarityParameters struct {
	PromptName          string          `json:"prompt_name"`
	Truncate            bool            `json:"truncate"`
	TruncationDirection json.RawMessage `json:"truncation_direction"`
}

// similarityTable describes the body of POST /similarity.
var similarityTable = wire.For[similarityRequest](
	embedModelRow,
	wire.Parameter{Name: "inputs", Required: true, Note: "the texts that are compared"},
	wire.Parameter{Name: "inputs.source_sentence", Required: true, NotEmpty: true, Note: "the text that the others are compared with"},
	wire.Parameter{Name: "inputs.sentences", Required: true, NotEmpty: true, Count: wire.Between(1, maxInputs-1), Noun: "sentence", Note: "the others, none of them empty"},
	wire.Parameter{Name: "parameters", Note: "how texts are embedded"},
	wire.Parameter{Name: "parameters.prompt_name", Canonical: "prompt_name", Absent: "the model's default", Remote: wire.ByRecord, Note: "the model's prompt, by name, to put before each text"},
	wire.Parameter{Name: "parameters.truncate", Default: false, Canonical: "truncate", Remote: wire.ByRecord, Note: "whether to cut the end of a text that is longer than the model's limit, instead of rejecting it"},
	wire.Parameter{Name: "parameters.truncation_direction", Disposition: wire.Refused, Note: "texts are cut at their end", Neutral: []string{`"right"`, `"Right"`}},
)

// request translates a request to compare texts: the source comes first.
func (s *similarityRequest) request() (*llm.EmbedRequest, error) {
	req := &llm.EmbedRequest{PromptName: s.Parameters.PromptName, Truncate: s.Parameters.Truncate, MaxValues: maxValues}
	req.Prompts = append(req.Prompts, llm.Text(*s.Inputs.Source))
	for _, text := range s.Inputs.Sentences {
		req.Prompts = append(req.Prompts, llm.Text(text))
	}
	return req, nil
}

// rename puts the client's keys into an error about a text.
func (s *similarityRequest) rename(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	var i int
	if _, noIndex := fmt.Sscanf(llm.AsError(err).Param, "prompt[%d]", &i); !ok || noIndex != nil {
		return err
	}
	renamed := *e
	if renamed.Param = "inputs.source_sentence"; i > 0 {
		renamed.Param = fmt.Sprintf("inputs.sentences[%d]", i-1)
	}
	return &renamed
}

// similarities returns the cosines of the first embedding and the others.
func similarities(list []llm.Embedding) []float64 {
	vector := func(e *llm.Embedding) []float32 { return e.Layers[0].Vectors[0] }
	out := make([]float64, len(list)-1)
	for i := range out {
		out[i] = cosine(vector(&list[0]), vector(&list[i+1]))
	}
	return out
}

func answerSimilarity(w http.ResponseWriter, r *http.Request, call httpx.Call[similarityRequest, *llm.EmbedRequest, *llm.Model]) error {
	list, _, err := embedTexts(r.Context(), call.Model, call.Req, false)
	if err != nil {
		return call.In.rename(err)
	}
	return httpx.JSON(w, http.StatusOK, similarities(list))
}

var similarityDoc = &httpx.Operation{
	ID: "similarity", Tag: tag, Summary: "Compare texts with one, in the protocol of Text Embeddings Inference",
	Description: "The answer is a list of the cosines of the vectors, from -1 to 1.",
	Body:        similarityTable,
	Example:     `{"inputs": {"source_sentence": "Cats purr.", "sentences": ["Dogs bark.", "A cat is purring."]}}`,
	Answers:     []httpx.Answer{{Of: []float64{}}},
}
