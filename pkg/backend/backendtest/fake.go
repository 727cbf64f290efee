// Package backendtest provides a fake of the runtime APIs of Bedrock and SageMaker at
// the wire level, and the tests that both backends pass. It refuses to know models:
// tests supply the answers.
//
// Sources: the API references of Amazon Bedrock Runtime and SageMaker Runtime;
// aws-sdk-go-v2's own encoder makes the frames.
package backendtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// A Request is one received HTTP request.
type Request struct {
	Path   string // escaped
	Header http.Header
	Body   map[string]any
	Stream bool
	Gone   <-chan struct{} // closed when the client closes the connection
}

// A Reply writes the answer to a request.
type Reply struct {
	bedrock bool
	request *Request
	http.ResponseWriter
}

// A Service is the fake. Answer is called for request i, counted from 0.
type Service struct {
	URL    string
	Answer func(i int, r *Request, w *Reply)

	mu       sync.Mutex
	requests []*Request
}

// NewService returns a service that runs until the end of the test.
func NewService(t testing.TB, family string, answer func(i int, r *Request, w *Reply)) *Service {
	s := &Service{Answer: answer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "" { // for a table that had this port before, in another test
			http.NotFound(w, r)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client disconnected
		}
		req := &Request{
			Path: r.URL.EscapedPath(), Header: r.Header, Gone: r.Context().Done(),
			Stream: strings.HasSuffix(r.URL.Path, "-stream"),
		}
		if err := json.Unmarshal(b, &req.Body); err != nil {
			t.Errorf("the body %.200q: %v", b, err)
		}
		if a := r.Header.Get("Authorization"); !strings.HasPrefix(a, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") {
			t.Errorf("it is not signed: %q", a)
		}
		if ct := r.Header.Get("Content-Type"); r.Method != http.MethodPost || ct != "application/json" {
			t.Errorf("%s with %q", r.Method, ct)
		}
		s.mu.Lock()
		i := len(s.requests)
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		s.Answer(i, req, &Reply{family == "bedrock", req, w})
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Requests returns the requests received so far.
func (s *Service) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[:len(s.requests):len(s.requests)]
}

// Whole writes a buffered answer.
func (w *Reply) Whole(payload string) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, payload)
}

// Event writes one event; for SageMaker a line, for ConverseStream an object with the
// event under its name.
func (w *Reply) Event(payload string) {
	if !w.bedrock {
		w.Part([]byte(payload + "\n"))
		return
	}
	if strings.HasSuffix(w.request.Path, "/converse-stream") {
		var event map[string]json.RawMessage
		if err := json.Unmarshal([]byte(payload), &event); err != nil || len(event) != 1 {
			panic("not an event of ConverseStream: " + payload)
		}
		for name, inner := range event {
			w.frame(inner, ":message-type", "event", ":event-type", name, ":content-type", "application/json")
		}
		return
	}
	b, err := json.Marshal(map[string]any{"bytes": []byte(payload), "p": "abcd"})
	if err != nil {
		panic(err)
	}
	w.frame(b, ":message-type", "event", ":event-type", "chunk", ":content-type", "application/json")
}

// Part writes a part of SageMaker's stream.
func (w *Reply) Part(b []byte) {
	w.frame(b, ":message-type", "event", ":event-type", "PayloadPart", ":content-type", "application/octet-stream")
}

// Exception ends a stream with an exception.
func (w *Reply) Exception(name, body string) {
	w.frame([]byte(body), ":message-type", "exception", ":exception-type", name, ":content-type", "application/json")
}

func (w *Reply) frame(payload []byte, headers ...string) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	m := eventstream.Message{Payload: payload}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	eventstream.NewEncoder().Encode(w, m) // fails if the client disconnected
	w.ResponseWriter.(http.Flusher).Flush()
}

// Fail answers with an error; name may be "".
func (w *Reply) Fail(status int, name, body string) {
	if name != "" {
		w.Header().Set("X-Amzn-Errortype", name)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Requestid", "request-1")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// Break closes the connection in the middle of the answer.
func (w *Reply) Break() { panic(http.ErrAbortHandler) }
