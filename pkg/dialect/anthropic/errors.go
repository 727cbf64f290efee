package anthropic

import (
	"fmt"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Errors gives errors the shape that Anthropic's clients read.
var Errors httpx.Errors = shape{}

type shape struct{}

// errorBody is the body of an answer that is an error.
type errorBody struct {
	Type      string      `json:"type" doc:"always error" enum:"error"`
	Error     errorFields `json:"error"`
	RequestID string      `json:"request_id,omitempty" doc:"also in the header request-id"`
}

// errorFields describes an error.
type errorFields struct {
	Type    string `json:"type" doc:"kind of the error"`
	Message string `json:"message" doc:"what went wrong"`

	Details *errorDetails `json:"details,omitempty" doc:"present if the request has thread"`
}

// errorDetails tells SDKs what to do about an error. Their loops of tools ask for a thread in each
// first request, and go on without one if the details have this code.
type errorDetails struct {
	Code string `json:"error_code" doc:"always thread_unsupported_request" enum:"thread_unsupported_request"`
}

// threadKey is the key for a conversation that the server stores.
const threadKey = "thread"

func detailsOf(e *llm.Error) *errorDetails {
	if e.Param != threadKey {
		return nil
	}
	return &errorDetails{"thread_unsupported_request"}
}

// SetRequestID implements [httpx.Identified].
func (b *errorBody) SetRequestID(id string) { b.RequestID = id }

// RequestIDHeader implements [httpx.IDHeader].
func (shape) RequestIDHeader() string { return "Request-Id" }

// Claims implements [httpx.Claimant].
func (shape) Claims(header http.Header) bool { return Ours(header) }

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	status := httpx.Status(e.Code)
	if e.Code == llm.Unavailable {
		status = statusOverloaded
	}
	return status, &errorBody{Type: "error", Error: errorFields{typeOf(e.Code, status), sentence(e), detailsOf(e)}}
}

// statusOverloaded is Anthropic's status of a server that is overloaded for all clients.
const statusOverloaded = 529

// typeOf returns Anthropic's type of an error.
func typeOf(code llm.Code, status int) string {
	switch {
	case code == httpx.TooLarge:
		return "request_too_large"
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusNotFound:
		return "not_found_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusGatewayTimeout:
		return "timeout_error"
	case status == statusOverloaded:
		return "overloaded_error"
	case status >= http.StatusInternalServerError:
		return "api_error"
	}
	return "invalid_request_error"
}

// sentence returns the message, with the key at fault before it, as Anthropic writes it.
func sentence(e *llm.Error) string {
	switch {
	case e.Code == llm.TooLong && e.Length != nil:
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", e.Length.Got, e.Length.Limit)
	case e.Code == wire.UnknownParam:
		return e.Param + ": Extra inputs are not permitted"
	case e.Param == "" || e.Code == llm.NotFound:
		return e.Message
	}
	return e.Param + ": " + e.Message
}

// InBand implements [httpx.Errors].
func (s shape) InBand(e *llm.Error) []byte {
	_, body := s.Body(e)
	fields := body.(*errorBody).Error
	frame, _ := httpx.SSE.Named("error").Frame(event{Type: "error", Error: &fields}) // strings cannot fail
	return frame
}
