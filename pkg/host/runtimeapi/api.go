package runtimeapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	integrationType = "application/vnd.awslambda.http-integration-response"
	maxPrelude      = 1 << 20
	preludeEnd      = "\x00\x00\x00\x00\x00\x00\x00\x00"
	maxError        = 1 << 20
	typeTooLarge    = "Function.ResponseSizeTooLarge"
)

// routes serves the part of the Runtime API and the Extensions API that runtimes use.
func (s *sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", s.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", s.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", s.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", s.serveInitError)
	mux.HandleFunc("POST /2020-01-01/extension/register", s.serveRegister)
	mux.HandleFunc("GET /2020-01-01/extension/event/next", s.serveExtensionNext)
	return mux
}

// serveNext blocks until there is an invocation.
func (s *sandbox) serveNext(w http.ResponseWriter, r *http.Request) {
	s.readyOnce.Do(func() {
		s.initDuration = time.Since(s.begun)
		close(s.ready)
	})
	var v *invocation
	select {
	case v = <-s.next:
	case <-r.Context().Done():
		return
	case <-s.exited:
		return
	}
	deadline, ok := s.begin(v)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", v.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", s.opts.ARN)
	id := strings.ReplaceAll(newID(), "-", "")
	h.Set("Lambda-Runtime-Trace-Id", fmt.Sprintf("Root=1-%x-%s;Sampled=0", time.Now().Unix(), id[:24]))
	_, _ = w.Write(v.event) // wait notices a process that is gone
}

// serveResponse receives an answer, buffered or streamed.
func (s *sandbox) serveResponse(w http.ResponseWriter, r *http.Request) {
	v := s.take(r.PathValue("id"))
	if v == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no such invocation is running")
		return
	}
	var err error
	if contentType := r.Header.Get("Content-Type"); contentType == integrationType {
		err = s.takeStream(v, contentType, r)
	} else {
		err = s.takeBuffered(v, contentType, r)
	}
	fe, _ := errors.AsType[*FunctionError](err)
	switch {
	case fe != nil && fe.Type == typeTooLarge:
		s.end(v, err)
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", fe.Message)
	case err != nil:
		s.end(v, err)
		refuse(w, http.StatusBadRequest, "InvalidResponse", err.Error())
	default:
		// The function may ask for the next invocation as soon as it receives this reply, so end this one
		// first.
		s.end(v, trailed(r.Trailer))
		accept(w)
	}
}

func (s *sandbox) takeBuffered(v *invocation, contentType string, r *http.Request) error {
	payload, err := io.ReadAll(io.LimitReader(r.Body, int64(s.opts.ResponseLimit)+1))
	if err != nil {
		return s.broken(v, err)
	}
	if len(payload) > s.opts.ResponseLimit {
		return &FunctionError{
			Type:    typeTooLarge,
			Message: fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", s.opts.ResponseLimit),
		}
	}
	if err := trailed(r.Trailer); err != nil {
		return nil // serveResponse ends the invocation with this error
	}
	_, err = v.answer(contentType, nil, payload)
	return err
}

// takeStream forwards the payload as it arrives. A reader that left does not stop the function.
func (s *sandbox) takeStream(v *invocation, contentType string, r *http.Request) error {
	body := bufio.NewReader(r.Body)
	head, err := readPrelude(body)
	if err != nil {
		if trailed(r.Trailer) != nil {
			return nil // the function failed before its prelude; serveResponse ends the invocation with that
		}
		if _, malformed := errors.AsType[*FunctionError](err); malformed {
			return err
		}
		return s.broken(v, err)
	}
	pipe, err := v.answer(contentType, head, nil)
	if err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for gone := false; ; {
		n, err := body.Read(buf)
		if n > 0 && !gone {
			_, werr := pipe.Write(buf[:n])
			gone = werr != nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return s.broken(v, err)
		}
	}
}

// broken returns the reason why a request body broke off. Most likely the process has ended, and wait is about to
// notice.
func (s *sandbox) broken(v *invocation, err error) error {
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-v.ended:
	case <-timer.C:
	}
	return &FunctionError{Type: "Runtime.TruncatedResponse", Message: fmt.Sprintf("the answer broke off: %v", err)}
}

// readPrelude reads the JSON prelude of a streaming response and the eight NUL bytes after it. A malformed one
// is a *FunctionError.
func readPrelude(r *bufio.Reader) (*Prelude, error) {
	var head []byte
	for !bytes.HasSuffix(head, []byte(preludeEnd)) {
		b, err := r.ReadByte()
		if err == io.EOF {
			return nil, malformed("the prelude of %d bytes does not end in eight NUL bytes", len(head))
		}
		if err != nil {
			return nil, err
		}
		if head = append(head, b); len(head) > maxPrelude {
			return nil, malformed("the prelude has more than %d bytes", maxPrelude)
		}
	}
	p := new(Prelude)
	if err := json.Unmarshal(head[:len(head)-len(preludeEnd)], p); err != nil {
		return nil, malformed("the prelude is not JSON: %v", err)
	}
	if p.StatusCode == 0 {
		p.StatusCode = http.StatusOK
	}
	if p.StatusCode < 200 || p.StatusCode > 999 {
		return nil, malformed("the prelude's status %d is not one of an answer", p.StatusCode)
	}
	return p, nil
}

func malformed(format string, args ...any) error {
	return &FunctionError{Type: "Runtime.InvalidResponse", Message: fmt.Sprintf(format, args...)}
}

// serveError receives the failure of one invocation.
func (s *sandbox) serveError(w http.ResponseWriter, r *http.Request) {
	v := s.take(r.PathValue("id"))
	if v == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no such invocation is running")
		return
	}
	e, err := readError(r)
	if err != nil {
		s.end(v, s.broken(v, err))
		return
	}
	s.end(v, e)
	accept(w)
}

// serveInitError receives the reason why the function cannot start.
func (s *sandbox) serveInitError(w http.ResponseWriter, r *http.Request) {
	e, err := readError(r)
	if err != nil {
		return
	}
	s.fail(e)
	accept(w)
}

func readError(r *http.Request) (*FunctionError, error) {
	payload, err := io.ReadAll(io.LimitReader(r.Body, maxError))
	if err != nil {
		return nil, err
	}
	return reported(r.Header.Get("Lambda-Runtime-Function-Error-Type"), payload), nil
}

func (s *sandbox) serveRegister(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	s.extension = true
	s.mu.Unlock()
	w.Header().Set("Lambda-Extension-Identifier", newID())
	writeJSON(w, http.StatusOK, map[string]string{
		"functionName": s.opts.Name, "functionVersion": "$LATEST", "handler": "bootstrap",
	})
}

// serveExtensionNext blocks until the process ends: extensions receive no events here.
func (s *sandbox) serveExtensionNext(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.exited:
	}
}

func accept(w http.ResponseWriter) {
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, map[string]string{"errorType": kind, "errorMessage": message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a peer that is gone receives no answer
}
