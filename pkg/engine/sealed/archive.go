package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// maxWaiting bounds the blocks that wait to be written; what exceeds it is not kept.
	maxWaiting = 256

	// maxAbsent bounds the names that are known to have no data, and absentFor is how long they
	// are not asked for again: others may write them.
	maxAbsent = 4096
	absentFor = 30 * time.Second

	// rest is how long a store that has failed is left alone.
	rest = 30 * time.Second

	// writeLimit bounds one write.
	writeLimit = time.Minute
)

// An Archive seals blocks into a store, in the background, and reads them.
type Archive struct {
	store Store
	log   func(error) // a failure of the store; names and contents are not in it

	mu      sync.Mutex
	waiting []writing
	idle    chan struct{} // closed when nothing is being written; nil: nothing is
	absent  map[string]time.Time
	resting time.Time // until then
	told    time.Time // when log was called
}

// A Block is a part of a text.
type Block struct {
	Chain  Chain  // after its tokens
	Kind   string // kinds of one place have different names
	Tokens []int
}

type writing struct {
	Block
	data func() ([]byte, error)
	done func(kept bool)
}

// NewArchive returns an archive. log receives failures of the store and of blocks, at most one in
// [rest]; it may be nil.
func NewArchive(store Store, log func(error)) *Archive {
	if log == nil {
		log = func(error) {}
	}
	return &Archive{store: store, log: log, absent: map[string]time.Time{}}
}

// Get returns the data of a block, which has size bytes. The error for what is not there, and
// for anything while the store rests after a failure, is [fs.ErrNotExist].
func (a *Archive) Get(ctx context.Context, b Block, size int64) ([]byte, error) {
	name := b.Chain.Name(b.Kind)
	if a.lacks(name) {
		return nil, fs.ErrNotExist
	}
	sealed, err := a.store.Get(ctx, name, size+int64(tokenBytes*len(b.Tokens)+sealBytes))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.missed(name)
		return nil, fs.ErrNotExist
	case err != nil:
		if ctx.Err() == nil {
			a.failed(err)
		}
		return nil, err
	}
	data, err := b.Chain.open(b.Kind, b.Tokens, sealed)
	if err == nil && int64(len(data)) != size {
		err = errSealed
	}
	if err != nil {
		a.missed(name)
		a.tell(err)
	}
	return data, err
}

// Keep puts a block into the store soon, in another goroutine. It returns false, and calls
// neither function, if too many blocks wait already or the store has failed. data returns the
// block's data, which are overwritten. done is called at the end: kept is true if the store has
// the block.
func (a *Archive) Keep(b Block, data func() ([]byte, error), done func(kept bool)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) >= maxWaiting || time.Now().Before(a.resting) {
		return false
	}
	a.waiting = append(a.waiting, writing{b, data, done})
	if a.idle == nil {
		a.idle = make(chan struct{})
		go a.write()
	}
	return true
}

// write writes what waits, one block after another.
func (a *Archive) write() {
	for {
		a.mu.Lock()
		if len(a.waiting) == 0 {
			close(a.idle)
			a.idle, a.waiting = nil, nil
			a.mu.Unlock()
			return
		}
		w := a.waiting[0]
		a.waiting = a.waiting[1:]
		rests := time.Now().Before(a.resting)
		a.mu.Unlock()
		w.done(!rests && a.put(w))
	}
}

// put writes a block and reports whether that succeeded. A panic is a failure: it would end the process.
func (a *Archive) put(w writing) bool {
	defer func() {
		if cause := recover(); cause != nil {
			a.tell(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	data, err := w.data()
	if err != nil {
		a.tell(err)
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	name := w.Chain.Name(w.Kind)
	if err := a.store.Put(ctx, name, w.Chain.seal(w.Kind, w.Tokens, data)); err != nil {
		a.failed(err)
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.absent, name)
	return true
}

// Flush waits until nothing is being written, or ctx ends.
func (a *Archive) Flush(ctx context.Context) {
	a.mu.Lock()
	idle := a.idle
	a.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// lacks reports whether a name need not be asked for.
func (a *Archive) lacks(name string) bool {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Before(a.absent[name]) || now.Before(a.resting)
}

// missed remembers that a name has no data.
func (a *Archive) missed(name string) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.absent) >= maxAbsent {
		clear(a.absent)
	}
	a.absent[name] = now.Add(absentFor)
}

// Rest leaves the store alone for a while, because it is too slow to be of use.
func (a *Archive) Rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resting = time.Now().Add(rest)
}

// failed lets the store rest.
func (a *Archive) failed(err error) {
	a.Rest()
	a.tell(err)
}

// tell logs a failure, unless it has logged another a moment ago.
func (a *Archive) tell(err error) {
	now := time.Now()
	a.mu.Lock()
	silent := now.Sub(a.told) < rest
	if !silent {
		a.told = now
	}
	a.mu.Unlock()
	if !silent {
		a.log(err)
	}
}
