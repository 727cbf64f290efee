// Package runtimeapi is a local Lambda: it runs a real bootstrap binary against its own Runtime API, for tests and local
// runs. Streamed answers are shown chunk by chunk as they leave the function, with their error trailers; a function that
// crashes or runs out of time is started again, as Lambda does. FunctionURL, RESTProxy and HTTPAPI serve it over HTTP.
//
// It refuses to know what the function does, isolates nothing and reads no environment: the function sees Lambda's
// variables and Options.Env only. One execution environment runs at a time; invocations beyond Concurrency queue.
//
// Sources: the Lambda Runtime API 2018-06-01 and Extensions API 2020-01-01 as documented, and the requests that
// aws-lambda-go sends.
package runtimeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// MaxPayload is the largest size of an event and of a buffered answer, in bytes: Lambda's limit for synchronous
// invocations.
const MaxPayload = 6 << 20

// ErrClosed is returned by Invoke once the function is closed.
var ErrClosed = errors.New("runtimeapi: the function is closed")

const maxAttempts = 3 // process starts that one invocation waits for while the function exits before accepting it

// Options configures the function and its environment. Binary is required.
type Options struct {
	Binary        string        // path of the bootstrap
	Args          []string      // arguments; Lambda itself passes none
	Dir           string        // working directory; "": the caller's
	Env           []string      // KEY=value pairs in addition to Lambda's own, which they may replace
	Name          string        // function name; "": "local"
	ARN           string        // by which it is invoked; "": one of Name
	Timeout       time.Duration // of one invocation; 0 is Lambda's default of 3 s
	InitTimeout   time.Duration // from process start to the first /next; 0 is Lambda's 10 s
	StopGrace     time.Duration // between SIGTERM and SIGKILL; 0 is 500 ms
	MemoryMB      int           // reported to the function, not enforced; 0 is 128
	Concurrency   int           // invocations at once, reported as AWS_LAMBDA_MAX_CONCURRENCY when above 1; 0 is 1
	Stdout        io.Writer     // nil discards the output
	Stderr        io.Writer     // nil discards the output
	ResponseLimit int           // largest buffered answer in bytes; 0 is MaxPayload
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "local")
	o.ARN = cmp.Or(o.ARN, "arn:aws:lambda:us-east-1:000000000000:function:"+o.Name)
	o.Timeout = cmp.Or(o.Timeout, 3*time.Second)
	o.InitTimeout = cmp.Or(o.InitTimeout, 10*time.Second)
	o.StopGrace = cmp.Or(o.StopGrace, 500*time.Millisecond)
	o.MemoryMB = cmp.Or(o.MemoryMB, 128)
	o.Concurrency = max(o.Concurrency, 1)
	o.ResponseLimit = cmp.Or(o.ResponseLimit, MaxPayload)
	return o
}

// Function is a running Lambda function. Its methods are safe for concurrent use.
type Function struct {
	opts      Options
	slots     chan struct{} // one element per running invocation
	closed    chan struct{}
	unwatch   func() bool // stops the watch on Start's context
	closeOnce sync.Once
	closeErr  error

	mu     sync.Mutex
	sb     *sandbox // the latest process; nil before the first
	starts int
}

// Start starts the function and waits for its first call of /next. A failed initialisation is a *FunctionError.
// The function runs until Close, or until ctx is done.
func Start(ctx context.Context, opts Options) (*Function, error) {
	if opts.Binary == "" {
		return nil, errors.New("runtimeapi: Options.Binary is required")
	}
	opts = opts.withDefaults()
	f := &Function{
		opts:   opts,
		slots:  make(chan struct{}, opts.Concurrency),
		closed: make(chan struct{}),
	}
	f.mu.Lock()
	f.unwatch = context.AfterFunc(ctx, func() { _ = f.Close() }) // Close returns its error to each caller
	f.mu.Unlock()
	if _, err := f.sandbox(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Invoke runs one invocation with a JSON event. It returns when the answer begins: for a streaming response, once the
// prelude has arrived. Failures of the function are *FunctionError. As on Lambda, a caller that leaves (ctx, or Close of
// the Response) does not stop the function.
func (f *Function) Invoke(ctx context.Context, event []byte) (*Response, error) {
	if len(event) > MaxPayload {
		return nil, fmt.Errorf("runtimeapi: the event has %d bytes, over the limit of %d", len(event), MaxPayload)
	}
	if !json.Valid(event) {
		return nil, errors.New("runtimeapi: the event is not JSON")
	}
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.closed:
		return nil, ErrClosed
	}
	v := newInvocation(event, f.opts.Timeout, func() { <-f.slots })
	if err := f.hand(ctx, v); err != nil {
		v.finish(err)
		return nil, err
	}
	return v.wait(ctx)
}

// hand passes the invocation to a process that asks for one, starting processes as needed.
func (f *Function) hand(ctx context.Context, v *invocation) error {
	idle := time.NewTimer(f.opts.Timeout + f.opts.InitTimeout)
	defer idle.Stop()
	for range maxAttempts {
		sb, err := f.sandbox(ctx)
		if err != nil {
			return err
		}
		select {
		case sb.next <- v:
			return nil
		case <-sb.exited:
		case <-ctx.Done():
			return ctx.Err()
		case <-f.closed:
			return ErrClosed
		case <-idle.C:
			sb.kill()
			return timedOut(v.id, f.opts.Timeout)
		}
	}
	return &FunctionError{Type: "Runtime.ExitError", Message: "the process exits before it takes an invocation"}
}

// sandbox returns a process that has called /next, starting one if none is alive.
func (f *Function) sandbox(ctx context.Context) (*sandbox, error) {
	sb, err := f.current()
	if err != nil {
		return nil, err
	}
	select {
	case <-sb.ready:
		return sb, nil
	case <-sb.exited:
		return nil, sb.failure()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *Function) current() (*sandbox, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.closed:
		return nil, ErrClosed
	default:
	}
	if f.sb != nil {
		if !f.sb.dying() {
			return f.sb, nil
		}
		<-f.sb.done
	}
	sb, err := startSandbox(&f.opts)
	if err != nil {
		return nil, err
	}
	f.sb = sb
	f.starts++
	return sb, nil
}

// Starts returns the number of processes started so far.
func (f *Function) Starts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.starts
}

// PID returns the id of the latest process, or 0 before the first.
func (f *Function) PID() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sb == nil {
		return 0
	}
	return f.sb.cmd.Process.Pid
}

// Kill kills the latest process at once, as a full memory or a lost machine would.
func (f *Function) Kill() {
	f.mu.Lock()
	sb := f.sb
	f.mu.Unlock()
	if sb != nil {
		sb.kill()
	}
}

// InitDuration returns the time from the start of the latest process to its first call of /next, or 0 before that.
func (f *Function) InitDuration() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sb == nil {
		return 0
	}
	select {
	case <-f.sb.ready:
		return f.sb.initDuration
	default:
		return 0
	}
}

// Close stops the function as Lambda does: SIGTERM and a grace if it has registered an extension, as
// lambda.WithEnableSIGTERM does, then SIGKILL. It waits for the process. It returns an error if the process ignored
// SIGTERM, or if its exit status is not 0.
func (f *Function) Close() error {
	f.closeOnce.Do(func() {
		f.mu.Lock()
		f.unwatch()
		close(f.closed)
		sb := f.sb
		f.mu.Unlock()
		if sb != nil {
			f.closeErr = sb.stop()
		}
	})
	return f.closeErr
}
