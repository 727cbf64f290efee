package invoke

import (
	"fmt"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Errors gives errors the shapes of API layer's server. Errors of a request or a model have
// status 200, because clients check the body. Errors of permissions, overload and the server
// itself have their own statuses.
var Errors httpx.Errors = shape{}

type shape struct{}

// Codes of errors that only this protocol has.
const (
	missing   llm.Code = "missing_parameter" // Param is the key
	malformed llm.Code = "malformed_body"    // not a JSON object
)

// failure is an error in the body; clients read the key error. It omits the stack trace of
// API layer's server.
type failure struct {
	Error      string  `json:"error" doc:"what went wrong"`
	Stacktrace *string `json:"stacktrace,omitempty" doc:"empty: a stack trace would help attackers"`
}

// invalidBody is FastAPI's answer to a body that is not an object.
type invalidBody struct {
	Detail []fault `json:"detail" doc:"one entry for each wrong field"`
}

type fault struct {
	Loc  []string `json:"loc" doc:"path of the field in the body"`
	Msg  string   `json:"msg" doc:"what is wrong with it"`
	Type string   `json:"type" doc:"kind of the error"`
}

// detail is FastAPI's answer to an unknown path or method.
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
		return http.StatusNotFound, detail{e.Message}
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
