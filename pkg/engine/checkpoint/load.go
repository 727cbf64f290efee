package checkpoint

import (
	"errors"
	"io"
	"sync"
)

// Parameters for reading files that cannot be mapped, in concurrent pieces. Object stores
// deliver some 90 MB/s for each request, after some 30 ms.
const (
	loadAtOnce = 16
	leastPiece = 64 << 10
	mostPiece  = 16 << 20
)

// A Load is a file being read into memory in concurrent pieces. Loaded pieces may be used
// before the rest. A Load does not interpret the content, and may begin before the
// content is known: see [Loading].
type Load struct {
	from   int64  // offset in the file of memory[0]
	memory []byte // the content from there on
	piece  int64  // size of a piece in bytes; the last may be smaller

	mu      sync.Mutex
	changed sync.Cond
	next    int    // the next piece to read
	loaded  []bool // by piece
	err     error  // of the first piece that could not be read
	at      int64  // its offset in the file
	active  int    // goroutines
}

// Loading is implemented by files that are already being loaded: [File.Fetch] uses their
// memory instead of reading them again.
type Loading interface {
	Load() *Load // covers the whole file
}

// NewLoad starts reading the bytes from, ..., to-1 of a file into memory from allocate. r
// is read until [Load.Stop] or the end.
func NewLoad(r io.ReaderAt, from, to int64, allocate func(n int) []byte) *Load {
	size := to - from
	l := &Load{from: from, memory: allocate(int(size)), active: loadAtOnce}
	l.changed.L = &l.mu
	rounds := max(1, (size+loadAtOnce*mostPiece-1)/(loadAtOnce*mostPiece))
	l.piece = max(leastPiece, (size+rounds*loadAtOnce-1)/(rounds*loadAtOnce)) // all readers finish at the same time
	l.loaded = make([]bool, (size+l.piece-1)/l.piece)
	for range loadAtOnce {
		go l.work(r)
	}
	return l
}

// work reads pieces in order.
func (l *Load) work(r io.ReaderAt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.next < len(l.loaded) {
		i := l.next
		l.next++
		l.mu.Unlock()
		data := l.memory[int64(i)*l.piece : min(int64(i+1)*l.piece, int64(len(l.memory)))]
		at := l.from + int64(i)*l.piece
		n := 0
		err := orPanic(func() (err error) {
			n, err = r.ReadAt(data, at)
			return err
		})
		l.mu.Lock()
		if n == len(data) {
			l.loaded[i] = true
		} else {
			l.next = len(l.loaded) // missing pieces will not be read
			if l.err == nil {
				l.err, l.at = noEOF(err), at+int64(n)
			}
		}
		l.changed.Broadcast()
	}
	l.active--
	l.changed.Broadcast()
}

// Stop prevents further pieces from being read, and returns when no read is in progress.
func (l *Load) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next < len(l.loaded) && l.err == nil {
		l.err, l.at = errStopped, l.from+int64(l.next)*l.piece
	}
	l.next = len(l.loaded)
	for l.active > 0 {
		l.changed.Wait()
	}
}

var errStopped = errors.New("reading was canceled")

// bytes returns the memory of the bytes from, ..., to-1 of the file, which may not be
// loaded yet.
func (l *Load) bytes(from, to int64) []byte {
	return l.memory[from-l.from : to-l.from : to-l.from]
}

// Wait returns when the bytes from, ..., to-1 of the file are loaded. If they cannot be,
// it returns the error and the offset that was reached.
func (l *Load) Wait(from, to int64) (at int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := (from - l.from) / l.piece; i*l.piece < to-l.from; i++ {
		for !l.loaded[i] {
			if l.err != nil && l.active == 0 { // and nothing is written any more
				return l.at, l.err
			}
			l.changed.Wait()
		}
	}
	return to, nil
}
