package httpx

import (
	"bytes"
	"encoding/json"
	"net/http"

	"glossa/pkg/llm"
)

// A Framing is the framing of a stream: the bytes around each JSON value.
type Framing struct{ ContentType, Prefix, Suffix string }

// The framings of the dialects.
var (
	SSE      = Framing{"text/event-stream; charset=utf-8", "data: ", "\n\n"} // HTML standard, 9.2
	NDJSON   = Framing{"application/x-ndjson", "", "\n"}
	LineFeed = Framing{"application/json", "", "\n\n"} // TextSynth, seed 001
	Plain    = Framing{"text/plain; charset=utf-8", "", ""}
)

// Named returns the framing of server-sent events with a name.
func (f Framing) Named(event string) Framing {
	f.Prefix = "event: " + event + "\n" + f.Prefix
	return f
}

// Frame returns v as JSON in one frame.
func (f Framing) Frame(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := f.encode(&b, enc, v)
	b.WriteString(f.Suffix)
	return b.Bytes(), err
}

// encode writes the start of a frame and v to b, the buffer of enc.
func (f Framing) encode(b *bytes.Buffer, enc *json.Encoder, v any) error {
	b.WriteString(f.Prefix)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder's line feed
	return nil
}

// A Stream sends values to a client as they come. The first one writes the headers, so
// an error before it can still have its own status.
type Stream struct {
	w       http.ResponseWriter
	framing Framing
	buf     bytes.Buffer
	enc     *json.Encoder
	begun   bool
}

// NewStream returns a new stream on w.
func NewStream(w http.ResponseWriter, framing Framing) *Stream {
	s := &Stream{w: w, framing: framing}
	s.enc = json.NewEncoder(&s.buf)
	s.enc.SetEscapeHTML(false)
	return s
}

// Send writes v as JSON in one frame and flushes it. A [Gone] error means that
// the client disconnected.
func (s *Stream) Send(v any) error {
	s.buf.Reset()
	if err := s.framing.encode(&s.buf, s.enc, v); err != nil {
		return err
	}
	return s.flush()
}

// Event is [Stream.Send] of a named server-sent event.
func (s *Stream) Event(name string, v any) error {
	s.buf.Reset()
	if err := s.framing.Named(name).encode(&s.buf, s.enc, v); err != nil {
		return err
	}
	return s.flush()
}

// Text writes text verbatim in one frame and flushes it.
func (s *Stream) Text(text string) error {
	s.buf.Reset()
	s.buf.WriteString(s.framing.Prefix)
	s.buf.WriteString(text)
	return s.flush()
}

func (s *Stream) flush() error {
	s.buf.WriteString(s.framing.Suffix)
	if !s.begun {
		s.begun = true
		begin(s.w, s.framing)
	}
	_, err := s.w.Write(s.buf.Bytes())
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if err != nil {
		return &llm.Error{Code: Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}

// begin sets the headers of a stream, but keeps a Content-Type that was set before.
func begin(w http.ResponseWriter, framing Framing) {
	h := w.Header()
	if h.Get("Content-Type") != "" {
		return
	}
	h.Set("Content-Type", framing.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies such as nginx hold streams back otherwise
}

// usualSize is the size that most answers stay below, in bytes.
const usualSize = 2 << 10

// JSON writes v with the status. A [Gone] error means that the client disconnected.
func JSON(w http.ResponseWriter, status int, v any) error {
	var buf bytes.Buffer
	buf.Grow(usualSize)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(buf.Bytes()); err != nil {
		return &llm.Error{Code: Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}
