package bucket

import (
	"context"
	"sync"
)

// Headers, configurations and tensors to be converted are read in small pieces, often
// repeatedly. These reads use cached blocks; a sequential reader gets read-ahead.
const (
	blockSize = 256 << 10 // bytes
	mostSmall = 1 << 20   // bytes of such a read
	readAhead = 8         // blocks
	maxKept   = 16 << 20  // bytes
)

// blocks is a cache of blocks, evicted least recently used first.
type blocks struct {
	mu   sync.Mutex
	all  map[place]*block
	kept int64 // bytes
	tick int64 // counts uses
}

// A place identifies a block.
type place struct {
	key   string
	etag  ETag
	index int64
}

// A block is a range of bytes of an object.
type block struct {
	ready chan struct{} // closed when the other fields are set
	data  []byte
	err   error
	size  int64

	used int64 // tick of the last use; under blocks.mu
}

// read copies bytes, which must lie within the object.
func (b *blocks) read(o *object, p []byte, at int64) (done int64, err error) {
	for done < int64(len(p)) {
		index := (at + done) / blockSize
		one := b.take(o, index)
		<-one.ready
		if one.err != nil {
			return done, one.err
		}
		done += int64(copy(p[done:], one.data[at+done-index*blockSize:]))
	}
	return done, nil
}

// take returns a block and starts to read it, and also the following ones if the
// previous one is cached.
func (b *blocks) take(o *object, index int64) *block {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.get(o, index)
	if _, ok := b.all[place{o.key, o.etag, index - 1}]; ok {
		for next := index + 1; next <= index+readAhead && next*blockSize < o.size; next++ {
			b.get(o, next)
		}
	}
	return one
}

// get returns a block, and starts to read it if it is not cached; b.mu is held.
func (b *blocks) get(o *object, index int64) *block {
	where := place{o.key, o.etag, index}
	b.tick++
	if one := b.all[where]; one != nil {
		one.used = b.tick
		return one
	}
	one := &block{ready: make(chan struct{}), size: min(blockSize, o.size-index*blockSize), used: b.tick}
	b.makeRoom(one.size)
	if b.all == nil {
		b.all = map[place]*block{}
	}
	b.all[where] = one
	own := *o
	go func() { // ends with the read, whose time is bounded
		data := make([]byte, one.size)
		if _, one.err = own.read(context.Background(), data, index*blockSize); one.err == nil {
			one.data = data
		} else {
			b.drop(where, one)
		}
		close(one.ready)
	}()
	return one
}

// drop removes a block that could not be read.
func (b *blocks) drop(where place, one *block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[where] == one {
		delete(b.all, where)
		b.kept -= one.size
	}
}

// makeRoom evicts the least recently used blocks until size bytes fit, and counts these;
// b.mu is held.
func (b *blocks) makeRoom(size int64) {
	for b.kept+size > maxKept {
		var oldest place
		for where, one := range b.all {
			if o := b.all[oldest]; o == nil || one.used < o.used {
				oldest = where
			}
		}
		b.kept -= b.all[oldest].size
		delete(b.all, oldest)
	}
	b.kept += size
}
