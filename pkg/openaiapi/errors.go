package openaiapi

import (
	"cmp"
	"fmt"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Errors gives errors the shape that OpenAI's clients read. They recognise the error of a
// stream by its first key, error.
var Errors httpx.Errors = shape{}

type shape struct{}

// ErrorBody is the body of an answer that is an error.
type ErrorBody struct {
	Error ErrorFields `json:"error"`
}

// ErrorFields describes an error.
type ErrorFields struct {
	Message string  `json:"message" doc:"what went wrong"`
	Type    string  `json:"type" doc:"kind of the error"`
	Param   *string `json:"param" doc:"the key of the request that caused the error"`
	Code    *string `json:"code" doc:"a machine-readable code"`
}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	kind, code := typeAndCode(e)
	fields := ErrorFields{Message: Sentence(e), Type: kind}
	if e.Param != "" {
		fields.Param = &e.Param
	}
	if code != "" {
		fields.Code = &code
	}
	return httpx.Status(e.Code), ErrorBody{fields}
}

// InBand implements [httpx.Errors].
func (s shape) InBand(e *llm.Error) []byte {
	_, body := s.Body(e)
	frame, _ := httpx.SSE.Frame(body) // strings cannot fail
	return frame
}

// typeAndCode returns OpenAI's type and code of an error; some errors have no code.
func typeAndCode(e *llm.Error) (kind, code string) {
	const invalid, server = "invalid_request_error", "server_error"
	switch e.Code {
	case llm.Invalid:
		if e.Param == "" {
			return invalid, ""
		}
		return invalid, "invalid_value"
	case wire.UnknownParam:
		return invalid, "unknown_parameter"
	case llm.Unsupported:
		return invalid, "unsupported_parameter"
	case llm.TooLong:
		return invalid, "context_length_exceeded"
	case llm.NotFound:
		return invalid, "model_not_found"
	case llm.Unauthenticated:
		return invalid, "invalid_api_key"
	case llm.Forbidden:
		return invalid, "insufficient_permissions"
	case llm.Overloaded:
		return "requests", "rate_limit_exceeded"
	case llm.Timeout:
		return server, "timeout"
	case llm.Upstream:
		return server, "upstream_error"
	case llm.Unavailable:
		return server, "unavailable"
	case httpx.NoRoute:
		return invalid, "unknown_url"
	case httpx.NoMethod:
		return invalid, "method_not_supported"
	case httpx.TooLarge:
		return invalid, "request_too_large"
	case httpx.Gone:
		return invalid, "client_closed_request"
	}
	return server, ""
}

// Sentence returns the message, with the parameter: many clients show the message only.
// Some, as litellm, recognise a wrong key and a full context by OpenAI's exact words.
func Sentence(e *llm.Error) string {
	switch {
	case e.Code == llm.TooLong:
		return tooLong(e)
	case e.Code == llm.Unauthenticated:
		return "Incorrect API key provided: " + e.Message
	case e.Param == "" || e.Code == llm.NotFound:
		return e.Message
	case e.Code == wire.UnknownParam:
		return "Unrecognized request argument supplied: " + e.Param
	case e.Code == llm.Unsupported:
		return "Unsupported parameter '" + e.Param + "': " + e.Message
	}
	return "Invalid value for '" + e.Param + "': " + e.Message
}

// tooLong is OpenAI's sentence for a prompt that does not fit the context.
func tooLong(e *llm.Error) string {
	const limit = "This model's maximum context length is "
	if e.Length == nil {
		return limit + "exceeded: " + e.Message
	}
	least, prompt := "", cmp.Or(e.Param, "prompt")
	if e.Length.AtLeast {
		least = "at least "
	}
	return fmt.Sprintf(limit+"%d tokens. However, your %s resulted in %s%d tokens. Please reduce the length of the %s.",
		e.Length.Limit, prompt, least, e.Length.Got, prompt)
}
