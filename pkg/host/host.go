// Package host runs an http.Handler under AWS Lambda, behind an API Gateway REST API, an HTTP API or a function URL,
// buffered or streamed, and under plain net/http.
//
// It refuses to know what the handler serves, reads no environment and writes no logs: what goes wrong is returned,
// answered or given to Config.Panicked.
//
// Sources: the Lambda Runtime API and the API Gateway proxy formats 1.0 and 2.0 as aws-lambda-go models them, and the
// event conversions of aws-lambda-go-api-proxy/core, with the corrections named in request.go and buffered.go.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// RequestIDHeader is set on every request that comes from Lambda to the invocation's request id, whatever the client sent.
const RequestIDHeader = "X-Amzn-Request-Id"

// TraceHeader is set on requests that come from Lambda to the invocation's trace, whatever the client or the gateway sent:
// it names the invocation as the parent.
const TraceHeader = "X-Amzn-Trace-Id"

const (
	defaultMargin      = 500 * time.Millisecond
	defaultLambdaGrace = 300 * time.Millisecond // Lambda kills about 500 ms after SIGTERM
	defaultServeGrace  = 10 * time.Second
	defaultBodyTimeout = 5 * time.Minute
	defaultStall       = time.Minute
	defaultConnections = 4096
)

// Config says how a handler is run. The zero value works: buffered answers, as AWS has it unless told otherwise.
type Config struct {
	// StreamREST says that the REST API's integration has response transfer mode STREAM. It cannot be read from the event.
	StreamREST bool
	// StreamURL says that the function URL has invoke mode RESPONSE_STREAM. It cannot be read from the event.
	// HTTP APIs cannot stream and are always buffered.
	StreamURL bool
	// BasePath is the base path mapping of a custom domain, such as "/llm"; it is taken off each request's path.
	// Stage prefixes of the default domain are taken off without it.
	BasePath string
	// Margin is the time between the deadline of the request's context and that of the invocation, at most half of what
	// is left when the request comes in. 0 means 500 ms.
	Margin time.Duration
	// Grace is how long running requests may take to end after a stop signal. 0 means 300 ms under Lambda, 10 s in Serve.
	Grace time.Duration
	// BodyTimeout is how long a request, its body included, may take to come in under Serve. 0 means 5 min.
	BodyTimeout time.Duration
	// Stall is how long a client may take for the next 64 KiB of an answer under Serve, and how far it may fall behind a
	// kilobyte a second over all of it, before its connection is closed. 0 means 1 min.
	Stall time.Duration
	// Connections is how many connections there may be at once under Serve. 0 means 4096.
	Connections int
	// Sender names whose a connection from a remote address is: no sender has more of Connections than it leaves to
	// others. nil means that each address is a sender.
	Sender func(remote string) string
	// Panicked is told of each panic of the handler that nothing inside it recovered, with the stack. It may be nil.
	Panicked func(r *http.Request, value any, stack []byte)
	// Shutdown runs under Lambda after SIGTERM, once running requests have ended or Grace is over. It may be nil.
	Shutdown func()
}

// Adapter answers Lambda invocations with an http.Handler. It may be used by several goroutines at once.
type Adapter struct {
	handler http.Handler
	cfg     Config
	running tracker
}

// New returns an adapter for h.
func New(h http.Handler, cfg Config) *Adapter {
	return &Adapter{handler: h, cfg: cfg}
}

// Invoke answers one event. The error is an *EventError when the event is not an HTTP request that this package knows.
// The Response must be closed; closing it early fails the handler's writes, cancels its context and waits for it.
func (a *Adapter) Invoke(ctx context.Context, payload json.RawMessage) (*Response, error) {
	e, err := parseEvent(payload)
	if err != nil {
		return nil, err
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

// streams reports whether e is to be answered with a streaming response.
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

// withDeadline takes the margin off the invocation's deadline, so that a partial answer can still be delivered.
func (a *Adapter) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	margin := min(max(cmp.Or(a.cfg.Margin, defaultMargin), 0), max(time.Until(end)/2, 0))
	return context.WithDeadline(ctx, end.Add(-margin))
}

// gatewayKey is where a request's context has that it came through an API.
type gatewayKey struct{}

// BehindGateway tells whether the request that ctx belongs to came through an API of API Gateway, whose other routes
// other functions may serve. At a function URL and outside Lambda this process serves all there is.
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
