package batches

import (
	"errors"
	"net/http"
	"time"

	"glossa/pkg/batch"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// noObject is the code of a file or a batch that the owner does not have.
const noObject llm.Code = "no_object"

// failed returns the error for the client; what names the object or the key that it is about.
func failed(err error, what string) error {
	switch {
	case errors.Is(err, batch.ErrNotFound):
		return &llm.Error{Code: noObject, Param: what, Message: "there is no such " + object(what)}
	case errors.Is(err, batch.ErrInvalid), errors.Is(err, batch.ErrInUse), errors.Is(err, batch.ErrFull):
		return llm.Errorf(llm.Invalid, "%v", err)
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return err
	}
	return &llm.Error{Code: llm.Unavailable, Message: "the files and batches of this server cannot be reached now: try again", RetryAfter: retryAfter, Err: err}
}

// retryAfter is when a client may try again after a fault of the store.
const retryAfter = 2 * time.Second

// object names what an error is about.
func object(what string) string {
	if what == "batch" || what == "upload" {
		return what
	}
	return "file"
}

// Errors gives errors the shape that OpenAI's clients read.
var Errors httpx.Errors = shape{}

type shape struct{}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	if e.Code != noObject {
		return openaiapi.Errors.Body(e)
	}
	fields := openaiapi.ErrorFields{Message: e.Message, Type: "invalid_request_error", Param: &e.Param}
	return http.StatusNotFound, openaiapi.ErrorBody{Error: fields}
}

// InBand implements [httpx.Errors].
func (shape) InBand(e *llm.Error) []byte { return openaiapi.Errors.InBand(e) }
