package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

// doors are the kinds of event, buffered and streamed.
var doors = []struct {
	name, event string
	cfg         Config
}{
	{"rest", "rest-chat", Config{}},
	{"rest streamed", "rest-chat", Config{StreamREST: true}},
	{"http", "http-chat", Config{StreamREST: true, StreamURL: true}},
	{"http 1.0", "http-payload-v1", Config{StreamREST: true, StreamURL: true}},
	{"url", "url-chat", Config{}},
	{"url streamed", "url-chat", Config{StreamURL: true}},
}

// TestAnswers checks that each kind of event gives the same status, headers and body for the same
// handler.
func TestAnswers(t *testing.T) {
	typed := func(kind string) http.Header { return http.Header{"Content-Type": {kind}} }
	for _, c := range []struct {
		name     string
		h        http.HandlerFunc
		status   int
		header   http.Header
		body     string
		isBase64 bool // in buffered answers
	}{
		{name: "nothing", h: func(http.ResponseWriter, *http.Request) {}, status: 200, header: http.Header{}},
		{name: "json", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(201)
			_, _ = io.WriteString(w, `{"a":"<é>"}`)
		}, status: 201, header: typed("application/json"), body: `{"a":"<é>"}`},
		{name: "sniffed", h: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("plain"))
		}, status: 200, header: typed("text/plain; charset=utf-8"), body: "plain"},
		{name: "headers", h: func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Add("Set-Cookie", "a=1; Path=/")
			h.Add("Set-Cookie", "b=2, c")
			h.Set("X-Early", "yes")
			h.Set("Connection", "close")
			h.Set("Transfer-Encoding", "chunked")
			h.Set(http.TrailerPrefix+"X-T", "t")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			h.Set("X-Late", "no")
		}, status: 418, header: http.Header{"Set-Cookie": {"a=1; Path=/", "b=2, c"}, "X-Early": {"yes"}}},
		{name: "binary", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "ascii")
		}, status: 200, header: typed("application/octet-stream"), body: "ascii", isBase64: true},
		{name: "encoded", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b\x08\x00")
		}, status: 200, header: http.Header{"Content-Encoding": {"gzip"}}, body: "\x1f\x8b\x08\x00", isBase64: true},
		{name: "text that is not UTF-8", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "caf\xe9")
		}, status: 200, header: typed("text/plain"), body: "caf\xe9", isBase64: true},
		{name: "no content", h: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); err != http.ErrBodyNotAllowed {
				t.Errorf("write after 204: %v", err)
			}
		}, status: 204, header: http.Header{}},
		{name: "body read late", h: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "first ")
			_ = http.NewResponseController(w).Flush()
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n == r.ContentLength, err)
		}, status: 200, header: typed("text/plain; charset=utf-8"), body: "first true <nil>"},
		{name: "bad status", h: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(7) },
			status: 500, header: typed("application/json"), body: errorBody(internalError)},
	} {
		for _, d := range doors {
			t.Run(c.name+"/"+d.name, func(t *testing.T) {
				r := invoke(t, c.h, d.cfg, sample(t, d.event))
				length := r.header.Get("Content-Length")
				r.header.Del("Content-Length")
				if r.status != c.status || r.body != c.body || r.failure != nil {
					t.Errorf("%d %q %v, want %d %q", r.status, r.body, r.failure, c.status, c.body)
				}
				if want := c.header; !reflect.DeepEqual(r.header, want) {
					t.Errorf("header %v, want %v", r.header, want)
				}
				if !r.streamed {
					if want := fmt.Sprint(len(c.body)); bodyAllowed(c.status) && length != want || c.status == 204 && length != "" {
						t.Errorf("Content-Length %q, want %q", length, want)
					}
					if r.isBase64 != c.isBase64 {
						t.Errorf("base64 %t, want %t", r.isBase64, c.isBase64)
					}
				}
			})
		}
	}
}

func TestHead(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.WriteString(w, "seven b"); n != 7 || err != nil {
			t.Errorf("write: %d %v", n, err)
		}
	}
	for _, d := range doors {
		event := strings.NewReplacer(`"POST"`, `"HEAD"`, `"GET"`, `"HEAD"`).Replace(sample(t, d.event))
		r := invoke(t, h, d.cfg, event)
		if r.status != 200 || r.body != "" || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %+v", d.name, r)
		}
		if !r.streamed && r.header.Get("Content-Length") != "7" {
			t.Errorf("%s: Content-Length %q", d.name, r.header.Get("Content-Length"))
		}
	}
}

func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		size       int
		want       int
	}{
		{"fits", "text/plain", maxAnswer - 1000, 200},
		{"too long", "text/plain", maxAnswer + 1, 500},
		{"too long once encoded", "image/png", maxAnswer * 4 / 5, 500},
	} {
		for _, event := range []string{"rest-chat", "url-chat"} {
			chunk := bytes.Repeat([]byte("a"), 1<<16)
			failed := false
			r := invoke(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				for left := c.size; left > 0; left -= len(chunk) {
					_, err := w.Write(chunk[:min(left, len(chunk))])
					failed = failed || err != nil
				}
			}, Config{}, sample(t, event))
			if r.status != c.want || (c.want == 500) != strings.Contains(r.body, "larger than the 6291456 bytes") {
				t.Errorf("%s: status %d, body of %d bytes", c.name, r.status, len(r.body))
			}
			if failed != (c.size > maxAnswer) {
				t.Errorf("%s: a write failed: %t", c.name, failed)
			}
		}
	}
	r := invoke(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, maxAnswer+1))
	}, Config{StreamURL: true}, sample(t, "url-chat"))
	if r.status != 200 || len(r.body) != maxAnswer+1 {
		t.Errorf("streamed: %d with %d bytes", r.status, len(r.body))
	}
}

func TestPanics(t *testing.T) {
	before := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Gone", "yes")
		_, _ = io.WriteString(w, "not sent")
		panic("boom")
	}
	after := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "sent")
		w.(http.Flusher).Flush()
		panic(errors.New("boom"))
	}
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	exit := func(w http.ResponseWriter, r *http.Request) { flushSent(w); runtime.Goexit() }
	for _, d := range doors {
		for _, c := range []struct {
			name     string
			h        http.HandlerFunc
			reported any
			sent     bool // when streamed, bytes leave before the end
			message  string
		}{
			{"before", before, "boom", false, ""},
			{"after", after, errors.New("boom"), true, "the handler panicked: boom"},
			{"abort", abort, nil, false, ""},
			{"goexit", exit, nil, true, "the handler ended its goroutine"},
		} {
			t.Run(d.name+"/"+c.name, func(t *testing.T) {
				var value any
				var stack []byte
				cfg := d.cfg
				cfg.Panicked = func(_ *http.Request, v any, s []byte) { value, stack = v, s }
				r := invoke(t, c.h, cfg, sample(t, d.event))
				if !reflect.DeepEqual(value, c.reported) || value != nil && !bytes.Contains(stack, []byte("adapter_test.go")) {
					t.Errorf("reported %v with stack %s", value, stack)
				}
				if !r.streamed || !c.sent {
					if r.status != 500 || r.body != errorBody(internalError) || r.header.Get("X-Gone") != "" || r.failure != nil {
						t.Errorf("reply %+v", r)
					}
					return
				}
				var ie messages.InvokeResponse_Error
				if r.status != 200 || r.body != "sent" || !errors.As(r.failure, &ie) {
					t.Fatalf("reply %+v", r)
				}
				if ie.Type != "HandlerPanic" || ie.Message != c.message {
					t.Errorf("failure %+v", ie)
				}
			})
		}
	}
}

func flushSent(w http.ResponseWriter) {
	_, _ = io.WriteString(w, "sent")
	w.(http.Flusher).Flush()
}

// TestChunksAreCausal checks that each flush is readable before the handler continues, and that nothing
// leaves without one.
func TestChunksAreCausal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		h := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusAccepted)
			w.(http.Flusher).Flush()
			<-goOn
			for _, s := range []string{"one", "two"} {
				_, _ = io.WriteString(w, s)
				<-goOn
				w.(http.Flusher).Flush()
				<-goOn
			}
			_, _ = io.WriteString(w, strings.Repeat("x", flushSize))
			<-goOn
			_, _ = io.WriteString(w, "end")
		}
		resp, err := New(http.HandlerFunc(h), Config{StreamURL: true}).Invoke(t.Context(), json.RawMessage(sample(t, "url-chat")))
		if err != nil {
			t.Fatal(err)
		}
		chunks := make(chan string)
		go func() {
			defer close(chunks)
			buf := make([]byte, 64<<10)
			for {
				n, err := resp.Read(buf)
				if n > 0 {
					chunks <- string(buf[:n])
				}
				if err != nil {
					return
				}
			}
		}()
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-chunks:
				if got != want {
					t.Errorf("chunk %.80q, want %.80q", got, want)
				}
			default:
				if want != "" {
					t.Errorf("no chunk, want %.80q", want)
				}
			}
		}
		expect("{\"statusCode\":202,\"headers\":{\"Content-Type\":\"text/event-stream\"}}\x00\x00\x00\x00\x00\x00\x00\x00")
		expect("")
		for _, s := range []string{"one", "two"} {
			goOn <- struct{}{}
			expect("") // written, not flushed
			goOn <- struct{}{}
			expect(s)
		}
		goOn <- struct{}{}
		expect(strings.Repeat("x", flushSize)) // a full buffer goes without a flush
		goOn <- struct{}{}
		expect("end")
		if _, open := <-chunks; open {
			t.Error("a chunk after the end")
		}
		if err := resp.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestGone checks that closing the Response early, as aws-lambda-go does when the Runtime API's connection fails, stops
// the handler.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var werr, ferr, cerr error
		h := func(w http.ResponseWriter, r *http.Request) {
			flushSent(w)
			<-r.Context().Done()
			cerr = r.Context().Err()
			_, _ = io.WriteString(w, "lost")
			ferr = http.NewResponseController(w).Flush()
			_, werr = io.WriteString(w, "lost")
		}
		a := New(http.HandlerFunc(h), Config{StreamREST: true})
		resp, err := a.Invoke(t.Context(), json.RawMessage(sample(t, "rest-chat")))
		if err != nil {
			t.Fatal(err)
		}
		idle := make(chan struct{})
		go func() { a.running.wait(time.Hour); close(idle) }()
		synctest.Wait()
		if err := resp.Close(); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(werr, errGone) || !errors.Is(ferr, errGone) || !errors.Is(cerr, context.Canceled) {
			t.Errorf("write: %v, flush: %v, context: %v", werr, ferr, cerr)
		}
		begun := time.Now()
		<-idle
		if time.Since(begun) != 0 {
			t.Error("a closed response still counts as running")
		}
		if _, err := io.ReadAll(resp); err == nil {
			t.Error("read after Close")
		}
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ left, margin, want time.Duration }{
			{time.Minute, 0, time.Minute - defaultMargin},
			{time.Minute, 5 * time.Second, 55 * time.Second},
			{time.Second, 5 * time.Second, time.Second / 2},
			{time.Second, -1, time.Second},
			{-time.Second, 0, -time.Second},
		} {
			for _, stream := range []bool{false, true} {
				ctx, cancel := context.WithTimeout(t.Context(), c.left)
				var left time.Duration
				h := func(w http.ResponseWriter, r *http.Request) {
					end, _ := r.Context().Deadline()
					left = time.Until(end)
					<-r.Context().Done()
					fmt.Fprint(w, "partial: ", context.Cause(r.Context()))
				}
				a := New(http.HandlerFunc(h), Config{StreamURL: stream, Margin: c.margin})
				resp, err := a.Invoke(ctx, json.RawMessage(sample(t, "url-chat")))
				if err != nil {
					t.Fatal(err)
				}
				r := readReply(t, resp)
				if left != c.want || r.body != "partial: context deadline exceeded" {
					t.Errorf("%v with margin %v: deadline in %v, want %v; body %q", c.left, c.margin, left, c.want, r.body)
				}
				cancel()
			}
		}
	})
}

func TestTrackerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k tracker
		k.wait(time.Hour)
		k.add()
		begun := time.Now()
		k.wait(time.Second)
		if got := time.Since(begun); got != time.Second {
			t.Errorf("waited %v", got)
		}
		k.done()
		k.wait(time.Hour)
		if got := time.Since(begun); got != time.Second {
			t.Errorf("waited %v with nothing running", got)
		}
	})
}

func TestOnLambda(t *testing.T) {
	env := map[string]string{}
	get := func(k string) string { return env[k] }
	if OnLambda(get) {
		t.Error("true without the variable")
	}
	env["AWS_LAMBDA_RUNTIME_API"] = "127.0.0.1:9001"
	if !OnLambda(get) {
		t.Error("false with the variable")
	}
}
