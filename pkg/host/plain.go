package host

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// minRate is the lowest rate, in bytes a second, at which a client may take an answer that waits for it. The delay
// behind it counts over the whole answer: otherwise a client that takes a byte now and then would hold its connection
// for days.
const minRate = 1 << 10

// plainWriter records whether the handler has begun its answer, and sets the client a deadline for each part of
// it: writes to a client that stopped reading would block for ever.
type plainWriter struct {
	http.ResponseWriter
	wrote    bool
	stall    time.Duration
	extended time.Time     // when the client's deadline was last set
	blocked  time.Duration // time that writes have waited for the client
	taken    int64         // bytes written to the client
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

// Flush sends the bytes written so far.
func (w *plainWriter) Flush() { _ = w.FlushError() } // http.Flusher has no error; the next Write returns it

// FlushError is Flush with an error.
func (w *plainWriter) FlushError() error {
	w.wrote = true
	began := w.extend()
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.count(began, 0)
	return err
}

// extend renews the client's deadline if a noticeable part of it has passed: renewing it for each frame of a stream would
// take longer than making the frame. It returns the time.
func (w *plainWriter) extend() (now time.Time) {
	now = time.Now()
	if now.Sub(w.extended) < w.stall/16 {
		return now
	}
	w.extended = now
	// A writer without deadlines is not a connection.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(w.writeTimeout()))
	return now
}

// writeTimeout returns how long the next write may block.
func (w *plainWriter) writeTimeout() time.Duration {
	earned := time.Duration(float64(w.taken) / minRate * float64(time.Second))
	return min(w.stall, max(0, w.stall+earned-w.blocked))
}

// count records a write of n bytes that started at began. Only writes that block count.
func (w *plainWriter) count(began time.Time, n int) {
	w.taken += int64(n)
	if took := time.Since(began); took > time.Millisecond {
		w.blocked += took
	}
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *plainWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// unusedConns holds the connections that have not sent a request yet. Browsers and SDKs open them ahead of
// need, and http.Server.Shutdown would wait for them for five seconds.
type unusedConns struct {
	mu    sync.Mutex
	ended bool
	conns map[net.Conn]bool
}

// state is a hook for http.Server.ConnState.
func (s *unusedConns) state(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.ended:
		_ = c.Close() // no request was sent
	default:
		if s.conns == nil {
			s.conns = map[net.Conn]bool{}
		}
		s.conns[c] = true
	}
}

// end closes the connections, and those that arrive later.
func (s *unusedConns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.conns {
		_ = c.Close() // no request was sent
	}
	clear(s.conns)
}
