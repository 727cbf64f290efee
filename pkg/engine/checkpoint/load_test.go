package checkpoint_test

import (
	"bytes"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"glossa/pkg/engine/checkpoint"
)

// A gate is a file whose reads block until enough of them wait.
type gate struct {
	least int // number of concurrent reads
	pause time.Duration

	mu    sync.Mutex
	asked int
	open  chan struct{}
}

func (g *gate) ReadAt(p []byte, _ int64) (int, error) {
	g.mu.Lock()
	if g.asked++; g.asked == g.least {
		close(g.open)
	}
	g.mu.Unlock()
	<-g.open
	time.Sleep(g.pause)
	return len(p), nil
}

// All pieces of a file of some size are read concurrently: none waits for another.
func TestLoadAtOnce(t *testing.T) {
	const size = 100 << 20
	g := &gate{least: 16, open: make(chan struct{})}
	l := checkpoint.NewLoad(g, 0, size, func(n int) []byte { return make([]byte, n) })
	if _, err := l.Wait(0, size); err != nil {
		t.Fatal(err)
	}
	if g.asked > 16 {
		t.Errorf("%d pieces", g.asked)
	}
}

// Pieces not begun when a load is stopped are not read, and nobody waits for them.
func TestLoadStop(t *testing.T) {
	const size = 4 << 30
	g := &gate{least: 1, pause: 10 * time.Millisecond, open: make(chan struct{})}
	l := checkpoint.NewLoad(g, 0, size, func(n int) []byte { return make([]byte, n) })
	l.Stop()
	asked := g.asked
	if _, err := l.Wait(0, size); asked < size>>24 && (err == nil || !strings.Contains(err.Error(), "canceled")) {
		t.Errorf("%d pieces, and %v", asked, err)
	}
	if g.asked != asked {
		t.Errorf("%d pieces were read after it was stopped", g.asked-asked)
	}
}

// loadingPack is a pack that is already being loaded.
type loadingPack struct {
	*pack
	load *checkpoint.Load
}

func (p *loadingPack) Open(name string) (fs.File, error) {
	f, err := p.pack.Open(name)
	return &loadingPackFile{f.(*packFile), p.load}, err
}

type loadingPackFile struct {
	*packFile
	load *checkpoint.Load
}

func (f *loadingPackFile) Load() *checkpoint.Load { return f.load }

// A packed model that is already being loaded is used in place: no memory is allocated
// for it.
func TestFetchLoading(t *testing.T) {
	p := newPack(t, 64, 3<<20, 128)
	var memory []byte
	l := checkpoint.NewLoad(bytes.NewReader(p.data), 0, int64(len(p.data)), func(n int) []byte {
		memory = make([]byte, n)
		return memory
	})
	f, err := checkpoint.Open(&loadingPack{p, l}, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Fetch(func(n int) []byte {
		t.Errorf("%d more bytes", n)
		return make([]byte, n)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{64, 3 << 20, 128} {
		if err := got.Wait(i); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(i), bytes.Repeat([]byte{byte(i + 1)}, n)) {
			t.Errorf("tensor %d differs", i)
		}
	}
	if &got.Bytes(0)[0] != &memory[f.Tensors[0].Offset] {
		t.Error("the tensors lie elsewhere")
	}
}

// broken is a file whose reads panic.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { panic("a fault") }

// A panic of a reader is an error of those who wait.
func TestLoadPanics(t *testing.T) {
	l := checkpoint.NewLoad(broken{}, 0, 100, func(n int) []byte { return make([]byte, n) })
	if at, err := l.Wait(0, 100); at != 0 || err == nil || !strings.Contains(err.Error(), "a fault") {
		t.Errorf("%d: %v", at, err)
	}
	l.Stop()
}
