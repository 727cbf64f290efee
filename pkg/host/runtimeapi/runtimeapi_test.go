package runtimeapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"glossa/pkg/host/runtimeapi"
)

// TestChunks checks order and causality of a stream's chunks: the function continues only after the test has read the
// last one.
func TestChunks(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	f := start(t, options(t, "streamed", c))
	if f.InitDuration() <= 0 {
		t.Error("no time to the first /next")
	}
	resp, err := f.Invoke(t.Context(), urlEvent("/stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	if resp.Prelude == nil || resp.Prelude.StatusCode != 200 || resp.Prelude.Header().Get("Content-Type") != "text/event-stream" {
		t.Fatalf("prelude %+v", resp.Prelude)
	}
	var got []string
	for chunk, err := range resp.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(chunk))
		if i := len(got) - 1; i < 3 {
			c.expect(t, fmt.Sprint("chunk ", i, " <nil> <nil>"))
		}
	}
	want := "data: 0\n\n,data: 1\n\n,data: 2\n\n,data: [DONE]\n\n"
	if strings.Join(got, ",") != want {
		t.Errorf("chunks %q", got)
	}
	mustServe(t, f, 1)
}

func TestPanicsDoNotEndTheProcess(t *testing.T) {
	leakFree(t)
	f := start(t, options(t, "streamed", nil))
	resp, body, err := invoke(t, f, "/panic-before")
	if err != nil || resp.Prelude.StatusCode != 500 || !strings.Contains(body, "internal error") {
		t.Errorf("before: %+v %q %v", resp, body, err)
	}
	resp, body, err = invoke(t, f, "/panic-after")
	if body != "begun" || resp.Prelude.StatusCode != 200 {
		t.Errorf("after: %+v %q", resp, body)
	}
	functionError(t, err, "HandlerPanic", "the handler panicked: boom")
	mustServe(t, f, 1)
}

func TestDeadlineLeavesTimeForThePartialAnswer(t *testing.T) {
	leakFree(t)
	o := options(t, "streamed", nil)
	o.Timeout = 4 * time.Second
	f := start(t, o)
	_, body, err := invoke(t, f, "/deadline")
	if body != "partial: context deadline exceeded" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	mustServe(t, f, 1)
}

func TestTimeoutRestarts(t *testing.T) {
	leakFree(t)
	o := options(t, "streamed", nil)
	o.Timeout = 2 * time.Second
	f := start(t, o)
	_, _, err := invoke(t, f, "/stuck")
	functionError(t, err, "Sandbox.Timedout", "Task timed out after 2.00 seconds")
	mustServe(t, f, 2)
	resp, body, err := invoke(t, f, "/stuck-after")
	if body != "begun" || resp.Prelude == nil {
		t.Errorf("%+v %q", resp, body)
	}
	functionError(t, err, "Sandbox.Timedout", resp.RequestID)
	mustServe(t, f, 3)
}

func TestCrashRestarts(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	f := start(t, options(t, "streamed", c))
	_, _, err := invoke(t, f, "/crash")
	functionError(t, err, "Runtime.ExitError", "exit status 7")
	mustServe(t, f, 2)
	resp, err := f.Invoke(t.Context(), urlEvent("/crash-after"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	if _, err := io.ReadFull(resp, make([]byte, len("begun"))); err != nil {
		t.Fatal(err)
	}
	c.expect(t, "begun")
	_, err = io.ReadAll(resp)
	functionError(t, err, "Runtime.ExitError", "exit status 7")
	mustServe(t, f, 3)
}

func TestInitErrors(t *testing.T) {
	leakFree(t)
	for _, c := range []struct{ mode, kind, message string }{
		{"init-exit", "Runtime.ExitError", "exit status 3"},
		{"init-error", "Config.Missing", "no table"},
	} {
		_, err := runtimeapi.Start(t.Context(), options(t, c.mode, nil))
		functionError(t, err, c.kind, c.message)
	}
	o := options(t, "init-hang", nil)
	o.InitTimeout = 300 * time.Millisecond
	_, err := runtimeapi.Start(t.Context(), o)
	functionError(t, err, "Sandbox.Timedout", "has not called /next in 300ms")

	_, err = runtimeapi.Start(t.Context(), runtimeapi.Options{Binary: "/does/not/exist"})
	functionError(t, err, "Runtime.InvalidEntrypoint", "/does/not/exist")
	if _, err = runtimeapi.Start(t.Context(), runtimeapi.Options{}); err == nil {
		t.Error("no error without a binary")
	}

	cb := newCallbacks(t)
	ctx, cancel := context.WithCancel(t.Context())
	o = options(t, "init-hang", cb)
	go func() { <-cb.calls; cancel() }()
	if _, err = runtimeapi.Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	noLeaks(t)
}

func TestQueueOneAtATime(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	f := start(t, options(t, "buffered", c))
	errs := make(chan error, 2)
	begin := func(name string) {
		_, _, err := invoke(t, f, "/call/"+name)
		errs <- err
	}
	go begin("a")
	first := c.take(t, "a begins")
	go begin("b")
	close(first.done)
	c.expect(t, "a ends") // b has not begun
	c.expect(t, "b begins")
	c.expect(t, "b ends")
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go begin("c")
	third := c.take(t, "c begins")
	cancel()
	if _, err := f.Invoke(ctx, urlEvent("/pid")); !errors.Is(err, context.Canceled) {
		t.Errorf("queued and cancelled: %v", err)
	}
	close(third.done)
	c.expect(t, "c ends")
	if err := <-errs; err != nil {
		t.Error(err)
	}
}

func TestConcurrency(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	o := options(t, "buffered", c)
	o.Concurrency = 2
	f := start(t, o)
	bodies := make(chan string, 2)
	for range 2 {
		go func() {
			_, body, err := invoke(t, f, "/call/x")
			if err != nil {
				t.Error(err)
			}
			bodies <- body
		}()
	}
	one, two := c.take(t, "x begins"), c.take(t, "x begins") // both run at once
	close(one.done)
	close(two.done)
	c.expect(t, "x ends")
	c.expect(t, "x ends")
	if a, b := <-bodies, <-bodies; a != b || a == "" {
		t.Errorf("the process ids differ: %q, %q", a, b)
	}
}

// TestCallerGone checks that, as on Lambda, a function keeps running after its caller has left, and
// then serves the next.
func TestCallerGone(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	f := start(t, options(t, "streamed", c))
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := f.Invoke(ctx, urlEvent("/stream"))
	if err != nil {
		t.Fatal(err)
	}
	k := c.take(t, "chunk 0 <nil> <nil>")
	cancel()
	if _, err := io.ReadAll(resp); !errors.Is(err, context.Canceled) {
		t.Errorf("read after cancel: %v", err)
	}
	close(k.done)
	c.expect(t, "chunk 1 <nil> <nil>")
	c.expect(t, "chunk 2 <nil> <nil>")
	mustServe(t, f, 1)

	ctx, cancel = context.WithCancel(t.Context()) // gone before the answer
	failed := make(chan error)
	go func() {
		_, err := f.Invoke(ctx, urlEvent("/call/y"))
		failed <- err
	}()
	k = c.take(t, "y begins")
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("invoke after cancel: %v", err)
	}
	close(k.done)
	c.expect(t, "y ends")
	mustServe(t, f, 1)
}

func TestSIGTERM(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	o := options(t, "streamed", c)
	o.Env = append(o.Env, "TELL_SHUTDOWN=1")
	f := start(t, o)
	resp, err := f.Invoke(t.Context(), urlEvent("/term"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	c.expect(t, "running")
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	body, err := io.ReadAll(resp)
	if string(body) != "begun and stopped" || err != nil {
		t.Errorf("the running stream gives %q, %v", body, err)
	}
	c.expect(t, "shutdown")
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := f.Invoke(t.Context(), urlEvent("/pid")); !errors.Is(err, runtimeapi.ErrClosed) {
		t.Errorf("invoke after Close: %v", err)
	}

	o = options(t, "deaf", c)
	o.StopGrace = 100 * time.Millisecond
	if err := start(t, o).Close(); err == nil || !strings.Contains(err.Error(), "did not end within 100ms of SIGTERM") {
		t.Errorf("close of a deaf function: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f, err = runtimeapi.Start(ctx, options(t, "raw", c))
	if err != nil {
		t.Fatal(err)
	}
	cancel() // closes it
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestRuntimeMisuse checks that invalid calls of a broken runtime are rejected with a clear error
// and harm nothing else.
func TestRuntimeMisuse(t *testing.T) {
	leakFree(t)
	const stream = "application/vnd.awslambda.http-integration-response"
	type step struct{ Path, Type, Body string }
	response, failure := "/2018-06-01/runtime/invocation/{id}/response", "/2018-06-01/runtime/invocation/{id}/error"
	nul := strings.Repeat("\x00", 8)
	c := newCallbacks(t)
	o := options(t, "raw", c)
	o.ResponseLimit = 100
	f := start(t, o)
	for _, k := range []struct {
		name     string
		steps    []step
		statuses []int
		body     string
		kind     string // of the error
		message  string
	}{
		{"buffered", []step{{response, "application/json", `"ok"`}}, []int{202}, `"ok"`, "", ""},
		{"streamed", []step{{response, stream, `{}` + nul + "ok" + nul}}, []int{202}, "ok" + nul, "", ""},
		{"twice", []step{{response, "", "1"}, {response, "", "2"}}, []int{202, 400}, "1", "", ""},
		{"unknown id", []step{{"/2018-06-01/runtime/invocation/x/response", "", "1"}, {response, "", "2"}}, []int{400, 202}, "2", "", ""},
		{"unknown path", []step{{"/2018-06-01/x", "", "1"}, {response, "", "2"}}, []int{404, 202}, "2", "", ""},
		{"no prelude", []step{{response, stream, "hello"}}, []int{400}, "", "Runtime.InvalidResponse", "does not end in eight NUL bytes"},
		{"bad prelude", []step{{response, stream, "{" + nul}}, []int{400}, "", "Runtime.InvalidResponse", "the prelude is not JSON: unexpected end"},
		{"bad status", []step{{response, stream, `{"statusCode":42}` + nul}}, []int{400}, "", "Runtime.InvalidResponse", "status 42"},
		{"huge prelude", []step{{response, stream, strings.Repeat("x", 2<<20)}}, []int{400}, "", "Runtime.InvalidResponse", "more than 1048576 bytes"},
		{"too large", []step{{response, "text/plain", strings.Repeat("x", 101)}}, []int{413}, "", "Function.ResponseSizeTooLarge", "(100 bytes)"},
		{"error", []step{{failure, "", `{"errorType":"T","errorMessage":"m"}`}}, []int{202}, "", "T", "m"},
		{"error that is not JSON", []step{{failure, "", "x"}}, []int{202}, "", "Runtime.Unknown", ""},
	} {
		t.Run(k.name, func(t *testing.T) {
			event, err := json.Marshal(k.steps)
			if err != nil {
				t.Fatal(err)
			}
			var body []byte
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				var resp *runtimeapi.Response
				if resp, err = f.Invoke(t.Context(), event); err == nil {
					defer resp.Close()
					body, err = io.ReadAll(resp)
				}
			}()
			for _, s := range k.statuses {
				c.expect(t, fmt.Sprint("status ", s))
			}
			<-ended
			if string(body) != k.body {
				t.Errorf("body %q, want %q", body, k.body)
			}
			if k.kind != "" {
				functionError(t, err, k.kind, k.message)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	if f.Starts() != 1 {
		t.Errorf("%d starts", f.Starts())
	}
	if _, err := f.Invoke(t.Context(), []byte("{")); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("bad event: %v", err)
	}
	if _, err := f.Invoke(t.Context(), make([]byte, runtimeapi.MaxPayload+1)); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("large event: %v", err)
	}
}

// TestOversizedAnswer checks that the Runtime API's refusal ends a Go function's process, which then
// restarts.
func TestOversizedAnswer(t *testing.T) {
	leakFree(t)
	o := options(t, "buffered", nil)
	o.ResponseLimit = 1000
	f := start(t, o)
	_, _, err := invoke(t, f, "/large")
	functionError(t, err, "Function.ResponseSizeTooLarge", "1000 bytes")
	mustServe(t, f, 2)
}

func TestUnknownEvent(t *testing.T) {
	leakFree(t)
	f := start(t, options(t, "streamed", nil))
	_, err := f.Invoke(t.Context(), []byte(`{"source":"aws.events","detail-type":"Scheduled Event"}`))
	functionError(t, err, "EventError", `not an HTTP request: source "aws.events"`)
	mustServe(t, f, 1)
}
