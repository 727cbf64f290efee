package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

var errStopped = errors.New("host: Lambda is stopping this process")

// OnLambda reports whether the process runs under the Lambda Runtime API. getenv looks up environment
// variables.
func OnLambda(getenv func(string) string) bool {
	return getenv("AWS_LAMBDA_RUNTIME_API") != ""
}

// Start serves invocations of the Lambda Runtime API with h. It does not return: the process ends with the execution
// environment. On SIGTERM the contexts of running requests are cancelled, their answers have cfg.Grace to be
// delivered, cfg.Shutdown runs, and the process exits with status 0.
func Start(h http.Handler, cfg Config) {
	a := New(h, cfg)
	base, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := func() {
		cancel(errStopped)
		a.running.wait(cmp.Or(cfg.Grace, defaultLambdaGrace))
		if cfg.Shutdown != nil {
			cfg.Shutdown()
		}
		os.Exit(0)
	}
	lambda.StartWithOptions(a.Invoke, lambda.WithContext(base), lambda.WithEnableSIGTERM(stop))
}

// StartEvents serves invocations of the Lambda Runtime API that are no HTTP requests. An
// invocation fails with the error. It does not return.
func StartEvents(handle func(ctx context.Context, event []byte) error) {
	lambda.Start(func(ctx context.Context, event json.RawMessage) error { return handle(ctx, event) })
}

// tracker counts running requests.
type tracker struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0; nil without a waiter
}

func (t *tracker) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
}

func (t *tracker) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// wait returns when no request is running, or after d.
func (t *tracker) wait(d time.Duration) {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
