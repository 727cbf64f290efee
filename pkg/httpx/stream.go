package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// A Framing is the framing of a stream: the bytes around each JSON value, and the bytes that
// its clients skip between two values.
type Framing struct {
	ContentType, Prefix, Suffix string
	KeepAlive                   string // "": clients skip nothing
}

// The framings of the dialects. The keep-alive of server-sent events is a comment (HTML
// standard, 9.2), that of JSON a space before the next value (RFC 8259, 2).
var (
	SSE      = Framing{"text/event-stream; charset=utf-8", "data: ", "\n\n", ": keep-alive\n\n"}
	NDJSON   = Framing{"application/x-ndjson", "", "\n", " "}
	LineFeed = Framing{"application/json", "", "\n\n", " "} // TextSynth
	Plain    = Framing{"text/plain; charset=utf-8", "", "", ""}
)

// BlankLine is a keep-alive of server-sent events for clients that do not know comments, such
// as Aleph Alpha's: a line that ends no event.
const BlankLine = "\n"

// KeptAliveBy returns the framing with another keep-alive.
func (f Framing) KeptAliveBy(text string) Framing {
	f.KeepAlive = text
	return f
}

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

// A Stream sends values to a client as they come. The first one, or a keep-alive before it,
// writes the headers, so an error before that can still have its own status.
type Stream struct {
	w       http.ResponseWriter
	framing Framing
	rec     *Record
	buf     bytes.Buffer
	enc     *json.Encoder

	mu      sync.Mutex // held while the handler or a keep-alive writes
	begun   bool
	sent    time.Time // the last bytes, if there are keep-alives
	skipped bool      // the last bytes are a keep-alive
	lost    error     // of a keep-alive
}

// NewStream returns a new stream on w, the answer to the request that ctx belongs to.
func NewStream(ctx context.Context, w http.ResponseWriter, framing Framing) *Stream {
	s := &Stream{w: w, framing: framing, rec: RecordOf(ctx)}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		return s.lost
	}
	s.skipped = false
	return s.write(s.buf.Bytes())
}

// write sends b at once. The caller holds the lock.
func (s *Stream) write(b []byte) error {
	if !s.begun {
		s.begun = true
		s.begin()
	}
	_, err := s.w.Write(b)
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if err != nil {
		return &llm.Error{Code: Gone, Message: "the client disconnected", Err: err}
	}
	if s.rec.keepAlive > 0 {
		s.sent = time.Now()
	}
	return nil
}

// begin sets the headers of a stream, but keeps a Content-Type that was set before.
func (s *Stream) begin() {
	defer s.rec.lock()()
	h := s.w.Header()
	if h.Get("Content-Type") != "" {
		return
	}
	h.Set("Content-Type", s.framing.ContentType)
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
