// Package host runs an http.Handler under AWS Lambda, behind an API Gateway REST API, an HTTP API or a function URL,
// buffered or streamed, and under plain net/http.
//
// It refuses to know what the handler serves, reads no environment and writes no logs: errors are returned, answered
// or passed to Config.Panicked.
//
// Sources: the Lambda Runtime API and the API Gateway proxy formats 1.0 and 2.0 as aws-lambda-go models them, and the
// event conversions of aws-lambda-go-api-proxy/core, with the corrections named in request.go and buffered.go.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// RequestIDHeader is set to the invocation's request id on every request that comes from Lambda. A value from the client
// is overwritten.
const RequestIDHeader = "X-Amzn-Request-Id"

// TraceHeader is set to the invocation's trace on every request that comes from Lambda, with the invocation as parent. A
// value from the client or the gateway is overwritten.
const TraceHeader = "X-Amzn-Trace-Id"

const (
	defaultMargin      = 500 * time.Millisecond
	defaultLambdaGrace = 300 * time.Millisecond // Lambda kills about 500 ms after SIGTERM
	defaultServeGrace  = 10 * time.Second
	defaultBodyTimeout = 5 * time.Minute
	defaultStall       = time.Minute
	defaultConnections = 4096
)

// Config configures how a handler is run. The zero value works: buffered answers, which is AWS's default.
type Config struct {
	// StreamREST is set if the REST API's integration has response transfer mode STREAM. It cannot be read from the event.
	StreamREST bool
	// StreamURL is set if the function URL has invoke mode RESPONSE_STREAM. It cannot be read from the event.
	// HTTP APIs cannot stream and are always buffered.
	StreamURL bool
	// BasePath is the base path mapping of a custom domain, such as "/llm"; it is removed from each request's
	// path. Stage prefixes of the default domain are always removed.
	BasePath string
	// Margin is the time between the deadline of the request's context and that of the invocation, at most half of what
	// is left when the request comes in. 0 means 500 ms.
	Margin time.Duration
	// Grace is the time that running requests have to end after a stop signal. 0 means 300 ms under Lambda, 10 s in
	// Serve.
	Grace time.Duration
	// BodyTimeout is the longest time for receiving a request with its body under Serve. 0 means 5 min.
	BodyTimeout time.Duration
	// Stall is the longest time that a client may take for the next 64 KiB of an answer under Serve, and the longest
	// delay that it may accumulate behind a rate of 1 KiB/s over the whole answer, before its connection is closed. 0
	// means 1 min.
	Stall time.Duration
	// Connections is the largest number of simultaneous connections under Serve. 0 means 4096.
	Connections int
	// Sender returns the sender of a connection from a remote address: no sender has more of Connections than it
	// leaves to others. nil: each address is a sender.
	Sender func(remote string) string
	// Event handles the events that are no HTTP requests, such as those of a schedule. It reports false for one that
	// it does not know. nil: there are none. Callers of the API and of function URLs cannot send such events.
	Event func(ctx context.Context, payload []byte) (known bool)
	// Panicked is called with each panic of the handler that nothing inside it recovered, with the stack. It may be
	// nil.
	Panicked func(r *http.Request, value any, stack []byte)
	// Shutdown runs under Lambda after SIGTERM, once running requests have ended or Grace has passed. It may be
	// nil.
	Shutdown func()
}

// Adapter answers Lambda invocations with an http.Handler. It is safe for concurrent use.
type Adapter struct {
	handler http.Handler
	cfg     Config
	running tracker
}

// New returns an adapter for h.
func New(h http.Handler, cfg Config) *Adapter {
	return &Adapter{handler: h, cfg: cfg}
}

// Invoke answers one event. The error is an *EventError if the event is not an HTTP request of a known shape. The
// Response must be closed; closing it early fails the handler's writes, cancels its context and waits for it.
func (a *Adapter) Invoke(ctx context.Context, payload json.RawMessage) (*Response, error) {
	e, err := parseEvent(payload)
	if err != nil {
		return a.other(ctx, payload, err)
	}
	ctx, cancel := a.withDeadline(ctx)
	if e.kind != kindURL {
		ctx = context.WithValue(ctx, gatewayKey{}, true)
	}
	r, err := e.request(ctx, a.cfg.BasePath)
	if err != nil {
		cancel()
		return nil, err
	}
	a.running.add()
	finish := func() { cancel(); a.running.done() }
	if a.streams(e) {
		return a.stream(e, r, finish), nil
	}
	return a.buffer(e, r, finish)
}

// other handles an event that is no HTTP request.
func (a *Adapter) other(ctx context.Context, payload []byte, unknown error) (*Response, error) {
	if a.cfg.Event == nil {
		return nil, unknown
	}
	a.running.add()
	defer a.running.done()
	if !a.cfg.Event(ctx, payload) {
		return nil, unknown
	}
	return &Response{Reader: strings.NewReader("null"), contentType: "application/json", close: func() {}}, nil
}

// streams reports whether e gets a streaming response.
func (a *Adapter) streams(e *event) bool {
	switch e.kind {
	case kindREST:
		return a.cfg.StreamREST
	case kindURL:
		return a.cfg.StreamURL
	default:
		return false
	}
}

// withDeadline sets the deadline to the invocation's deadline less the margin, so that a partial answer can
// still be delivered.
func (a *Adapter) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	margin := min(max(cmp.Or(a.cfg.Margin, defaultMargin), 0), max(time.Until(end)/2, 0))
	return context.WithDeadline(ctx, end.Add(-margin))
}

// gatewayKey is the context key that marks requests from API Gateway.
type gatewayKey struct{}

// BehindGateway reports whether the request that ctx belongs to came through API Gateway, whose other routes may
// belong to other functions. At a function URL and outside Lambda this process serves all routes.
func BehindGateway(ctx context.Context) bool {
	behind, _ := ctx.Value(gatewayKey{}).(bool)
	return behind
}

// RequestID returns the request id of the Lambda invocation that ctx belongs to, or "" outside Lambda.
func RequestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

// FunctionARN returns the ARN by which the Lambda invocation that ctx belongs to called its function, with the alias
// or version, or "" outside Lambda.
func FunctionARN(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.InvokedFunctionArn
	}
	return ""
}
