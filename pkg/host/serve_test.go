package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// server runs Serve and returns its address, a stop function and the channel of its error.
func server(t *testing.T, h http.HandlerFunc, cfg Config) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() { out <- Serve(ctx, ln, h, cfg) }()
	t.Cleanup(cancel)
	return "http://" + ln.Addr().String(), cancel, out
}

func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestServeFinishesStreams checks that after the stop signal a running stream continues to its end, and Serve returns
// without error.
func TestServeFinishesStreams(t *testing.T) {
	goOn := make(chan struct{})
	url, stop, ended := server(t, func(w http.ResponseWriter, r *http.Request) {
		flushSent(w)
		<-goOn
		_, _ = io.WriteString(w, " and done")
	}, Config{Grace: time.Minute})
	resp, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	stop()
	close(goOn)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != " and done" {
		t.Errorf("rest %q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServeCuts checks that the context of a stream that outlives the grace is cancelled, and that
// it may end its answer.
func TestServeCuts(t *testing.T) {
	url, stop, ended := server(t, func(w http.ResponseWriter, r *http.Request) {
		flushSent(w)
		<-r.Context().Done()
		_, _ = io.WriteString(w, context.Cause(r.Context()).Error())
	}, Config{Grace: time.Millisecond})
	resp, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "senthost: stopped after a grace of 1ms" {
		t.Errorf("body %q, %v", body, err)
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "requests were cut") {
		t.Errorf("error %v", err)
	}
}

// TestServeClosesSilence checks that connections without a request do not delay the shutdown. Clients open them ahead of
// need.
func TestServeClosesSilence(t *testing.T) {
	url, stop, ended := server(t, func(w http.ResponseWriter, r *http.Request) {}, Config{Grace: time.Minute})
	for _, begun := range []string{"", "GET / HTTP/1.1\r\nHos"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, begun); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := client(t).Get(url) // accepted after the others
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServeStall checks that a client that stops reading is considered disconnected, and that its
// handler's writes fail.
func TestServeStall(t *testing.T) {
	failed := make(chan error, 1)
	url, _, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				failed <- err
				return
			}
		}
	}, Config{Stall: 50 * time.Millisecond})
	resp, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the handler still writes")
	}
}

// deadlines is a connection's writer that records its calls.
type deadlines struct {
	http.ResponseWriter
	calls []string
}

// Write takes a twelfth of a minute for a full part, and no time for less.
func (d *deadlines) Write(p []byte) (int, error) {
	if len(p) == stallBytes {
		time.Sleep(defaultStall / 12)
	}
	d.calls = append(d.calls, fmt.Sprint(len(p)))
	return len(p), nil
}

func (d *deadlines) FlushError() error { d.calls = append(d.calls, "flush"); return nil }

func (d *deadlines) SetWriteDeadline(time.Time) error { d.calls = append(d.calls, "wait"); return nil }

// TestServeSlowReader checks that the client's deadline is renewed after each part of an answer that took a while,
// however much one call writes.
func TestServeSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{}
		recovered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n, err := w.Write(make([]byte, 2*stallBytes+5)); n != 2*stallBytes+5 || err != nil {
				t.Errorf("%d written, %v", n, err)
			}
			_, _ = w.Write(nil)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(defaultStall / 2)
		}), Config{}).ServeHTTP(d, httptest.NewRequest("GET", "/", nil))
		const want = "wait 65536 wait 65536 wait 5 0 flush wait"
		if got := strings.Join(d.calls, " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestServeSlowBody checks that a body that does not arrive ends its request, even if the handler does not
// read it.
func TestServeSlowBody(t *testing.T) {
	read := make(chan error, 1)
	url, _, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			_, err := io.ReadAll(r.Body)
			read <- err
		}
	}, Config{BodyTimeout: 50 * time.Millisecond})
	for _, path := range []string{"/read", "/ignore"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("%s: %q, %v", path, answer, err)
		}
	}
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestServePanics(t *testing.T) {
	reported := make(chan any, 4)
	url, stop, ended := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Gone", "yes")
		switch r.URL.Path {
		case "/after":
			flushSent(w)
		case "/abort":
			panic(http.ErrAbortHandler)
		}
		panic(r.URL.Path)
	}, Config{Panicked: func(_ *http.Request, value any, stack []byte) { reported <- value }})
	c := client(t)
	resp, err := c.Get(url + "/before")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != 500 || string(body) != errorBody(internalError) || resp.Header.Get("X-Gone") != "" {
		t.Errorf("before: %d %q %v %v", resp.StatusCode, body, resp.Header, err)
	}
	resp, err = c.Get(url + "/after")
	if err != nil {
		t.Fatal(err)
	}
	body, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil || string(body) != "sent" {
		t.Errorf("after: %q, %v: the cut is not seen", body, err)
	}
	if _, err = c.Get(url + "/abort"); err == nil {
		t.Error("abort: no error")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(reported)
	var got []any
	for v := range reported {
		got = append(got, v)
	}
	if len(got) != 2 || got[0] != "/before" || got[1] != "/after" {
		t.Errorf("reported %v", got)
	}
}

func TestServeListenerFails(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), ln, http.NotFoundHandler(), Config{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
}
