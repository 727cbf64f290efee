package checkpoint

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Fetch loads the tensors of a packed model into memory, in order; loaded tensors can
// be used before the rest. A local file is mapped if the system supports it.
type Fetch struct {
	file   *File
	memory [][]byte // by tensor
	load   *Load    // nil: the file is mapped
	mapped []byte   // nil: the file is read
	later  func(tensor int) bool
	sums   []uint32
	next   atomic.Int64 // tensor to check next

	mu      sync.Mutex
	changed sync.Cond
	there   []bool
	first   int // the first tensor that is not loaded
	err     error
	closers []io.Closer
	active  int // goroutines
}

// Fetch starts loading the tensors of a packed model, [IsPack], into memory from
// allocate: zeros aligned to 64 bytes. A file that is already being loaded, [Loading],
// provides its own memory. Fetch takes ownership of the files and closes them when it no
// longer needs them. The content of a mapped file stays available as long as the result
// is referenced; such files must not be changed, only replaced.
//
// If later is set, the file must be one that can be mapped, [File.CanMap]. Tensors for which it
// returns true stay in the file: they count as loaded, are read when they are used, and are not
// checked, see [Fetch.Bring].
func (f *File) Fetch(allocate func(n int) []byte, later func(tensor int) bool) (*Fetch, error) {
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
			return nil, f.fail(t, fmt.Errorf("%d bytes at %d are not a tensor of the packed model", t.Size, t.Offset))
		}
	}
	t := &Fetch{
		file: f, later: later, sums: sums, memory: make([][]byte, len(f.Tensors)), there: make([]bool, len(f.Tensors)), closers: f.closers,
		active: runtime.GOMAXPROCS(0),
	}
	t.changed.L = &t.mu
	mapped := len(f.Tensors) == 0 || t.mapFile()
	if !mapped && later != nil {
		return nil, fmt.Errorf("checkpoint %s: it cannot be mapped, so that its tensors cannot stay in it", f.name)
	}
	f.closers = nil
	if !mapped {
		t.loadFile(allocate)
	}
	for range t.active {
		go t.work()
	}
	return t, nil
}

// CanMap reports whether a packed model is a local file that the system can map, with tensors
// that are aligned.
func (f *File) CanMap() bool {
	if len(f.parts) != 1 || len(f.Tensors) == 0 || f.Tensors[0].Offset%packAlign != 0 {
		return false
	}
	_, local := f.parts[0].r.(*os.File)
	return local && mapping
}

// mapFile maps the file if it can.
func (t *Fetch) mapFile() bool {
	f := t.file
	if !f.CanMap() {
		return false
	}
	file := f.parts[0].r.(*os.File)
	last := &f.Tensors[len(f.Tensors)-1]
	data, err := mapMemory(file, last.Offset+last.Size)
	if err != nil {
		return false
	}
	t.mapped = data
	runtime.AddCleanup(t, unmapMemory, data)
	for i := range f.Tensors {
		info := &f.Tensors[i]
		t.memory[i] = data[info.Offset : info.Offset+info.Size : info.Offset+info.Size]
	}
	return true
}

// loadFile starts loading the file, unless it is already being loaded with aligned
// tensors. The layout in memory is that of the file.
func (t *Fetch) loadFile(allocate func(n int) []byte) {
	f := t.file
	first, last := f.Tensors[0].Offset, &f.Tensors[len(f.Tensors)-1]
	if file, ok := f.parts[0].r.(Loading); ok && first%packAlign == 0 {
		t.load = file.Load()
	} else {
		t.load = NewLoad(f.parts[0].r, first, last.Offset+last.Size, allocate)
	}
	for i := range f.Tensors {
		t.memory[i] = t.load.bytes(f.Tensors[i].Offset, f.Tensors[i].Offset+f.Tensors[i].Size)
	}
}

// work checks the tensors in order, as they are loaded.
func (t *Fetch) work() {
	for {
		i := int(t.next.Add(1)) - 1
		if i >= len(t.memory) {
			break
		}
		if err := orPanic(func() error { return t.check(i) }); err != nil {
			t.fail(err)
			break
		}
	}
	t.end()
}

// check waits for a tensor, compares its checksum and marks it as loaded.
func (t *Fetch) check(tensor int) error {
	if t.later == nil || !t.later(tensor) {
		if err := t.read(tensor); err != nil {
			return err
		}
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

// read waits for a tensor and compares its checksum.
func (t *Fetch) read(tensor int) error {
	info := &t.file.Tensors[tensor]
	if t.load != nil {
		if at, err := t.load.Wait(info.Offset, info.Offset+info.Size); err != nil {
			return t.file.fail(t.file.holder(at), fmt.Errorf("offset %d: %w", at, err))
		}
	}
	if sum := crc32.Checksum(t.memory[tensor], castagnoli()); sum != t.sums[tensor] {
		return t.file.fail(info, fmt.Errorf("checksum %08x, not %08x: the file is damaged", sum, t.sums[tensor]))
	}
	return nil
}

// Bring tells the system that a tensor of a mapped file is used soon. It does not wait until
// the tensor is read.
func (t *Fetch) Bring(tensor int) {
	page := int64(os.Getpagesize())
	info := &t.file.Tensors[tensor]
	if from, to := info.Offset/page*page, info.Offset+info.Size; to <= int64(len(t.mapped)) {
		willNeed(t.mapped[from:to])
	}
}

// Check reads a tensor and compares its checksum.
func (t *Fetch) Check(tensor int) error { return t.read(tensor) }

// Drop takes a tensor of a mapped file out of the memory of the process. It stays readable, from
// the system's cache of files or from the file. Pages that it shares with others stay.
func (t *Fetch) Drop(tensor int) {
	page := int64(os.Getpagesize())
	info := &t.file.Tensors[tensor]
	if from, to := (info.Offset+page-1)/page*page, (info.Offset+info.Size)/page*page; from < to && to <= int64(len(t.mapped)) {
		dontNeed(t.mapped[from:to])
	}
}

// holder returns the tensor of a packed model with the byte at an offset, or the first
// tensor if the offset is before it.
func (f *File) holder(at int64) *TensorInfo {
	i := len(f.Tensors) - 1
	for i > 0 && f.Tensors[i].Offset > at {
		i--
	}
	return &f.Tensors[i]
}

// fail ends the fetch: missing tensors will not be loaded.
func (t *Fetch) fail(err error) {
	t.next.Store(int64(len(t.memory)))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.changed.Broadcast()
}

// end closes the files with the last goroutine, when nothing is read any more.
func (t *Fetch) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active > 1 {
		t.active--
		return
	}
	if t.load != nil {
		t.mu.Unlock()
		t.load.Stop() // all was read, or t.err is set
		t.mu.Lock()
	}
	t.active = 0
	t.changed.Broadcast()
	for _, c := range t.closers {
		_ = c.Close()
	}
}

// Release releases a mapped file, whose disk space may then be freed. Its content becomes
// zeros, which stay as long as the result is referenced. The caller must no longer need
// the tensors.
func (t *Fetch) Release() {
	t.fail(errReleased)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mapped != nil {
		zeroMemory(t.mapped)
		t.mapped = nil
	}
}

var errReleased = errors.New("the file was closed")

// Bytes returns the memory of a tensor, which may not be loaded yet.
func (t *Fetch) Bytes(tensor int) []byte { return t.memory[tensor] }

// Wait returns when the tensors up to and including the given one are loaded and match
// their checksums; an index after the last tensor waits for all. After an error nothing
// is written any more: passes that have begun compute with the loaded content.
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
