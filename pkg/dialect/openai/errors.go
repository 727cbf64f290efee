package openai

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Errors gives errors the shape that OpenAI's clients read. They know a stream's
// error by its first key, which is error.
var Errors httpx.Errors = shape{}

type shape struct{}

// errorBody is the body of an answer that is an error.
type errorBody struct {
	Error errorFields `json:"error"`
}

type errorFields struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	kind, code := words(e)
	fields := errorFields{Message: sentence(e), Type: kind}
	if e.Param != "" {
		fields.Param = &e.Param
	}
	if code != "" {
		fields.Code = &code
	}
	return httpx.Status(e.Code), errorBody{fields}
}

// InBand implements [httpx.Errors].
func (s shape) InBand(e *llm.Error) []byte {
	_, body := s.Body(e)
	frame, _ := httpx.SSE.Frame(body) // strings cannot fail
	return frame
}

// words are OpenAI's type and code of an error; some errors have no code there.
func words(e *llm.Error) (kind, code string) {
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

// sentence names the parameter too: many clients show nothing but the message. Some of them,
// as litellm, tell a bad key and a full context from other faults by OpenAI's very words.
func sentence(e *llm.Error) string {
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

// rename puts the client's names into an error from a backend, which has the
// canonical ones: prompt is the client's for the prompt, limit that for max_new_tokens.
func rename(err error, prompt, limit string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	renamed := *e
	switch {
	case e.Param == "max_new_tokens":
		renamed.Param = limit
	case e.Param == "return_full_text":
		renamed.Param = "echo"
	case e.Param == "prompt" || e.Code == llm.TooLong:
		renamed.Param = prompt
	default:
		return err
	}
	return &renamed
}

// rename is [rename] for a chat, whose limit has three names, and whose answers can be
// held to a form.
func (c *chatRequest) rename(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		if name := c.formName(e.Param); name != "" {
			renamed := *e
			renamed.Param = name
			return &renamed
		}
	}
	limit := "max_tokens"
	for _, sent := range c.limits() {
		if sent.v != nil {
			limit = sent.name
			break
		}
	}
	return rename(err, "messages", limit)
}

// formName returns the client's name of a canonical one, if it is that of a form. Of
// tools[1].parameters the index is among those that were offered.
func (c *chatRequest) formName(param string) string {
	switch param {
	case "schema":
		return "response_format"
	case "must_call":
		return "tool_choice"
	case "one_call":
		return "parallel_tool_calls"
	}
	rest, ok := strings.CutPrefix(param, "tools")
	if !ok {
		return ""
	}
	index, key, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	offered, _, _ := c.offered() // it was right before
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(offered) {
		if key != "" {
			key = ".function" + key
		}
		return fmt.Sprintf("tools[%d]%s", offered[i], key)
	}
	return "tools"
}
