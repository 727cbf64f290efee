package bucket

import (
	"context"
	"sync"
)

// Headers, configurations and tensors that are converted are read in small pieces, many of
// them again and again. They come in blocks; who reads on after one finds the next ones
// already on their way.
const (
	blockSize = 256 << 10 // bytes
	ahead     = 8         // blocks
	maxKept   = 16 << 20  // bytes
)

// blocks are those that were used last.
type blocks struct {
	mu   sync.Mutex
	all  map[place]*block
	kept int64 // bytes
	tick int64 // counts uses
}

// A place is where a block lies.
type place struct {
	key   string
	etag  ETag
	index int64
}

// A block is some bytes of an object.
type block struct {
	ready chan struct{} // closed when the rest is set
	data  []byte
	err   error
	size  int64

	used int64 // when, in ticks; under blocks.mu
}

// read copies bytes, which lie within the object.
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

// take returns a block, and begins to read it, and those after it if the one before is
// there too.
func (b *blocks) take(o *object, index int64) *block {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.get(o, index)
	if _, ok := b.all[place{o.key, o.etag, index - 1}]; ok {
		for next := index + 1; next <= index+ahead && next*blockSize < o.size; next++ {
			b.get(o, next)
		}
	}
	return one
}

// get returns a block, which is read if it is not there; b.mu is held.
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
	go func() { // it ends with the read, which is bounded in time
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

// drop forgets a block that could not be read.
func (b *blocks) drop(where place, one *block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[where] == one {
		delete(b.all, where)
		b.kept -= one.size
	}
}

// makeRoom forgets the blocks that were not used for the longest time until one of a size
// fits, whose bytes it counts; b.mu is held.
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
