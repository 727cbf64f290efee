package resilience

import (
	"container/list"
	"sync"
	"time"

	"glossa/pkg/intercept"
)

// DefaultBytes is the default size of a [Store], in bytes.
const DefaultBytes = 32 << 20

// A Store keeps answers in memory, for all models and all clients: an answer depends only
// on its request, so every client that sends the same request may receive it. The store
// holds only the hash of a request, and the parts that its answer repeats (Echo).
//
// When the store is full, the least recently used answer is evicted first. An expired
// answer is never returned; its memory is freed within a minute if the store is in use.
// The zero value is an empty store.
type Store struct {
	Bytes int // of all answers, as counted in copy.go; 0 means [DefaultBytes]

	mu      sync.Mutex
	entries map[key]*list.Element // of *entry
	recent  list.List             // the most recently used first
	bytes   int
	swept   time.Time
}

// entry is one answer.
type entry struct {
	key    key
	answer []intercept.Piece // read-only
	bytes  int
	made   time.Time
	until  time.Time
}

const (
	sweepEvery = time.Minute
	largest    = 8   // an answer may take this fraction of a store
	overhead   = 300 // approximate size of an entry without its answer, in bytes: key twice, list, map
)

func (s *Store) limit() int {
	if s.Bytes > 0 {
		return s.Bytes
	}
	return DefaultBytes
}

// largest returns the size of the largest answer that is kept, in bytes.
func (s *Store) largest() int { return s.limit()/largest - overhead }

// get returns the answer of k and the time when it was made, if that is less than keep
// ago: the record may have changed since.
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

// put stores an answer of this many bytes. Of two that were made at the same time the
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

// sweep drops expired entries, about once a minute.
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
