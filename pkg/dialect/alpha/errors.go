package alpha

import (
	"errors"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Errors gives errors Alpha's shape, {"error": message}; in a stream it is an event.
var Errors httpx.Errors = shape{}

type shape struct{}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	return httpx.Status(e.Code), errorBody{sentence(e)}
}

// InBand implements [httpx.Errors].
func (shape) InBand(e *llm.Error) []byte {
	frame, _ := httpx.SSE.Frame(errorBody{sentence(e)}) // strings cannot fail
	return frame
}

// textShape is for streams of plain text, which have no events. The error is the last line,
// so that an interrupted text does not look complete.
type textShape struct{ shape }

// InBand implements [httpx.Errors].
func (textShape) InBand(e *llm.Error) []byte {
	return []byte("\n[error: " + sentence(e) + "]\n")
}

type errorBody struct {
	Error string `json:"error" doc:"what went wrong"`
}

func sentence(e *llm.Error) string {
	switch {
	case e.Code == llm.Unauthenticated:
		return "Unauthorized"
	case e.Param != "":
		return e.Param + ": " + e.Message
	}
	return e.Message
}

// The sentences of Alpha's server.
const (
	unknownModel      = "Unknown model"
	modelNotFound     = "Model not found"
	emptyPrompt       = "Empty prompt"
	missingName       = "Missing ?name= parameter"
	missingFields     = "Missing required fields: name, config, checkpoint, step"
	missingChunk      = "Missing X-Upload-Id, X-Chunk-Index or X-Total-Chunks headers"
	missingAssembly   = "Missing required fields: uploadId, name, step, totalChunks, config"
	missingHeaders    = "Missing X-Checkpoint-Name or X-Checkpoint-Step headers"
	invalidCheckpoint = "Invalid checkpoint: missing modelConfig or params"
)

func invalidBody(message string) error { return &llm.Error{Code: llm.Invalid, Message: message} }

// notFoundAsInvalid gives a deleted model the status of an unknown one, 400.
func notFoundAsInvalid(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Code != llm.NotFound {
		return err
	}
	invalid := *e
	invalid.Code, invalid.Param = llm.Invalid, ""
	return &invalid
}
