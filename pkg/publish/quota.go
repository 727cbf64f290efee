package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"glossa/pkg/llm"
)

// quota counts the bytes that one upload writes against the store's limit.
type quota struct {
	s       *Store
	ctx     context.Context // of the upload
	written int64
}

// countLock is a name in [Store.locks] that no model has. It is locked during [Store.count].
const countLock = ""

// begin starts counting for an upload. The existing files are counted when the first
// of several concurrent uploads begins.
func (s *Store) begin(ctx context.Context) (*quota, error) {
	q := &quota{s: s, ctx: ctx}
	if q.join(false) {
		return q, nil
	}
	unlock, err := s.locks.lock(ctx, countLock)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if q.join(false) { // another upload has counted meanwhile
		return q, nil
	}
	if err := s.count(ctx); err != nil {
		return nil, err
	}
	q.join(true)
	return q, nil
}

// join adds an upload to those in progress. The first is added only if the files are counted.
func (q *quota) join(counted bool) bool {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.s.open == 0 && !counted {
		return false
	}
	q.s.open++
	return true
}

// count counts the existing files. While uploads are in progress it can only lower the number
// of bytes, by those that were deleted or replaced: what an upload has written is added,
// because it may not be visible yet. The caller holds countLock.
func (s *Store) count(ctx context.Context) error {
	s.mu.Lock()
	ended, first := s.ended, s.open == 0
	s.mu.Unlock()
	used, err := s.usage(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if used += s.taken - ended; first || used < s.bytes {
		s.bytes = used
	}
	return nil
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

// end stops counting. The written bytes stay counted until the files are counted again,
// because they may still exist.
func (q *quota) end() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.s.ended += q.written
	q.s.open--
}

// giveBack is end for bytes that no longer exist.
func (q *quota) giveBack() {
	q.s.mu.Lock()
	q.s.bytes -= q.written
	q.s.mu.Unlock()
	q.end()
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

// take reserves n bytes. If the store seems full, the files are counted again.
func (q *quota) take(n int64) error {
	err := q.reserve(n)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Full {
		return err
	}
	unlock, err := q.s.locks.lock(q.ctx, countLock)
	if err != nil {
		return internal(q.ctx, err)
	}
	defer unlock()
	if err := q.s.count(q.ctx); err != nil {
		return internal(q.ctx, err)
	}
	return q.reserve(n)
}

// reserve is take without counting again.
func (q *quota) reserve(n int64) error {
	s := q.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(q.written+n, s.bytes+n); err != nil {
		return err
	}
	s.bytes += n
	s.taken += n
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
