package runtimeapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/host/runtimeapi"
)

// callbacks is the test's end of the function's calls: each call blocks until the test takes it.
type callbacks struct {
	*httptest.Server
	calls chan call
}

type call struct {
	name string
	done chan struct{} // closed by the test to let the function continue
}

func newCallbacks(t *testing.T) *callbacks {
	c := &callbacks{calls: make(chan call, 16)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		k := call{name: strings.TrimPrefix(r.URL.Path, "/"), done: make(chan struct{})}
		c.calls <- k
		select {
		case <-k.done:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// expect takes the next call, which must have the given name, and lets the function continue.
func (c *callbacks) expect(t *testing.T, name string) {
	t.Helper()
	k := c.take(t, name)
	close(k.done)
}

func (c *callbacks) take(t *testing.T, name string) call {
	t.Helper()
	select {
	case k := <-c.calls:
		if k.name != name {
			t.Fatalf("the function calls %q, want %q", k.name, name)
		}
		return k
	case <-time.After(time.Minute):
		t.Fatalf("the function does not call %q", name)
		panic("unreachable")
	}
}

// options runs this test binary as the bootstrap.
func options(t *testing.T, mode string, c *callbacks) runtimeapi.Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := &syncBuffer{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the function's stderr:\n%s", out)
		}
	})
	o := runtimeapi.Options{
		Binary: exe, Env: []string{modeVar + "=" + mode, "GORACE=atexit_sleep_ms=0"}, Stderr: out, Timeout: time.Minute, InitTimeout: time.Minute, StopGrace: time.Minute,
	}
	if c != nil {
		o.Env = append(o.Env, "CALLBACK="+c.URL)
	}
	return o
}

// start starts the function and closes it after the test.
func start(t *testing.T, o runtimeapi.Options) *runtimeapi.Function {
	t.Helper()
	f, err := runtimeapi.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // tests of Close check its error themselves
	return f
}

// leakFree checks that the test leaves no goroutine of the package. Call it first in a test, so that it runs last.
func leakFree(t *testing.T) {
	t.Cleanup(func() { noLeaks(t) })
}

func noLeaks(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "/pkg/host/runtimeapi.") {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Errorf("goroutines are left:\n%s", stacks)
			return
		}
	}
}

// urlEvent is a function URL's event for a GET of path.
func urlEvent(path string) []byte {
	return fmt.Appendf(nil, `{"version":"2.0","rawPath":%q,"requestContext":{"domainName":"x.lambda-url.r.on.aws","http":{"method":"GET"}}}`, path)
}

func invoke(t *testing.T, f *runtimeapi.Function, path string) (*runtimeapi.Response, string, error) {
	t.Helper()
	resp, err := f.Invoke(t.Context(), urlEvent(path))
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp)
	if cerr := resp.Close(); cerr != nil {
		t.Error(cerr)
	}
	return resp, string(body), err
}

// mustServe checks that the function serves, from the process with the given number.
func mustServe(t *testing.T, f *runtimeapi.Function, starts int) {
	t.Helper()
	resp, body, err := invoke(t, f, "/pid")
	if err != nil || resp.Prelude == nil && !strings.Contains(body, `"statusCode":200`) || resp.Prelude != nil && resp.Prelude.StatusCode != 200 {
		t.Fatalf("%v %q %v", resp, body, err)
	}
	if f.Starts() != starts {
		t.Errorf("%d processes have been started, want %d", f.Starts(), starts)
	}
}

func functionError(t *testing.T, err error, kind, message string) {
	t.Helper()
	fe, ok := errors.AsType[*runtimeapi.FunctionError](err)
	if !ok || fe.Type != kind || !strings.Contains(fe.Message, message) {
		t.Errorf("error %v of type %T, want a FunctionError %s with %q", err, err, kind, message)
	}
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// syncBuffer is a bytes.Buffer for one writer and one reader.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
