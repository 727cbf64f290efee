package resilience

import (
	"container/list"
	"sync"
	"time"

	"glossa/pkg/intercept"
)

// DefaultBytes is what a [Store] may take, bytes.
const DefaultBytes = 32 << 20

// A Store keeps answers in memory, for all models and all clients: an answer depends only
// on its request, so every client that sends the same request may have it. Of a request
// the store holds the hash, and what its answer repeats (Echo).
//
// When the store is full, the least recently used answer is evicted first. An answer that
// is too old is never given out; its memory is freed within a minute if the store is in
// use. The zero value is an empty store.
type Store struct {
	Bytes int // that all answers may take, as counted in copy.go; 0 means [DefaultBytes]

	mu      sync.Mutex
	entries map[key]*list.Element // of *entry
	recent  list.List             // the most recently used in front
	bytes   int
	swept   time.Time
}

// entry is one answer.
type entry struct {
	key    key
	answer []intercept.Piece // not to be changed
	bytes  int
	made   time.Time
	until  time.Time
}

const (
	sweepEvery = time.Minute
	largest    = 8   // an answer may take this part of a store
	overhead   = 300 // bytes of an entry without its answer, about: key twice, list, map
)

func (s *Store) limit() int {
	if s.Bytes > 0 {
		return s.Bytes
	}
	return DefaultBytes
}

// largest returns how many bytes an answer may take.
func (s *Store) largest() int { return s.limit()/largest - overhead }

// get returns the answer of k and when it was made, if that is less than keep ago: the
// record may have changed since.
func (s *Store) get(k key, keep time.Duration) (answer []intercept.Piece, made time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweep(now)
	at := s.entries[k]
	if at == nil {
		return nil, time.Time{}, false
	}
	e := at.Value.(*entry)
	if !now.Before(e.until) || now.Sub(e.made) >= keep {
		s.drop(at)
		return nil, time.Time{}, false
	}
	s.recent.MoveToFront(at)
	return e.answer, e.made, true
}

// put keeps an answer of so many bytes. Of two that were made at the same time the
// later one stays.
func (s *Store) put(k key, answer []intercept.Piece, bytes int, keep time.Duration) {
	if bytes > s.largest() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.sweep(now)
	if at := s.entries[k]; at != nil {
		s.drop(at)
	}
	bytes += overhead
	for s.bytes+bytes > s.limit() {
		s.drop(s.recent.Back())
	}
	if s.entries == nil {
		s.entries = map[key]*list.Element{}
	}
	s.entries[k] = s.recent.PushFront(&entry{k, answer, bytes, now, now.Add(keep)})
	s.bytes += bytes
}

func (s *Store) drop(at *list.Element) {
	e := s.recent.Remove(at).(*entry)
	delete(s.entries, e.key)
	s.bytes -= e.bytes
}

// sweep drops what is too old, now and then.
func (s *Store) sweep(now time.Time) {
	if now.Sub(s.swept) < sweepEvery {
		return
	}
	s.swept = now
	for at := s.recent.Front(); at != nil; {
		next := at.Next()
		if !now.Before(at.Value.(*entry).until) {
			s.drop(at)
		}
		at = next
	}
}
