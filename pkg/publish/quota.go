package publish

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"glossa/pkg/llm"
)

// quota counts the bytes that one upload writes against the store's limit.
type quota struct {
	s       *Store
	written int64
}

// begin starts counting for an upload. The existing files are counted when the first
// of several concurrent uploads begins.
func (s *Store) begin(ctx context.Context) (*quota, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		used, err := s.usage(ctx)
		if err != nil {
			return nil, err
		}
		s.bytes = used
	}
	s.open++
	return &quota{s: s}, nil
}

// usage adds up the sizes of all files.
func (s *Store) usage(ctx context.Context) (int64, error) {
	used, err := s.models.used(ctx)
	if err != nil {
		return 0, err
	}
	list, err := s.blobs.list(ctx, "")
	for _, b := range list {
		used += b.size
	}
	return used, err
}

// end stops counting. The written bytes stay counted until no upload is in progress,
// because they may still exist.
func (q *quota) end() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.s.open--
}

// giveBack is end for bytes that no longer exist.
func (q *quota) giveBack() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.s.bytes -= q.written
	q.s.open--
}

// writer counts the bytes written to w and stops at the limit.
func (q *quota) writer(w io.WriterAt) io.WriterAt { return &countedWriter{q, w} }

type countedWriter struct {
	q *quota
	w io.WriterAt
}

// WriteAt implements [io.WriterAt].
func (w *countedWriter) WriteAt(p []byte, at int64) (int, error) {
	if err := w.q.take(int64(len(p))); err != nil {
		return 0, err
	}
	return w.w.WriteAt(p, at)
}

// take reserves n bytes.
func (q *quota) take(n int64) error {
	s := q.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(q.written+n, s.bytes+n); err != nil {
		return err
	}
	s.bytes += n
	q.written += n
	return nil
}

// room returns an error if an upload of a size does not fit, where all is the new total.
func (s *Store) room(size, all int64) error {
	switch limit := s.limit(); {
	case size > limit:
		return invalid("checkpoint", nil, "larger than the store's %d bytes", limit)
	case all > limit:
		message := fmt.Sprintf("the store's %d bytes are full: delete a model first", limit)
		return &llm.Error{Code: llm.Full, Param: "checkpoint", Message: message}
	}
	return nil
}

// locks are mutexes by name, created on demand. Names that differ only in case share
// one: they may be the same directory.
type locks struct {
	mu   sync.Mutex
	held map[string]*heldLock
}

type heldLock struct {
	token chan struct{} // full while the lock is held
	users int
}

// lock waits until the name is free or ctx ends.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	name = strings.ToLower(name)
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*heldLock{}
	}
	h := l.held[name]
	if h == nil {
		h = &heldLock{token: make(chan struct{}, 1)}
		l.held[name] = h
	}
	h.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case h.token <- struct{}{}:
		return func() { <-h.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
