package checkpoint

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// How a packed model is read that cannot be mapped: in so many pieces at the same time,
// whose sizes are multiples of a step. Object stores give some 90 MB/s a request, after
// some 30 ms.
const (
	fetchAtOnce = 8
	leastStep   = 64 << 10
	mostStep    = 3 << 19
)

// A Fetch brings the tensors of a packed model into memory, in order, while what is there
// is already used. A local file is mapped where the system can.
type Fetch struct {
	file   *File
	memory [][]byte // by tensor
	slab   []byte   // all of it, if it is read; else it is mapped
	sums   []uint32
	pieces []piece
	next   atomic.Int64
	left   []atomic.Int64 // by tensor: pieces

	mu      sync.Mutex
	changed sync.Cond
	there   []bool
	first   int // tensor that is not there
	err     error
	closers []io.Closer
	active  int // goroutines
}

// A piece is some bytes of the file: those of tensors that follow each other, or a part of
// one. Offsets count from the first tensor.
type piece struct {
	from, to    int64
	first, last int // tensors of which it has some
}

// Fetch begins to bring the tensors of a packed model, [IsPack], into memory, which
// allocate makes: zeros that start at multiples of 64 bytes. It takes over the files,
// and closes them when it needs them no more. What lies in a mapped file is there as long as
// the result is held; such files must not be changed, only replaced.
func (f *File) Fetch(allocate func(n int) []byte) (*Fetch, error) {
	sums, err := f.packSums()
	if err != nil {
		return nil, err
	}
	if len(f.parts) != 1 {
		return nil, fmt.Errorf("checkpoint %s: a packed model is one file", f.name)
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if t.Size == 0 || t.Size%packAlign != 0 || i > 0 && t.Offset != f.Tensors[i-1].Offset+f.Tensors[i-1].Size {
			return nil, f.fail(t, fmt.Errorf("%d bytes at %d are no tensor of a packed model", t.Size, t.Offset))
		}
	}
	t := &Fetch{
		file: f, sums: sums, memory: make([][]byte, len(f.Tensors)), left: make([]atomic.Int64, len(f.Tensors)),
		there: make([]bool, len(f.Tensors)), closers: f.closers,
	}
	t.changed.L = &t.mu
	f.closers = nil
	if !t.mapFile() {
		t.reserve(allocate)
	}
	workers := fetchAtOnce
	if t.slab == nil {
		workers = runtime.GOMAXPROCS(0)
	}
	t.active = workers
	for range workers {
		go t.work()
	}
	return t, nil
}

// mapFile maps the file, if it is one and its tensors lie where they can be used.
func (t *Fetch) mapFile() bool {
	f := t.file
	file, ok := f.parts[0].r.(*os.File)
	if !ok || len(f.Tensors) == 0 || f.Tensors[0].Offset%packAlign != 0 {
		return false
	}
	last := &f.Tensors[len(f.Tensors)-1]
	data, err := mapMemory(file, last.Offset+last.Size)
	if err != nil {
		return false
	}
	runtime.AddCleanup(t, unmapMemory, data)
	for i := range f.Tensors {
		info := &f.Tensors[i]
		t.memory[i] = data[info.Offset : info.Offset+info.Size : info.Offset+info.Size]
		t.pieces = append(t.pieces, piece{first: i, last: i})
		t.left[i].Store(1)
	}
	return true
}

// reserve makes the memory that tensors are read into, which lie in it as in the file,
// and cuts it into pieces.
func (t *Fetch) reserve(allocate func(n int) []byte) {
	tensors := t.file.Tensors
	total := int64(0)
	for i := range tensors {
		total += tensors[i].Size
	}
	t.slab = allocate(int(total))
	rest := t.slab
	for i := range tensors {
		size := tensors[i].Size
		t.memory[i], rest = rest[:size:size], rest[size:]
	}
	step := min(max(total/(fetchAtOnce*(fetchAtOnce+1)), leastStep), mostStep)
	tensor, end := 0, int64(0) // the tensor where a piece begins, and where that ends
	for from := int64(0); from < total; {
		p := piece{from: from, to: min(total, from+step*steps(int64(len(t.pieces)), total-from, step))}
		for ; end <= from; tensor++ {
			end += tensors[tensor].Size
		}
		p.first = tensor - 1
		for ; end < p.to; tensor++ {
			end += tensors[tensor].Size
		}
		p.last = tensor - 1
		for i := p.first; i <= p.last; i++ {
			t.left[i].Add(1)
		}
		t.pieces = append(t.pieces, p)
		from = p.to
	}
}

// steps is the size of the piece of a number where rest bytes are left: pieces grow by a
// step each, so that the first layers are soon there, and shrink so at the end, so that
// all who read are done at the same time.
func steps(number, rest, step int64) int64 {
	k := int64(fetchAtOnce)
	for k > 1 && (k-1)*k/2*step >= rest {
		k--
	}
	return min(k, number+1)
}

// work brings one piece after the other, in order.
func (t *Fetch) work() {
	for {
		i := int(t.next.Add(1)) - 1
		if i >= len(t.pieces) {
			break
		}
		p := &t.pieces[i]
		err := t.bring(p)
		for tensor := p.first; tensor <= p.last && err == nil; tensor++ {
			if t.left[tensor].Add(-1) == 0 {
				err = t.check(tensor)
			}
		}
		if err != nil {
			t.fail(err)
			break
		}
	}
	t.end()
}

// bring reads a piece, unless it is mapped.
func (t *Fetch) bring(p *piece) error {
	if t.slab == nil {
		return nil
	}
	tensors := t.file.Tensors
	at := tensors[0].Offset + p.from
	k, err := t.file.parts[0].r.ReadAt(t.slab[p.from:p.to], at)
	if at += int64(k); int64(k) == p.to-p.from {
		return nil
	}
	cut := p.first // the tensor that the reading ended in
	for at >= tensors[cut].Offset+tensors[cut].Size {
		cut++
	}
	return t.file.fail(&tensors[cut], fmt.Errorf("offset %d: %w", at, noEOF(err)))
}

// check compares a tensor's checksum and tells that it is there.
func (t *Fetch) check(tensor int) error {
	info := &t.file.Tensors[tensor]
	if sum := crc32.Checksum(t.memory[tensor], castagnoli()); sum != t.sums[tensor] {
		return t.file.fail(info, fmt.Errorf("checksum %08x, not %08x: the file is damaged", sum, t.sums[tensor]))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.there[tensor] = true
	for t.first < len(t.there) && t.there[t.first] {
		t.first++
	}
	t.changed.Broadcast()
	return nil
}

// fail ends the fetch: what is not there will not come.
func (t *Fetch) fail(err error) {
	t.next.Store(int64(len(t.pieces)))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.changed.Broadcast()
}

// end closes the files with the last goroutine.
func (t *Fetch) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active--; t.active > 0 {
		return
	}
	t.changed.Broadcast()
	for _, c := range t.closers {
		_ = c.Close() // all was read, or t.err says why not
	}
}

// Bytes returns the memory of a tensor, whose content may still be to come.
func (t *Fetch) Bytes(tensor int) []byte { return t.memory[tensor] }

// Wait returns when the tensors up to and with the given one are there, and are what
// their checksums say; no tensor comes after the last. When it returns an error nothing
// is written any more: passes that have begun compute with what is there.
func (t *Fetch) Wait(tensor int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := min(tensor, len(t.there)-1)
	for t.first <= last && (t.err == nil || t.active > 0) {
		t.changed.Wait()
	}
	if t.first > last {
		return nil
	}
	return t.err
}
