package alephalpha

import (
	"net/http"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Errors gives errors the protocol's shape, {"error": sentence, "code": word}. In a stream
// an error is an event like the others.
var Errors httpx.Errors = shape{}

type shape struct{}

// errorBody has no code for unknown paths, because clients compare the whole body.
type errorBody struct {
	Error string `json:"error" doc:"what went wrong"`
	Code  string `json:"code,omitempty" doc:"a machine-readable code"`
}

// Body implements [httpx.Errors]. A timeout is 408, for which the client of version 1.0.0
// raises a TimeoutError.
func (shape) Body(e *llm.Error) (int, any) {
	status := httpx.Status(e.Code)
	if e.Code == llm.Timeout {
		status = http.StatusRequestTimeout
	}
	return status, newError(e)
}

// InBand implements [httpx.Errors].
func (shape) InBand(e *llm.Error) []byte {
	frame, _ := httpx.SSE.Frame(newError(e)) // strings cannot fail
	return frame
}

func newError(e *llm.Error) errorBody {
	body := errorBody{Error: e.Message, Code: strings.ToUpper(string(e.Code))}
	if e.Param != "" && e.Code != llm.NotFound {
		body.Error = e.Param + ": " + e.Message
	}
	switch e.Code {
	case llm.Unsupported:
		body.Code = "MISSING_CAPABILITY" // the only code that the service is known to use
	case httpx.NoRoute:
		body.Code = ""
	}
	return body
}
