package runtimeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// FunctionError is an invocation that failed inside the function or with its process.
type FunctionError struct {
	Type    string          `json:"errorType"`
	Message string          `json:"errorMessage"`
	Payload json.RawMessage `json:"-"` // the function's report, if it sent one
}

// Error returns type and message.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("runtimeapi: function error %s: %s", e.Type, e.Message)
}

const (
	trailerErrorType = "Lambda-Runtime-Function-Error-Type"
	trailerErrorBody = "Lambda-Runtime-Function-Error-Body"
)

// reported decodes an error that a function has posted.
func reported(kind string, payload []byte) *FunctionError {
	e := new(FunctionError)
	if err := json.Unmarshal(payload, e); err != nil || e.Type == "" {
		e.Type = kind
	}
	if e.Type == "" {
		e.Type = "Runtime.Unknown"
	}
	if json.Valid(payload) {
		e.Payload = payload
	}
	return e
}

// trailed decodes the error trailers of a streamed answer; nil if there are none.
func trailed(trailer http.Header) error {
	kind := trailer.Get(trailerErrorType)
	if kind == "" {
		return nil
	}
	payload, err := base64.StdEncoding.DecodeString(trailer.Get(trailerErrorBody))
	if err != nil {
		return &FunctionError{Type: kind, Message: fmt.Sprintf("its error body is not base64: %v", err)}
	}
	return reported(kind, payload)
}

func timedOut(id string, after time.Duration) *FunctionError {
	return &FunctionError{
		Type:    "Sandbox.Timedout",
		Message: fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", id, after.Seconds()),
	}
}
