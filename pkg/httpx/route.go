// Package httpx is the HTTP layer that all dialects share: the route table, handlers
// that return errors, body limits, streams, request ids and panic recovery. It knows
// llm's errors, and nothing of wire formats, models or accounts.
//
// Start with [Mux]: its handler serves the routes of dialects and your own.
package httpx

import (
	"net/http"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A Permission is what a caller needs for a route; accounts map roles to them.
type Permission string

// The permissions, from none to all.
const (
	Public    Permission = "public"    // no credentials are required
	Listing   Permission = "listing"   // models and their metadata
	Metrics   Permission = "metrics"   // usage and measurements
	Inference Permission = "inference" // running a model
	Upload    Permission = "upload"    // publishing and deleting checkpoints
)

// A Route is one row of the route table: it is mounted, guarded and deployed.
type Route struct {
	Method     string
	Pattern    string // a path in the syntax of [http.ServeMux]; {name...} may also stand before the end
	Permission Permission
	Dialect    string // the dialect that owns the route, for metrics; "": none
	Streams    bool   // answers may be streams
	MaxBody    int64  // bytes after decompression; 0 means [DefaultMaxBody]
	Handle     Handler
	Errors     Errors
	Doc        *Operation // nil: the route is not documented
	Shares     []Route    // the routes combined by [Shared], which answer this route's requests

	errorsOf func(http.Header) Errors // if set, replaces Errors until the body was read
	metrics  bool                     // its path also has a route with the permission Metrics
}

// private reports whether the route is closed to pages of other origins.
func (route *Route) private() bool { return route.metrics || route.Permission == Metrics }

// shape returns the error shape for a request.
func (route *Route) shape(header http.Header) Errors {
	switch {
	case route.errorsOf != nil:
		return route.errorsOf(header)
	case route.Errors != nil:
		return route.Errors
	}
	return plainErrors{}
}

// ErrorBody returns the status and the JSON body of the answer to e.
func (route *Route) ErrorBody(e *llm.Error) (status int, body any) {
	return route.shape(http.Header{}).Body(e)
}

// DefaultMaxBody is API Gateway's limit for a request body, in bytes.
const DefaultMaxBody = 10 << 20

// A Handler answers a request or returns an error. An error after the first byte
// becomes the last event of the stream.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Errors gives errors the shape that the clients of a dialect expect.
type Errors interface {
	// Body returns the status and the JSON body of an error's answer.
	Body(e *llm.Error) (status int, body any)
	// InBand returns the bytes that end a stream with the error e.
	InBand(e *llm.Error) []byte
}

// IDHeader is implemented by [Errors] whose clients look for the id of a request in a header of
// its own, besides X-Request-Id.
type IDHeader interface{ RequestIDHeader() string }

// Identified is implemented by bodies of errors that tell the id of the request.
type Identified interface{ SetRequestID(id string) }

type plainError struct {
	Error string `json:"error" doc:"what went wrong"`
}

// plainErrors is the default error shape.
type plainErrors struct{}

func (plainErrors) Body(e *llm.Error) (int, any) {
	message := e.Message
	if e.Param != "" {
		message = e.Param + ": " + message
	}
	return Status(e.Code), plainError{message}
}

func (plainErrors) InBand(*llm.Error) []byte { return nil }

// Codes of errors that occur in HTTP only.
const (
	NoRoute  llm.Code = "no_route"
	NoMethod llm.Code = "no_method"
	TooLarge llm.Code = "too_large"
	Gone     llm.Code = "gone" // the client disconnected before the end
)

// statusGone is the status that nginx logs for a client that left. It is never sent.
const statusGone = 499

// Status returns the HTTP status of an error code, unless a dialect has its own.
func Status(code llm.Code) int {
	switch code {
	case llm.Invalid, llm.TooLong, llm.Unsupported, wire.UnknownParam:
		return http.StatusBadRequest
	case llm.Unauthenticated:
		return http.StatusUnauthorized
	case llm.Forbidden:
		return http.StatusForbidden
	case llm.NotFound, NoRoute:
		return http.StatusNotFound
	case NoMethod:
		return http.StatusMethodNotAllowed
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Gone:
		return statusGone
	case llm.Overloaded:
		return http.StatusTooManyRequests
	case llm.Upstream:
		return http.StatusBadGateway
	case llm.Full:
		return http.StatusInsufficientStorage
	case llm.Timeout:
		return http.StatusGatewayTimeout
	case llm.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
