package buckettest

import (
	"net/http"
	"sync"
	"time"
)

// A Pace is the speed of a store, so that it does not depend on the machine of the test.
type Pace struct {
	First time.Duration // from a request to the first byte of its answer
	Rate  float64       // of one answer, bytes a second; 0: no bound
	Total float64       // of all answers together, like a network, bytes a second; 0: no bound
}

// S3 returns the pace of a nearby Amazon S3: "Performance design patterns for Amazon S3"
// gives a first byte after some 30 ms and 85 to 90 MB/s a request.
func S3() Pace { return Pace{First: 30 * time.Millisecond, Rate: 90e6} }

// Handler slows the answers of h.
func (p Pace) Handler(h http.Handler) http.Handler {
	all := &meter{rate: p.Total}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(p.First)
		h.ServeHTTP(&slowed{w, &meter{rate: p.Rate}, all}, r)
	})
}

// A meter computes when bytes are sent at a rate.
type meter struct {
	rate float64 // bytes a second; 0: no bound

	mu   sync.Mutex
	free time.Time // when the counted bytes are sent
}

// count returns the time when n more bytes are sent. Unused time is not saved.
func (m *meter) count(n int) time.Time {
	if m.rate == 0 {
		return time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.free.Before(now.Add(-burst)) {
		m.free = now.Add(-burst)
	}
	m.free = m.free.Add(time.Duration(float64(n) / m.rate * float64(time.Second)))
	return m.free
}

// burst is the delay that a sender may catch up with.
const burst = 5 * time.Millisecond

type slowed struct {
	http.ResponseWriter
	own, all *meter
}

// Write implements [io.Writer].
func (s *slowed) Write(data []byte) (int, error) {
	n, err := s.ResponseWriter.Write(data)
	for _, m := range []*meter{s.own, s.all} {
		if ahead := time.Until(m.count(n)); ahead > time.Millisecond {
			time.Sleep(ahead)
		}
	}
	return n, err
}
