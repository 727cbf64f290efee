package openai

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// embeddingErrors is the shape of errors at /v1/embeddings: that of OpenAI, with the key that clients of
// Jina and Voyage read.
var embeddingErrors httpx.Errors = embeddingShape{Errors}

type embeddingShape struct{ httpx.Errors }

type embeddingError struct {
	openaiapi.ErrorBody
	Detail string `json:"detail" doc:"what went wrong, for clients of Jina and Voyage"`
}

// Body implements [httpx.Errors].
func (embeddingShape) Body(e *llm.Error) (int, any) {
	status, body := Errors.Body(e)
	return status, embeddingError{body.(openaiapi.ErrorBody), openaiapi.Sentence(e)}
}
