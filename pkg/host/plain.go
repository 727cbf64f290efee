package host

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// plainWriter knows whether the handler has begun its answer, and gives its client a time to take each part of it:
// writes to one that has stopped reading would block for ever.
type plainWriter struct {
	http.ResponseWriter
	wrote    bool
	stall    time.Duration
	extended time.Time // when the client got its time
}

// WriteHeader begins the answer; informational statuses do not.
func (w *plainWriter) WriteHeader(status int) {
	w.wrote = w.wrote || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

// Write begins or continues the answer.
func (w *plainWriter) Write(p []byte) (n int, err error) {
	w.wrote = true
	for {
		w.extend()
		part := p[n:min(len(p), n+stallBytes)]
		written, err := w.ResponseWriter.Write(part)
		n += written
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush sends what was written.
func (w *plainWriter) Flush() { _ = w.FlushError() } // http.Flusher has no error; the next Write returns it

// FlushError is Flush with the reason why it failed.
func (w *plainWriter) FlushError() error {
	w.wrote = true
	w.extend()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// extend gives the client its time anew, if it has used a noticeable part of it: to say so for each frame of a stream would
// take longer than to make one.
func (w *plainWriter) extend() {
	now := time.Now()
	if now.Sub(w.extended) < w.stall/16 {
		return
	}
	w.extended = now
	// A writer without deadlines is no connection.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(w.stall))
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *plainWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// silence has the connections that have sent no request yet. Browsers and SDKs open them ahead of need, and
// http.Server.Shutdown would wait for them for five seconds.
type silence struct {
	mu    sync.Mutex
	ended bool
	conns map[net.Conn]bool
}

// state fits http.Server.ConnState.
func (s *silence) state(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.ended:
		_ = c.Close() // nothing was said
	default:
		if s.conns == nil {
			s.conns = map[net.Conn]bool{}
		}
		s.conns[c] = true
	}
}

// end closes the connections, those that still come in too.
func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close() // nothing was said
	}
	clear(s.conns)
}
