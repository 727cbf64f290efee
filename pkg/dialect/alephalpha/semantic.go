package alephalpha

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// maxBatch bounds the prompts of a batch, as the clients do.
const maxBatch = 100

// semantic holds the keys that the requests for semantic embeddings share.
type semantic struct {
	Representation string `json:"representation"`
	CompressToSize *int   `json:"compress_to_size"`
	Normalize      *bool  `json:"normalize"`
	attention
}

// semanticRequest is the body of POST /semantic_embed.
type semanticRequest struct {
	target
	Prompt json.RawMessage `json:"prompt"`
	semantic
}

// batchRequest is the body of POST /batch_semantic_embed.
type batchRequest struct {
	target
	Prompts []json.RawMessage `json:"prompts"`
	semantic
}

type semanticAnswer struct {
	head
	Message      *string  `json:"message" doc:"always null"`
	Embedding    vector   `json:"embedding" doc:"the vector of the prompt"`
	PromptTokens *int     `json:"num_tokens_prompt_total" doc:"tokens of the prompt; null if a remote provider omits them"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

type batchAnswer struct {
	head
	Message      *string  `json:"message" doc:"always null"`
	Embeddings   []vector `json:"embeddings" doc:"the vectors of the prompts, in their order"`
	PromptTokens *int     `json:"num_tokens_prompt_total" doc:"tokens of all prompts; null if a remote provider omits them"`
	Cost         llm.Cost `json:"cost,omitzero" doc:"US dollars; absent if the prices are unknown"`
}

func semanticRows() []wire.Parameter {
	return append([]wire.Parameter{
		{Name: "representation", Required: true, OneOf: []string{string(llm.EmbedSymmetric), string(llm.EmbedDocument), string(llm.EmbedQuery)}, Canonical: "task", Remote: "by the record; a model without tasks embeds all alike", Note: "what the vectors are compared with: symmetric ones with each other, queries with documents; chooses the model's prompt"},
		{Name: "compress_to_size", Bounds: wire.AtLeast(1), Absent: "the dimensions of the model", Canonical: "dimensions", Remote: wire.ByRecord, Note: "the first values of the vector, normalised again if the model's vectors are"},
		{Name: "normalize", Default: false, Note: "whether to scale vectors to length 1"},
	}, attentionRows()...)
}

// semanticTable describes the body of POST /semantic_embed.
var semanticTable = wire.For[semanticRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompt", Required: true, Schema: promptSchema(), Canonical: "prompt", Remote: "texts; token ids are unsupported", Note: "as in /complete, but not empty"},
}, semanticRows())...)

// batchTable describes the body of POST /batch_semantic_embed.
var batchTable = wire.For[batchRequest](slices.Concat(targetRows(), []wire.Parameter{
	{Name: "prompts", Required: true, Count: wire.Between(1, maxBatch), Noun: "prompt", Schema: wire.ListOf(promptSchema()), Canonical: "prompt", Remote: "texts; token ids are unsupported", Note: "prompts as in /complete, but not empty"},
}, semanticRows())...)

// of returns the request for the embeddings of prompts.
func (s *semantic) of(prompts ...llm.Prompt) *llm.EmbedRequest {
	return &llm.EmbedRequest{Prompts: prompts, Task: llm.EmbedTask(s.Representation), Dimensions: valueOr(s.CompressToSize, 0)}
}

// vector returns the vector of an embedding.
func (s *semantic) vector(made *llm.Embedding) vector {
	v := made.Layers[0].Vectors[0]
	if valueOr(s.Normalize, false) {
		return llm.Unit(v)
	}
	return v
}

// request translates a request for a semantic embedding.
func (s *semanticRequest) request() (*llm.EmbedRequest, error) {
	prompt, err := notEmptyPrompt("prompt", s.Prompt)
	if err != nil {
		return nil, err
	}
	return s.of(prompt), nil
}

// request translates a request for several semantic embeddings.
func (b *batchRequest) request() (*llm.EmbedRequest, error) {
	list := make([]llm.Prompt, len(b.Prompts))
	for i, raw := range b.Prompts {
		var err error
		if list[i], err = notEmptyPrompt(fmt.Sprintf("prompts[%d]", i), raw); err != nil {
			return nil, err
		}
	}
	return b.of(list...), nil
}

// notEmptyPrompt reads the prompt at path, which has text or tokens.
func notEmptyPrompt(path string, raw json.RawMessage) (llm.Prompt, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return llm.Prompt{}, wire.Invalid(path, "must not be null")
	}
	prompt, err := readPrompt(path, raw, false)
	if err == nil && isEmpty(prompt) {
		err = wire.Invalid(path, "must not be empty")
	}
	return prompt, err
}

// known returns the tokens of the prompts, nil if not all of them are known.
func known(used llm.Usage) *int {
	if used.Partial {
		return nil
	}
	return &used.Input
}

func semanticEmbed(w http.ResponseWriter, r *http.Request, call httpx.Call[semanticRequest, *llm.EmbedRequest, opened[llm.Embedder]]) error {
	made, used, err := call.Model.model.Embed(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, semanticAnswer{head: call.Model.head, Embedding: call.In.vector(&made[0]), PromptTokens: known(used), Cost: used.Cost})
}

func batchEmbed(w http.ResponseWriter, r *http.Request, call httpx.Call[batchRequest, *llm.EmbedRequest, opened[llm.Embedder]]) error {
	made, used, err := call.Model.model.Embed(r.Context(), call.Req)
	if err != nil {
		return err
	}
	answer := batchAnswer{head: call.Model.head, Embeddings: make([]vector, len(made)), PromptTokens: known(used), Cost: used.Cost}
	for i := range made {
		answer.Embeddings[i] = call.In.vector(&made[i])
	}
	return httpx.JSON(w, http.StatusOK, answer)
}
