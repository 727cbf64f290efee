package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// newProxy returns the peer: the standard library's proxy, which decodes and encodes the
// JSON of requests, answers and frames, as a proxy that changes them must.
func newProxy(fake string) (http.Handler, error) {
	target, err := url.Parse(fake)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 1024
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	proxy.ModifyResponse = func(res *http.Response) error {
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			res.Body = &frames{body: res.Body, lines: bufio.NewReader(res.Body)}
			return nil
		}
		b, err := recode(res.Body)
		res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		res.Header.Del("Content-Length")
		return err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := recode(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		proxy.ServeHTTP(w, r)
	}), nil
}

// recode decodes JSON and encodes it.
func recode(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return again(b)
}

func again(b []byte) ([]byte, error) {
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// frames decodes and encodes the frames of a stream of events.
type frames struct {
	body  io.Closer
	lines *bufio.Reader
	ready []byte
	err   error
}

// Read returns one frame at a time.
func (f *frames) Read(p []byte) (int, error) {
	for len(f.ready) == 0 && f.err == nil {
		f.ready, f.err = f.frame()
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	if n > 0 {
		return n, nil
	}
	return 0, f.err
}

func (f *frames) frame() ([]byte, error) {
	line, err := f.lines.ReadBytes('\n')
	data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
	if err != nil || !ok || data[0] != '{' {
		if ok {
			line = append(line, '\n')
		} else {
			line = nil // the empty line ends its frame
		}
		return line, err
	}
	b, err := again(data)
	return append(append([]byte("data: "), b...), "\n\n"...), err
}

// Close closes the stream.
func (f *frames) Close() error { return f.body.Close() }

// nothing reads a request and answers, to measure net/http alone.
func nothing(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		return // the client disconnected
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, said)
}
