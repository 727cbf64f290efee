package runtimeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxGatewayBody is the largest request body that API Gateway accepts, in bytes.
const maxGatewayBody = 10 << 20

// An Invoker runs invocations: a [Function], or a set of functions.
type Invoker interface {
	Invoke(ctx context.Context, event []byte) (*Response, error)
}

// FunctionURL serves the function as a function URL, with invoke mode RESPONSE_STREAM if streaming
// is set, else BUFFERED.
func (f *Function) FunctionURL(streaming bool) http.Handler { return FunctionURL(f, streaming) }

// FunctionURL serves fn as a function URL.
func FunctionURL(fn Invoker, streaming bool) http.Handler {
	return front{
		fn:        fn,
		streaming: streaming,
		maxBody:   MaxPayload,
		event:     func(r *http.Request, body []byte) (any, error) { return urlEvent(r, body), nil },
		decode:    decodeV2,
		raw:       true,
		fail:      gatewayError,
	}
}

// HTTPAPI serves the function as an API Gateway HTTP API with the $default stage and payload format 2.0. It decodes
// paths, as AWS does. It does not simulate the integration timeout of 30 s.
func (f *Function) HTTPAPI() http.Handler {
	return front{
		fn:      f,
		maxBody: maxGatewayBody,
		event:   func(r *http.Request, body []byte) (any, error) { return httpEvent(r, body), nil },
		decode:  decodeV2,
		fail:    gatewayError,
	}
}

// RESTProxy serves the function as an API Gateway REST API with one proxy resource, deployed to a stage. Its
// paths begin with the name of the stage: /stage/path. If streaming is set, the integration's response transfer
// mode is STREAM.
func (f *Function) RESTProxy(streaming bool, stage string) http.Handler {
	return RESTAPI(f, REST{Stage: stage, Streaming: streaming})
}

// REST configures how an API Gateway REST API forwards requests. Its zero value has one proxy
// resource.
type REST struct {
	Stage     string
	Streaming bool // the integration's response transfer mode is STREAM
	// Resource returns the resource and the path variables of a path, which has no stage; nil: /{proxy+}.
	Resource func(path string) (resource string, variables map[string]string)
	// Binary reports whether bodies of a media type are base64 in events; nil: all but text.
	Binary func(mediaType string) bool
	// Fail answers in place of the API itself; nil: the API's own message, with the reason added.
	Fail func(w http.ResponseWriter, status int, message, reason string)
}

// RESTAPI serves fn as a REST API. It does not simulate the integration timeout.
func RESTAPI(fn Invoker, cfg REST) http.Handler {
	d := front{
		fn:        fn,
		streaming: cfg.Streaming,
		maxBody:   maxGatewayBody,
		event:     func(r *http.Request, body []byte) (any, error) { return cfg.event(r, body) },
		decode:    decodeV1,
		fail:      cfg.Fail,
	}
	if d.fail == nil {
		d.fail = gatewayError
	}
	return d
}

var errNotInStage = errors.New("the path is not below the stage")

// front converts HTTP requests to invocations, and their answers to HTTP.
type front struct {
	fn        Invoker
	streaming bool
	maxBody   int64
	event     func(r *http.Request, body []byte) (any, error)
	decode    func(payload []byte) (*answer, error)
	raw       bool // streams answers without a prelude unchanged, as a function URL does
	fail      func(w http.ResponseWriter, status int, message, reason string)
}

// ServeHTTP serves one request with one invocation.
func (d front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, d.maxBody+1))
	if err != nil {
		d.fail(w, http.StatusBadRequest, "Bad request", err.Error())
		return
	}
	if int64(len(body)) > d.maxBody {
		d.fail(w, http.StatusRequestEntityTooLarge, "Request Too Long",
			fmt.Sprintf("the body is over the limit of %d bytes", d.maxBody))
		return
	}
	e, err := d.event(r, body)
	if err != nil {
		d.fail(w, http.StatusForbidden, "Forbidden", err.Error())
		return
	}
	event, err := encodeEvent(e)
	if err != nil {
		d.fail(w, http.StatusInternalServerError, "Internal server error", err.Error())
		return
	}
	if len(event) > MaxPayload {
		d.fail(w, http.StatusRequestEntityTooLarge, "Request Too Long",
			fmt.Sprintf("the event has %d bytes, over Lambda's limit of %d", len(event), MaxPayload))
		return
	}
	resp, err := d.fn.Invoke(r.Context(), event)
	if err != nil {
		d.fail(w, http.StatusBadGateway, "Internal server error", err.Error())
		return
	}
	defer resp.Close()
	if d.streaming {
		d.stream(w, resp)
	} else {
		d.buffer(w, resp)
	}
}

// encodeEvent is json.Marshal without the escapes for HTML, which would make text bodies larger than they are on AWS.
func encodeEvent(e any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return b.Bytes(), err
}

// stream forwards the chunks as they arrive. A failure after the first chunk closes the connection; a gateway can do no
// more.
func (d front) stream(w http.ResponseWriter, resp *Response) {
	head := resp.Prelude
	switch {
	case head != nil:
		send(w, head.StatusCode, head.Header())
	case d.raw:
		send(w, http.StatusOK, http.Header{"Content-Type": {resp.ContentType}})
	default:
		d.fail(w, http.StatusBadGateway, "Internal server error",
			"the answer is no HTTP streaming response, but the integration streams")
		return
	}
	out := http.NewResponseController(w)
	err := out.Flush()
	for chunk, cerr := range resp.Chunks() {
		if err = errors.Join(err, cerr); err == nil {
			_, err = w.Write(chunk)
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			break
		}
	}
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		panic(http.ErrAbortHandler)
	}
}

// buffer decodes the whole answer and sends it at once.
func (d front) buffer(w http.ResponseWriter, resp *Response) {
	if resp.Prelude != nil {
		d.fail(w, http.StatusBadGateway, "Internal server error",
			"the answer is an HTTP streaming response, but this door is buffered")
		return
	}
	payload, err := io.ReadAll(resp)
	if err != nil {
		d.fail(w, http.StatusBadGateway, "Internal server error", err.Error())
		return
	}
	a, err := d.decode(payload)
	if err != nil {
		d.fail(w, http.StatusBadGateway, "Internal server error", "malformed proxy answer: "+err.Error())
		return
	}
	send(w, a.status, a.header)
	_, _ = w.Write(a.body) // a client that is gone receives no answer
}

// send writes status and headers; the framing is the front's own.
func send(w http.ResponseWriter, status int, header http.Header) {
	for k, v := range header {
		if k != "Content-Length" && k != "Transfer-Encoding" && k != "Connection" {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(status)
}

// gatewayError answers as API Gateway does, with the reason added for local users.
func gatewayError(w http.ResponseWriter, status int, message, reason string) {
	kind := strings.ReplaceAll(http.StatusText(status), " ", "") + "Exception"
	w.Header().Set("X-Amzn-Errortype", kind)
	writeJSON(w, status, map[string]string{"message": message, "reason": reason})
}
