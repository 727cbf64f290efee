package publish

import (
	"context"
	"io"
	"io/fs"
	"strings"
	"sync"

	"glossa/pkg/llm"
)

// quota counts the bytes that one upload writes against the store's limit.
type quota struct {
	s       *Store
	written int64
}

// begin opens an account. The files are counted when the first of several uploads
// under way begins.
func (s *Store) begin() (*quota, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == 0 {
		used, err := usage(s.root.FS())
		if err != nil {
			return nil, err
		}
		s.used = used
	}
	s.open++
	return &quota{s: s}, nil
}

// end closes the account. What it wrote stays counted until no upload is under way:
// whether it is still there is not known here.
func (q *quota) end() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.s.open--
}

// usage adds up the sizes of all files.
func usage(fsys fs.FS) (total int64, err error) {
	err = fs.WalkDir(fsys, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// writer counts what goes to w and stops at the limit.
func (q *quota) writer(w io.Writer) io.Writer { return &countedWriter{q, w} }

type countedWriter struct {
	q *quota
	w io.Writer
}

func (w *countedWriter) Write(p []byte) (int, error) {
	if err := w.q.take(int64(len(p))); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// take reserves n bytes.
func (q *quota) take(n int64) error {
	s := q.s
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBytes
	}
	switch {
	case q.written+n > limit:
		return llm.Errorf(llm.Invalid, "larger than the store's %d bytes", limit)
	case s.used+n > limit:
		return llm.Errorf(llm.Overloaded, "the store's %d bytes are full: delete a model first", limit)
	}
	s.used += n
	q.written += n
	return nil
}

// locks are mutexes by name, made when they are wanted. Names that differ in case
// alone share one: they may be the same directory.
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
