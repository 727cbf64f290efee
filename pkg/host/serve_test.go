package host

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
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

// TestServeFinishesStreams: after the stop signal a running stream goes on to its end, and Serve returns without error.
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

// TestServeCuts: a stream that outlives the grace has its context cancelled and may end its answer.
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
