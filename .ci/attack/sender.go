package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Addresses of principals, for servers without keys. On Linux all of 127.0.0.0/8 is
// loopback.
const (
	attackerIP  = "127.0.0.2"
	bystanderIP = "127.0.0.3"
)

// Outcomes of requests without a complete answer.
const (
	cut  = "cut"  // it still ran at the end of the attack, or its client cancelled it
	lost = "lost" // the server closed the connection
)

// maxKept is the part of an answer that is kept, bytes.
const maxKept = 64 << 10

// A sender is a principal: an address, a key or both.
type sender struct {
	url    string
	key    string
	client *http.Client
}

// newSender returns a principal with a key, "" for none, that connects from ip. If fresh,
// it opens a connection for each request.
func newSender(url, key, ip string, fresh bool) *sender {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	transport := &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: fresh, DisableCompression: true,
		MaxIdleConnsPerHost: 1000, IdleConnTimeout: time.Minute,
	}
	return &sender{url: url, key: key, client: &http.Client{Transport: transport}}
}

// A call is a request to be sent.
type call struct {
	method string // "": POST
	path   string
	host   string // "": the server's own
	header http.Header
	body   []byte
}

// post returns a call that posts JSON.
func post(path, body string) call { return call{path: path, body: []byte(body)} }

// get returns a call without a body.
func get(path string) call { return call{method: http.MethodGet, path: path} }

// with returns the call with another header.
func (c call) with(name, value string) call {
	h := c.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set(name, value)
	c.header = h
	return c
}

// zipped returns the call with the header of a body that is compressed with gzip.
func (c call) zipped() call { return c.with("Content-Encoding", "gzip") }

// An answer is the result of a call.
type answer struct {
	status int // 0: no answer
	header http.Header
	body   string // its first maxKept bytes
	err    error  // why it is incomplete
	left   bool   // the caller cancelled it

	first, end time.Duration // from the call to the first byte of the body, and to its end
}

// outcome returns the status, or cut or lost.
func (a answer) outcome() string {
	switch {
	case a.err == nil:
		return strconv.Itoa(a.status)
	case a.left:
		return cut
	case a.status >= 400: // an error's status is its outcome, even if its body is cut
		return strconv.Itoa(a.status)
	}
	return lost
}

// ask sends a call and reads the complete answer.
func (s *sender) ask(ctx context.Context, c call) (a answer) {
	began := time.Now()
	defer func() {
		a.end = time.Since(began)
		if a.first == 0 {
			a.first = a.end
		}
		a.left = a.err != nil && ctx.Err() != nil
	}()
	method := c.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+c.path, bytes.NewReader(c.body))
	if err != nil {
		return answer{err: err}
	}
	if c.header != nil {
		r.Header = c.header.Clone()
	}
	r.Host = c.host
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	a.status, a.header = res.StatusCode, res.Header
	kept := make([]byte, 1, 1<<10)
	if _, err := io.ReadFull(res.Body, kept); err != nil {
		if !errors.Is(err, io.EOF) {
			a.err = err
		}
		return a
	}
	a.first = time.Since(began)
	rest := bytes.NewBuffer(kept)
	_, err = io.Copy(rest, io.LimitReader(res.Body, maxKept))
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	a.body, a.err = rest.String(), err
	return a
}

// close ends the idle connections.
func (s *sender) close() { s.client.CloseIdleConnections() }

// A tally counts outcomes of calls and keeps a sample of each.
type tally struct {
	mu      sync.Mutex
	counts  map[string]int
	samples map[string]string
}

func (t *tally) add(outcome, sample string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts, t.samples = map[string]int{}, map[string]string{}
	}
	if t.counts[outcome]++; t.counts[outcome] == 1 {
		t.samples[outcome] = sample
	}
}
