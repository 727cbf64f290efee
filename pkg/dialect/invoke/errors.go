package invoke

import (
	"fmt"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Errors gives errors the shapes of seed 003's server. What is wrong with a request or
// a model is told with status 200, as clients look into the body; who may not, what is
// too much and what is our fault have statuses of their own.
var Errors httpx.Errors = shape{}

type shape struct{}

// Codes of errors that only this protocol has.
const (
	missing   llm.Code = "missing_parameter" // Param is the key
	malformed llm.Code = "malformed_body"    // no JSON object
)

// failure is what clients read the key error of. There is no stack trace of ours.
type failure struct {
	Error      string  `json:"error"`
	Stacktrace *string `json:"stacktrace,omitempty"`
}

// invalidBody is FastAPI's word on a body that is no object.
type invalidBody struct {
	Detail []fault `json:"detail"`
}

type fault struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

// detail is FastAPI's word on a path or a method that is not there.
type detail struct {
	Detail string `json:"detail"`
}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	switch e.Code {
	case missing:
		return http.StatusOK, failure{Error: fmt.Sprintf("Request must contain [%s] parameter.", e.Param)}
	case malformed:
		return http.StatusUnprocessableEntity, invalidBody{[]fault{{[]string{"body"}, e.Message, "value_error"}}}
	case httpx.NoRoute:
		return http.StatusNotFound, detail{"Not Found"}
	case httpx.NoMethod:
		return http.StatusMethodNotAllowed, detail{"Method Not Allowed"}
	case llm.Unauthenticated, llm.Forbidden, llm.Overloaded, llm.Internal, llm.Unavailable, httpx.TooLarge, httpx.Gone:
		return httpx.Status(e.Code), failed(e)
	}
	return http.StatusOK, failed(e)
}

// InBand implements [httpx.Errors]: the last line of a stream.
func (shape) InBand(e *llm.Error) []byte {
	line, err := httpx.NDJSON.Frame(failed(e))
	if err != nil {
		return nil
	}
	return line
}

func failed(e *llm.Error) failure {
	text := e.Message
	if e.Param != "" {
		text = e.Param + ": " + text
	}
	return failure{"An error occurred: " + text, new("")}
}
