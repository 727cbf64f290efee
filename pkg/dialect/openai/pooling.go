package openai

import (
	"encoding/json"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// poolingRequest is the body of POST /pooling, in vLLM's protocol.
type poolingRequest struct {
	modelKey
	Input                json.RawMessage `json:"input"` // a string, token ids, or a list of either
	Task                 string          `json:"task"`
	EncodingFormat       string          `json:"encoding_format"`
	Dimensions           *int            `json:"dimensions"`
	TruncatePromptTokens *int            `json:"truncate_prompt_tokens"`
	UseActivation        *bool           `json:"use_activation"`
	AddSpecialTokens     json.RawMessage `json:"add_special_tokens"`
	Messages             json.RawMessage `json:"messages"`
	Priority             *int            `json:"priority"`
	User                 string          `json:"user"`
}

type poolingAnswer struct {
	ID      string          `json:"id" doc:"the id of the answer"`
	Object  string          `json:"object" doc:"always list" enum:"list"`
	Created int64           `json:"created" doc:"seconds since 1970"`
	Model   string          `json:"model" doc:"the model's name, even if the request used an alias"`
	Data    []poolingObject `json:"data" doc:"one for each input"`
	Usage   *rerankUsage    `json:"usage,omitempty"` // absent if a remote provider omits the count
}

type poolingObject struct {
	Index  int       `json:"index" doc:"position of the input"`
	Object string    `json:"object" doc:"always pooling" enum:"pooling"`
	Data   embedding `json:"data" doc:"task embed: a vector; token_embed: a vector for each token. With encoding_format base64, the little-endian float32 bytes of all vectors"`
}

// The values of task that are supported; the first is the default.
const (
	poolTokens = "token_embed"
	poolText   = "embed"
)

// poolingTable describes the body of POST /pooling.
var poolingTable = wire.For[poolingRequest](
	embedModelRow,
	wire.Parameter{Name: "input", Required: true, Schema: promptSchema(maxInputs), Canonical: "prompt", Remote: "texts; token ids are unsupported", Note: "a text or token ids, or a list of up to 2048 of either; none may be empty"},
	wire.Parameter{Name: "task", OneOf: []string{poolTokens, poolText}, Default: poolTokens, Remote: "embed; token_embed is unsupported", Note: "what vectors are asked for: those of all tokens, also of those that the model adds, or that of the text; /classify classifies texts"},
	wire.Parameter{Name: "encoding_format", OneOf: []string{"float", "base64"}, Default: "float", Note: "base64 encodes little-endian float32 values, of all vectors"},
	wire.Parameter{Name: "dimensions", Bounds: wire.AtLeast(1), Absent: "the dimensions of the model", Canonical: "dimensions", Remote: wire.ByRecord, Note: "only with task embed: " + firstValues},
	wire.Parameter{Name: "truncate_prompt_tokens", Bounds: wire.Between(-1, 0), Absent: "long texts are rejected", Canonical: "truncate", Remote: wire.ByRecord, Note: "cuts each text to the model's length"},
	wire.Parameter{Name: "use_activation", Default: true, Note: "whether to scale vectors to length 1"},
	wire.Parameter{Name: "add_special_tokens", Disposition: wire.Refused, Note: "a model reads texts as it was trained to", Neutral: []string{"true"}},
	wire.Parameter{Name: "messages", Disposition: wire.Refused, Note: "the models here embed texts, not chats"},
	wire.Parameter{Name: "priority", Disposition: wire.NoEffect, Note: "requests are answered in a fair order"},
	wire.Parameter{Name: "user", Disposition: wire.NoEffect, Note: labelsCaller},
)

// request translates a request for vectors.
func (p *poolingRequest) request() (*llm.EmbedRequest, error) {
	list, err := inputPrompts("input", p.Input)
	if err != nil {
		return nil, err
	}
	req := &llm.EmbedRequest{Prompts: list, Kind: llm.EmbedUnpooled, Truncate: p.TruncatePromptTokens != nil, MaxValues: maxValues}
	switch {
	case p.Task == poolText:
		req.Kind, req.Dimensions = "", value(p.Dimensions)
	case p.Dimensions != nil:
		return nil, wire.Invalid("dimensions", "is only accepted with task embed")
	}
	return req, nil
}

// answer translates embeddings.
func (p *poolingRequest) answer(model string, created int64, list []llm.Embedding, used llm.Usage) (*poolingAnswer, error) {
	out := &poolingAnswer{ID: openaiapi.NewID("pool-"), Object: "list", Created: created, Model: model, Data: make([]poolingObject, len(list)), Usage: newRerankUsage(used)}
	for i, made := range list {
		data := embedding{kind: llm.EmbedMulti, vectors: made.Layers[0].Vectors, base64: p.EncodingFormat == "base64"}
		if p.Task == poolText {
			data.kind = llm.EmbedDense
		}
		if !isFalse(p.UseActivation) {
			data.vectors = units(data.vectors)
		}
		if n := p.Dimensions; n != nil && *n != len(data.vectors[0]) {
			return nil, notShortened("dimensions", len(data.vectors[0]))
		}
		out.Data[i] = poolingObject{Index: i, Object: "pooling", Data: data}
	}
	return out, nil
}

// units returns vectors with length 1.
func units(vectors [][]float32) [][]float32 {
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		out[i] = llm.Unit(v)
	}
	return out
}

func (cfg Config) answerPooling(w http.ResponseWriter, r *http.Request, call httpx.Call[poolingRequest, *llm.EmbedRequest, *llm.Model]) error {
	list, used, err := embedTexts(r.Context(), call.Model, call.Req, false)
	if err != nil {
		return err
	}
	answer, err := call.In.answer(call.Model.Name, cfg.Now().Unix(), list, used)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

var poolingDoc = &httpx.Operation{
	ID: "pooling", Tag: tag, Summary: "Compute vectors of texts or of their tokens, in vLLM's protocol",
	Body:    poolingTable,
	Example: `{"input": ["Dogs bark.", "Cats purr."], "task": "token_embed"}`,
	Answers: []httpx.Answer{{Of: poolingAnswer{}}},
}
