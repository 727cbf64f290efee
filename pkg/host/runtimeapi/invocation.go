package runtimeapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"
)

// Prelude is the start of an HTTP streaming response: status, headers and cookies.
type Prelude struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
}

// Header returns headers and cookies as one HTTP header.
func (p *Prelude) Header() http.Header {
	return joinHeader(p.Headers, p.MultiValueHeaders, p.Cookies)
}

func joinHeader(single map[string]string, multi map[string][]string, cookies []string) http.Header {
	h := make(http.Header)
	for k, v := range single {
		h.Set(k, v)
	}
	for k, v := range multi {
		h.Del(k)
		for _, s := range v {
			h.Add(k, s)
		}
	}
	for _, c := range cookies {
		h.Add("Set-Cookie", c)
	}
	return h
}

// Response is the answer to one invocation. Read yields the payload, without the prelude, as it leaves the function; it
// ends with io.EOF, or with a *FunctionError from the error trailers, a crash or the timeout.
type Response struct {
	RequestID   string
	ContentType string   // as the function sent it to the Runtime API
	Prelude     *Prelude // nil unless the answer is an HTTP streaming response

	body   io.ReadCloser
	ended  <-chan struct{} // closed when the function has finished
	caller context.Context // of Invoke: when it ends, so does reading
	stop   func() bool     // ends the watch on caller
}

// Read reads the payload.
func (r *Response) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err == io.ErrClosedPipe && r.caller.Err() != nil {
		err = r.caller.Err()
	}
	return n, err
}

// Close drops the rest of the payload. As on Lambda, the function keeps running.
func (r *Response) Close() error {
	r.stop()
	return r.body.Close()
}

// Ended returns a channel that is closed when the function has finished the invocation, whether or
// not the payload was read.
func (r *Response) Ended() <-chan struct{} { return r.ended }

// Chunks yields the payload in the pieces in which it arrives; an error is the last element. The caller owns each piece.
func (r *Response) Chunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, 32<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 && !yield(bytes.Clone(buf[:n]), nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// invocation is one event on its way through the function.
type invocation struct {
	id      string
	event   []byte
	timeout time.Duration
	release func() // returns the function's slot; runs once
	result  chan outcome
	ended   chan struct{} // closed by finish

	mu        sync.Mutex
	timer     *time.Timer // nil until the function receives it
	pipe      *io.PipeWriter
	answered  bool
	abandoned bool // the caller left before the answer
	over      bool
}

type outcome struct {
	resp *Response
	err  error
}

func newInvocation(event []byte, timeout time.Duration, release func()) *invocation {
	return &invocation{
		id:      newID(),
		event:   event,
		timeout: timeout,
		release: release,
		result:  make(chan outcome, 1),
		ended:   make(chan struct{}),
	}
}

// begin starts the clock. It calls expired if the function does not finish in time.
func (v *invocation) begin(expired func()) (deadline time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.timer = time.AfterFunc(v.timeout, expired)
	}
	return time.Now().Add(v.timeout)
}

// answer delivers the start of an answer. For a streamed one it returns the writer of its payload.
func (v *invocation) answer(contentType string, prelude *Prelude, payload []byte) (*io.PipeWriter, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.answered || v.over {
		return nil, fmt.Errorf("invocation %s has its answer already", v.id)
	}
	v.answered = true
	resp := &Response{RequestID: v.id, ContentType: contentType, Prelude: prelude, ended: v.ended, stop: func() bool { return true }}
	if prelude == nil {
		resp.body = io.NopCloser(bytes.NewReader(payload))
	} else {
		resp.body, v.pipe = io.Pipe()
	}
	if v.abandoned {
		_ = resp.body.Close() // always nil
	} else {
		v.result <- outcome{resp: resp}
	}
	return v.pipe, nil
}

// finish ends the invocation; only the first call has an effect. A nil error means success.
func (v *invocation) finish(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return
	}
	v.over = true
	if v.timer != nil {
		v.timer.Stop()
	}
	switch {
	case v.pipe != nil:
		_ = v.pipe.CloseWithError(err) // always nil
	case !v.answered && !v.abandoned:
		v.result <- outcome{err: err}
	}
	close(v.ended)
	v.release()
}

// wait returns the start of the answer.
func (v *invocation) wait(ctx context.Context) (*Response, error) {
	select {
	case out := <-v.result:
		return v.watch(ctx, out)
	case <-ctx.Done():
	}
	v.mu.Lock()
	v.abandoned = true
	v.mu.Unlock()
	select {
	case out := <-v.result: // it arrived in the meantime
		if out.resp != nil {
			_ = out.resp.Close() // always nil
		}
	default:
	}
	return nil, ctx.Err()
}

// watch closes the caller's side of a stream when the caller's context ends.
func (v *invocation) watch(ctx context.Context, out outcome) (*Response, error) {
	if out.err != nil {
		return nil, out.err
	}
	out.resp.caller = ctx
	if out.resp.Prelude != nil {
		out.resp.stop = context.AfterFunc(ctx, func() { _ = out.resp.body.Close() }) // always nil
	}
	return out.resp, nil
}

// newID returns a random UUID, version 4.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
