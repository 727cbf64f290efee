package openai

import (
	"encoding/json"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// documentsErrors is the shape of errors for requests with documents. The keys of Cohere, Jina, and
// OpenAI and vLLM do not conflict.
var documentsErrors httpx.Errors = documentsShape{Errors}

type documentsShape struct{ httpx.Errors }

// documentsError has the keys of all protocols whose requests have documents.
type documentsError struct {
	openaiapi.ErrorBody
	ID      string `json:"id,omitempty" doc:"the id of the request"`
	Message string `json:"message" doc:"what went wrong, for clients of Cohere"`
	Detail  string `json:"detail" doc:"what went wrong, for clients of Jina"`
}

// SetRequestID implements [httpx.Identified].
func (b *documentsError) SetRequestID(id string) { b.ID = id }

// Body implements [httpx.Errors].
func (documentsShape) Body(e *llm.Error) (int, any) {
	status, body := Errors.Body(e)
	message := openaiapi.Sentence(e)
	return status, &documentsError{ErrorBody: body.(openaiapi.ErrorBody), Message: message, Detail: message}
}

// textsErrors is the shape of errors for requests with texts: that of Text Embeddings Inference, with its
// statuses.
var textsErrors httpx.Errors = textsShape{}

type textsShape struct{}

type textsError struct {
	Error string `json:"error" doc:"what went wrong"`
	Type  string `json:"error_type" doc:"kind of the error" enum:"Unhealthy,Backend,Overloaded,Validation"`
}

// Body implements [httpx.Errors].
func (textsShape) Body(e *llm.Error) (int, any) {
	status, kind := httpx.Status(e.Code), "Validation"
	switch {
	case e.Code == llm.Upstream, e.Code == llm.Unsupported && e.Param == "model": // which does not rank
		status, kind = http.StatusFailedDependency, "Backend"
	case e.Code == llm.TooLong:
		status = http.StatusRequestEntityTooLarge
	case e.Code == llm.Overloaded:
		kind = "Overloaded"
	case e.Code == llm.Unavailable:
		kind = "Unhealthy"
	case status == http.StatusBadRequest:
		status = http.StatusUnprocessableEntity
	case status >= http.StatusInternalServerError:
		kind = "Backend"
	}
	return status, textsError{openaiapi.Sentence(e), kind}
}

// InBand implements [httpx.Errors]. Answers with ranks are not streams.
func (textsShape) InBand(*llm.Error) []byte { return nil }

// pickedKeys tell requests at a shared route apart. A key that is null is absent.
type pickedKeys struct {
	Texts      *json.RawMessage `json:"texts"`
	Inputs     *json.RawMessage `json:"inputs"`
	Parameters *json.RawMessage `json:"parameters"`
}

// readPicked reads them. Without them, other JSON gets a better error from the table.
func readPicked(body []byte) pickedKeys {
	var keys pickedKeys
	if json.Unmarshal(body, &keys) != nil {
		return pickedKeys{}
	}
	return keys
}

// PickInputs distinguishes the clients of Text Embeddings Inference (1), whose requests have inputs, from
// others at the same path (0).
func PickInputs(_ http.Header, body []byte) (int, error) {
	if readPicked(body).Inputs != nil {
		return 1, nil
	}
	return 0, nil
}

// pickTexts distinguishes the clients of Text Embeddings Inference (1), whose requests have texts, from
// the others (0).
func pickTexts(_ http.Header, body []byte) (int, error) {
	if readPicked(body).Texts != nil {
		return 1, nil
	}
	return 0, nil
}
