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

// How a packed model is read that cannot be mapped: so much at once, so often at the same
// time. Object stores give some 90 MB/s a request.
const (
	fetchPiece  = 8 << 20
	fetchAtOnce = 8
)

// A Fetch brings the tensors of a packed model into memory, in order, while what is there
// is already used. A local file is mapped where the system can.
type Fetch struct {
	file   *File
	memory [][]byte // by tensor
	sums   []uint32
	pieces []piece
	read   bool // else mapped
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

// A piece is some bytes of a tensor.
type piece struct {
	tensor   int
	from, to int64
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
	for i := range f.Tensors {
		if t := &f.Tensors[i]; t.Size == 0 || t.Size%packAlign != 0 {
			return nil, f.fail(t, fmt.Errorf("%d bytes are no tensor of a packed model", t.Size))
		}
	}
	t := &Fetch{
		file: f, sums: sums, memory: make([][]byte, len(f.Tensors)), left: make([]atomic.Int64, len(f.Tensors)),
		there: make([]bool, len(f.Tensors)), closers: f.closers,
	}
	t.changed.L = &t.mu
	f.closers = nil
	if !t.mapFile() {
		t.read = true
		t.reserve(allocate)
	}
	workers := fetchAtOnce
	if !t.read {
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
	if !ok || len(f.parts) > 1 || len(f.Tensors) == 0 || f.Tensors[0].Offset%packAlign != 0 {
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
		t.add(i, info.Size, info.Size)
	}
	return true
}

// reserve makes the memory that tensors are read into.
func (t *Fetch) reserve(allocate func(n int) []byte) {
	total := int64(0)
	for i := range t.file.Tensors {
		total += t.file.Tensors[i].Size
	}
	slab := allocate(int(total))
	for i := range t.file.Tensors {
		size := t.file.Tensors[i].Size
		t.memory[i], slab = slab[:size:size], slab[size:]
		t.add(i, size, fetchPiece)
	}
}

// add cuts a tensor into pieces.
func (t *Fetch) add(tensor int, size, step int64) {
	for from := int64(0); from < size; from += step {
		t.pieces = append(t.pieces, piece{tensor, from, min(from+step, size)})
		t.left[tensor].Add(1)
	}
}

// work brings one piece after the other, in order.
func (t *Fetch) work() {
	for {
		i := int(t.next.Add(1)) - 1
		if i >= len(t.pieces) {
			break
		}
		p := t.pieces[i]
		err := t.bring(p)
		if err == nil && t.left[p.tensor].Add(-1) == 0 {
			err = t.check(p.tensor)
		}
		if err != nil {
			t.fail(err)
			break
		}
	}
	t.end()
}

// bring reads a piece, unless it is mapped.
func (t *Fetch) bring(p piece) error {
	if !t.read {
		return nil
	}
	info := &t.file.Tensors[p.tensor]
	if k, err := t.file.parts[info.part].r.ReadAt(t.memory[p.tensor][p.from:p.to], info.Offset+p.from); int64(k) < p.to-p.from {
		return t.file.fail(info, fmt.Errorf("offset %d: %w", info.Offset+p.from+int64(k), noEOF(err)))
	}
	return nil
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
	for _, c := range t.closers {
		_ = c.Close() // all was read, or t.err says why not
	}
}

// Bytes returns the memory of a tensor, whose content may still be to come.
func (t *Fetch) Bytes(tensor int) []byte { return t.memory[tensor] }

// Wait returns when the tensors up to and with the given one are there, and are what
// their checksums say; no tensor comes after the last.
func (t *Fetch) Wait(tensor int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := min(tensor, len(t.there)-1)
	for t.first <= last && t.err == nil {
		t.changed.Wait()
	}
	if t.first > last {
		return nil
	}
	return t.err
}
