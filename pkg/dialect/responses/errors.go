package responses

import (
	"errors"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// Codes of errors about stored responses. They are the same for what never existed, was
// deleted, has expired, or belongs to another owner.
const (
	noResponse llm.Code = "response_not_found"
	noItem     llm.Code = "item_not_found"
	noPrevious llm.Code = "previous_response_not_found"
)

// sent is the cause of an error that an event of the stream already told.
type sent struct{ cause error }

func (s sent) Error() string {
	if s.cause == nil {
		return "sent as response.failed"
	}
	return s.cause.Error()
}

func (s sent) Unwrap() error { return s.cause }

// Errors gives errors the shape that OpenAI's clients read. In a stream the event
// response.failed tells them; other errors, as of a handler that panics, are an event error.
var Errors httpx.Errors = shape{}

type shape struct{}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	status := http.StatusNotFound
	switch e.Code {
	case noPrevious:
		status = http.StatusBadRequest
	case noResponse, noItem:
	default:
		return openaiapi.Errors.Body(e)
	}
	fields := openaiapi.ErrorFields{Message: e.Message, Type: "invalid_request_error", Code: new(string(e.Code))}
	if e.Param != "" {
		fields.Param = &e.Param
	}
	return status, openaiapi.ErrorBody{Error: fields}
}

// errorEvent is the event of an error.
type errorEvent struct {
	Type    string  `json:"type"`
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
}

// InBand implements [httpx.Errors].
func (s shape) InBand(e *llm.Error) []byte {
	if _, ok := errors.AsType[sent](e.Err); ok {
		return nil
	}
	_, body := s.Body(e)
	fields := body.(openaiapi.ErrorBody).Error
	frame, _ := httpx.SSE.Named("error").Frame(errorEvent{"error", fields.Code, fields.Message, fields.Param}) // strings cannot fail
	return frame
}
