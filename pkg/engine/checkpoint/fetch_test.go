package checkpoint_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// A pack is a packed model in memory, and the file system of that one file.
type pack struct {
	mu     sync.Mutex
	data   []byte
	fails  int64 // reading from here on fails; 0: never
	opened atomic.Int32
	closed chan struct{}
}

func (p *pack) WriteAt(b []byte, at int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = append(p.data, make([]byte, max(0, int(at)+len(b)-len(p.data)))...)
	return copy(p.data[at:], b), nil
}

func (p *pack) Open(string) (fs.File, error) {
	p.opened.Add(1)
	return &packFile{bytes.NewReader(p.data), p}, nil
}

type packFile struct {
	*bytes.Reader
	pack *pack
}

func (f *packFile) Stat() (fs.FileInfo, error) {
	return fs.Stat(fstest.MapFS{"m": {Data: f.pack.data}}, "m")
}

func (f *packFile) Close() error {
	if f.pack.opened.Add(-1) == 0 {
		close(f.pack.closed)
	}
	return nil
}

func (f *packFile) ReadAt(b []byte, at int64) (int, error) {
	if f.pack.fails > 0 && at+int64(len(b)) > f.pack.fails {
		return 0, errors.New("the line was cut")
	}
	return f.Reader.ReadAt(b, at)
}

// newPack packs tensors of the given sizes in bytes.
func newPack(t *testing.T, sizes ...int) *pack {
	t.Helper()
	p := &pack{closed: make(chan struct{})}
	var tensors []checkpoint.PackTensor
	for i, n := range sizes {
		name := string(rune('a' + i%26))
		if i >= 26 {
			name += strconv.Itoa(i)
		}
		tensors = append(tensors, checkpoint.PackTensor{Name: name, Type: dtype.U8, Shape: []int{n}})
	}
	w, err := checkpoint.NewPackWriter(p, map[string]string{"what": "a test"}, tensors)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range sizes {
		if err := w.Write(i, bytes.Repeat([]byte{byte(i + 1)}, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// fetch starts loading p. The test ends when its file is closed, which must happen once.
func fetch(t *testing.T, p *pack) *checkpoint.Fetch {
	t.Helper()
	f, err := checkpoint.Open(p, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Fetch(func(n int) []byte { return make([]byte, n) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil { // the fetch has the file now
		t.Error(err)
	}
	t.Cleanup(func() { <-p.closed })
	return got
}

// Tensors are loaded as written, in one piece or several.
func TestFetch(t *testing.T) {
	small := slices.Repeat([]int{64, 4096, 128}, 100)
	for _, sizes := range [][]int{{64}, {64, 9 << 20, 128}, small, slices.Concat(small, []int{3 << 20, 64, 64, 100 << 10, 25 << 20}, small)} {
		f := fetch(t, newPack(t, sizes...))
		for i, n := range sizes {
			if err := f.Wait(i); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Bytes(i), bytes.Repeat([]byte{byte(i + 1)}, n)) {
				t.Errorf("tensor %d of %d differs", i, len(sizes))
			}
		}
		if err := f.Wait(math.MaxInt); err != nil {
			t.Errorf("all: %v", err)
		}
	}
}

// A fetch of no tensors is complete.
func TestFetchNothing(t *testing.T) {
	if err := fetch(t, newPack(t)).Wait(0); err != nil {
		t.Error(err)
	}
}

// An unreadable tensor is an error, with its name, for its waiters only.
func TestFetchFails(t *testing.T) {
	p := newPack(t, 64, 64, 20<<20, 64)
	p.fails = int64(len(p.data)) - 64 - 8<<20
	f := fetch(t, p)
	for _, tensor := range []int{2, 3, math.MaxInt} {
		if err := f.Wait(tensor); err == nil || !strings.Contains(err.Error(), `m.safetensors: tensor "c"`) || !strings.Contains(err.Error(), "cut") {
			t.Errorf("tensor %d: %v", tensor, err)
		}
	}
}

// Tensors may stay in a mapped file: they count as loaded, and are checked only when asked.
func TestFetchLater(t *testing.T) {
	p := newPack(t, 64, 3<<20, 128, 5<<20)
	p.data[len(p.data)-1]++ // of the last tensor
	name := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(name, p.data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := checkpoint.Open(os.DirFS(filepath.Dir(name)), "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	later := func(tensor int) bool { return tensor%2 == 1 }
	if !f.CanMap() {
		if _, err := f.Fetch(nil, later); err == nil {
			t.Error("tensors stay in a file that is not mapped")
		}
		t.Skip("files are not mapped here")
	}
	got, err := f.Fetch(nil, later)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Wait(math.MaxInt); err != nil {
		t.Errorf("all: %v", err)
	}
	for range 3 {
		for _, tensor := range []int{1, 3} {
			got.Bring(tensor)
			err := got.Check(tensor)
			if tensor == 1 && err != nil || tensor == 3 && (err == nil || !strings.Contains(err.Error(), `tensor "d"`) || !strings.Contains(err.Error(), "checksum")) {
				t.Errorf("tensor %d: %v", tensor, err)
			}
			got.Drop(tensor)
		}
		if !bytes.Equal(got.Bytes(1), bytes.Repeat([]byte{2}, 3<<20)) || !bytes.Equal(got.Bytes(2), bytes.Repeat([]byte{3}, 128)) {
			t.Error("a tensor differs after it was dropped")
		}
	}
	got.Release()
	if f, err = checkpoint.Open(os.DirFS(filepath.Dir(name)), "m.safetensors"); err != nil {
		t.Fatal(err)
	}
	others, err := f.Fetch(nil, func(tensor int) bool { return tensor < 3 })
	if err != nil {
		t.Fatal(err)
	}
	defer others.Release()
	if err := others.Wait(2); err != nil {
		t.Errorf("the tensors that stay in the file: %v", err)
	}
	if err := others.Wait(3); err == nil || !strings.Contains(err.Error(), `tensor "d"`) {
		t.Errorf("the damaged one, which does not: %v", err)
	}
	got.Bring(1)
	got.Drop(1) // they do nothing more
}

// A file that is read and not mapped cannot keep its tensors.
func TestFetchLaterRefuses(t *testing.T) {
	f, err := checkpoint.Open(newPack(t, 64, 64), "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Fetch(nil, func(int) bool { return true }); err == nil || !strings.Contains(err.Error(), "cannot be mapped") {
		t.Error(err)
	}
}

// A panic while a tensor is checked is an error of those who wait.
func TestFetchPanics(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(name, newPack(t, 64).data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := checkpoint.Open(os.DirFS(filepath.Dir(name)), "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if !f.CanMap() {
		t.Skip("files are not mapped here")
	}
	got, err := f.Fetch(nil, func(int) bool { panic("a fault") })
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if err := got.Wait(0); err == nil || !strings.Contains(err.Error(), "a fault") {
		t.Error(err)
	}
}
