package httpx

import (
	"iter"
	"math"
	"time"

	"glossa/pkg/llm"
)

// Await returns chunks, the answer of a model, and sends keep-alives while the range over it
// waits: gateways and proxies end streams that are silent. It sends none after the last chunk
// has come, and none unless [Mux.KeepAlive] is set and the framing has one.
//
// A keep-alive before the first value begins the answer with the status 200. An error after it
// ends the stream, as after any other value.
func (s *Stream) Await(chunks iter.Seq2[llm.Chunk, error]) iter.Seq2[llm.Chunk, error] {
	return Await(s, chunks, func(c llm.Chunk) bool { return c.Usage != nil }) // rule 3 of [llm.Backend]
}

// Await is [Stream.Await] of other values. last reports whether a value is the last one.
func Await[T any](s *Stream, values iter.Seq2[T, error], last func(T) bool) iter.Seq2[T, error] {
	if s.rec.keepAlive <= 0 || s.framing.KeepAlive == "" {
		return values
	}
	return func(yield func(T, error) bool) {
		k := s.startKeepAlive()
		defer k.stop() // even in a panic
		for v, err := range values {
			if err != nil || last(v) {
				k.stop()
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// Skipped reports whether the last bytes of the stream are a keep-alive. It must not be called
// within the range over [Await].
func (s *Stream) Skipped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.skipped
}

// A keepAlive is the timer of a stream's keep-alives. It belongs to the range over [Await],
// whose end stops it. The lock of the stream guards stopped.
type keepAlive struct {
	s       *Stream
	timer   *time.Timer
	stopped bool
}

// startKeepAlive starts the timer of keep-alives.
func (s *Stream) startKeepAlive() *keepAlive {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = time.Now()
	k := &keepAlive{s: s}
	k.timer = time.AfterFunc(math.MaxInt64, k.send)
	k.timer.Reset(s.rec.keepAlive) // only now: send, which may find the lock held, needs the timer
	return k
}

// stop ends the keep-alives. It waits for one that is being written.
func (k *keepAlive) stop() {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	k.stopped = true
	k.timer.Stop()
}

// send sends a keep-alive if the stream has been silent for long enough. If that fails, the
// handler gets the error with its next value.
func (k *keepAlive) send() {
	s, rest := k.s, k.s.rec.keepAlive
	if !s.mu.TryLock() { // the handler writes
		k.timer.Reset(rest)
		return
	}
	defer s.mu.Unlock()
	if k.stopped {
		return
	}
	if silent := time.Since(s.sent); silent < rest {
		rest -= silent
	} else if s.lost = s.write([]byte(s.framing.KeepAlive)); s.lost != nil {
		return
	} else {
		s.skipped = true
	}
	k.timer.Reset(rest)
}
