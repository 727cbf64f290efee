package host

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// slowest is how many bytes a second a client takes at least of an answer that waits for it. What it is late by counts
// over the whole answer: one that takes a byte now and then would hold its connection for days.
const slowest = 1 << 10

// plainWriter knows whether the handler has begun its answer, and gives its client a time to take each part of it:
// writes to one that has stopped reading would block for ever.
type plainWriter struct {
	http.ResponseWriter
	wrote    bool
	stall    time.Duration
	extended time.Time     // when the client got its time
	blocked  time.Duration // how long writes have waited for the client
	taken    int64         // bytes that it took
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
		began := w.extend()
		part := p[n:min(len(p), n+stallBytes)]
		written, err := w.ResponseWriter.Write(part)
		w.count(began, written)
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
	began := w.extend()
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.count(began, 0)
	return err
}

// extend gives the client its time anew, if it has used a noticeable part of it: to say so for each frame of a stream would
// take longer than to make one. It returns the time.
func (w *plainWriter) extend() (now time.Time) {
	now = time.Now()
	if now.Sub(w.extended) < w.stall/16 {
		return now
	}
	w.extended = now
	// A writer without deadlines is no connection.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(w.patience()))
	return now
}

// patience is how long the next write may block.
func (w *plainWriter) patience() time.Duration {
	earned := time.Duration(float64(w.taken) / slowest * float64(time.Second))
	return min(w.stall, max(0, w.stall+earned-w.blocked))
}

// count takes note of a write that began then. Only those that block count.
func (w *plainWriter) count(began time.Time, n int) {
	w.taken += int64(n)
	if took := time.Since(began); took > time.Millisecond {
		w.blocked += took
	}
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
