package checkpoint

import (
	"errors"
	"io"
	"sync"
)

// How a file is read that cannot be mapped: in pieces at the same time. Object stores give
// some 90 MB/s a request, after some 30 ms.
const (
	loadAtOnce = 16
	leastPiece = 64 << 10
	mostPiece  = 16 << 20
)

// A Load is a file on its way into memory, in pieces that are read at the same time. What
// there is of it may be used before the rest has come; nothing of it is looked at. A load
// may begin before it is known what the file holds: see [Loading].
type Load struct {
	from   int64  // offset in the file of the first byte in memory
	memory []byte // what lies from there on
	piece  int64  // bytes of each; the last may have fewer

	mu      sync.Mutex
	changed sync.Cond
	next    int    // piece that is to be read
	there   []bool // by piece
	err     error  // of the first piece that could not be read
	at      int64  // where in the file
	active  int    // goroutines
}

// Loading is implemented by files that are on their way into memory: [File.Fetch] uses that
// memory, from which they need not be read again.
type Loading interface {
	Load() *Load // of the whole file
}

// NewLoad begins to bring the bytes of a file from one offset up to another into memory,
// which allocate makes. r is read until [Load.Stop] or the end.
func NewLoad(r io.ReaderAt, from, to int64, allocate func(n int) []byte) *Load {
	size := to - from
	l := &Load{from: from, memory: allocate(int(size)), active: loadAtOnce}
	l.changed.L = &l.mu
	rounds := max(1, (size+loadAtOnce*mostPiece-1)/(loadAtOnce*mostPiece))
	l.piece = max(leastPiece, (size+rounds*loadAtOnce-1)/(rounds*loadAtOnce)) // all who read are done at the same time
	l.there = make([]bool, (size+l.piece-1)/l.piece)
	for range loadAtOnce {
		go l.work(r)
	}
	return l
}

// work reads one piece after the other, in order.
func (l *Load) work(r io.ReaderAt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.next < len(l.there) {
		i := l.next
		l.next++
		l.mu.Unlock()
		data := l.memory[int64(i)*l.piece : min(int64(i+1)*l.piece, int64(len(l.memory)))]
		at := l.from + int64(i)*l.piece
		n, err := r.ReadAt(data, at)
		l.mu.Lock()
		if n == len(data) {
			l.there[i] = true
		} else {
			l.next = len(l.there) // what is not there will not come
			if l.err == nil {
				l.err, l.at = noEOF(err), at+int64(n)
			}
		}
		l.changed.Broadcast()
	}
	l.active--
	l.changed.Broadcast()
}

// Stop has no more pieces begun, and returns when none is being read.
func (l *Load) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next < len(l.there) && l.err == nil {
		l.err, l.at = errStopped, l.from+int64(l.next)*l.piece
	}
	l.next = len(l.there)
	for l.active > 0 {
		l.changed.Wait()
	}
}

var errStopped = errors.New("reading was stopped")

// bytes returns the memory of what lies in the file from one offset up to another, whose
// content may still be to come.
func (l *Load) bytes(from, to int64) []byte {
	return l.memory[from-l.from : to-l.from : to-l.from]
}

// Wait returns when what lies in the file from one offset up to another is there, or why
// it will not come, and how far it came.
func (l *Load) Wait(from, to int64) (at int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := (from - l.from) / l.piece; i*l.piece < to-l.from; i++ {
		for !l.there[i] {
			if l.err != nil && l.active == 0 { // and nothing is written any more
				return l.at, l.err
			}
			l.changed.Wait()
		}
	}
	return to, nil
}
