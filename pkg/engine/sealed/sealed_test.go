package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"glossa/pkg/engine/sealed"
)

func block(n int, kind string, tokens ...int) sealed.Block {
	c := sealed.Begin("model", "owner")
	for i := range n {
		c = c.Next([]int{i})
	}
	return sealed.Block{Chain: c.Next(tokens), Kind: kind, Tokens: tokens}
}

// keep puts a block and reports whether it was kept.
func keep(a *sealed.Archive, b sealed.Block, data string) (kept bool) {
	a.Keep(b, func() ([]byte, error) { return []byte(data), nil }, func(ok bool) { kept = ok })
	a.Flush(context.Background())
	return kept
}

func open(t *testing.T, limit int64) (dir string, store *sealed.Directory) {
	t.Helper()
	dir = t.TempDir()
	store, err := sealed.OpenDirectory(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return dir, store
}

// What is kept is read by who has the tokens, from another archive of the same store, and files
// tell neither tokens nor data.
func TestArchive(t *testing.T) {
	dir, store := open(t, 1<<20)
	a := sealed.NewArchive(store, func(err error) { t.Error(err) })
	b := block(2, "all", 7, 8, 9)
	if !keep(a, b, "keys and values") || !keep(a, block(2, "rings", 7, 8, 9), "other") {
		t.Fatal("the blocks were not kept")
	}
	for range 2 {
		got, err := sealed.NewArchive(store, nil).Get(t.Context(), b, 15)
		if err != nil || string(got) != "keys and values" {
			t.Errorf("%q, %v", got, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil || bytes.Contains(raw, []byte("values")) || bytes.Contains(raw, []byte{7, 0, 0, 0, 8}) {
			t.Errorf("%q, %v", raw, err)
		}
	}
	for _, other := range []sealed.Block{
		block(2, "all", 7, 8), block(2, "all", 7, 8, 10), block(1, "all", 7, 8, 9), block(2, "none", 7, 8, 9),
		{Chain: sealed.Begin("model", "another").Next([]int{0}).Next([]int{1}).Next([]int{7, 8, 9}), Kind: "all", Tokens: b.Tokens},
		{Chain: sealed.Begin("modelo", "wner").Next([]int{0}).Next([]int{1}).Next([]int{7, 8, 9}), Kind: "all", Tokens: b.Tokens},
	} {
		if _, err := sealed.NewArchive(store, nil).Get(t.Context(), other, 15); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", other, err)
		}
	}
}

// A file that is damaged, of another size or of another block is not used.
func TestDamaged(t *testing.T) {
	dir, store := open(t, 1<<20)
	b, c := block(0, "all", 1), block(0, "all", 2)
	a := sealed.NewArchive(store, nil)
	if !keep(a, b, "one") || !keep(a, c, "two") {
		t.Fatal("the blocks were not kept")
	}
	file := filepath.Join(dir, b.Chain.Name("all"))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(dir, c.Chain.Name("all")))
	if err != nil {
		t.Fatal(err)
	}
	damaged := [][]byte{other, raw[:len(raw)-1], append(bytes.Clone(raw), 0), {}}
	for i := range raw {
		one := bytes.Clone(raw)
		one[i] ^= 1
		damaged = append(damaged, one)
	}
	for i, data := range damaged {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := sealed.NewArchive(store, nil).Get(t.Context(), b, 3); err == nil {
			t.Errorf("damage %d: %q", i, got)
		}
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sealed.NewArchive(store, nil).Get(t.Context(), b, 4); err == nil {
		t.Error("a block of another size was read")
	}
}

// A directory removes what has not been read for the longest, and only its own files.
func TestBounded(t *testing.T) {
	dir, store := open(t, 200) // a block of a token and 28 bytes has 60
	if err := os.WriteFile(filepath.Join(dir, "cafe"), make([]byte, 500), 0o600); err != nil {
		t.Fatal(err)
	}
	a := sealed.NewArchive(store, nil)
	data := string(make([]byte, 28))
	long := time.Now().Add(-time.Hour)
	for i := range 3 {
		if !keep(a, block(0, "all", i), data) {
			t.Fatalf("block %d was not kept", i)
		}
		at := long.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, block(0, "all", i).Chain.Name("all")), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Get(t.Context(), block(0, "all", 0), 28); err != nil {
		t.Fatal(err)
	}
	if !keep(a, block(0, "all", 3), data) {
		t.Fatal("the last block was not kept")
	}
	for i, want := range []bool{true, false, true, true} {
		if _, err := sealed.NewArchive(store, nil).Get(t.Context(), block(0, "all", i), 28); err == nil != want {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if keep(a, block(0, "all", 9), string(make([]byte, 300))) {
		t.Error("a block larger than the directory was kept")
	}
	if _, err := os.Stat(filepath.Join(dir, "cafe")); err != nil {
		t.Error(err)
	}
	if _, err := sealed.OpenDirectory(dir, 70); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
		t.Errorf("a smaller directory has %d files", len(files))
	}
}

// counted counts the calls of a store, which fails if err is not nil.
type counted struct {
	sealed.Store
	err        error
	gets, puts int
}

func (c *counted) Get(ctx context.Context, name string, size int64) ([]byte, error) {
	if c.gets++; c.err != nil {
		return nil, c.err
	}
	return c.Store.Get(ctx, name, size)
}

func (c *counted) Put(ctx context.Context, name string, data []byte) error {
	if c.puts++; c.err != nil {
		return c.err
	}
	return c.Store.Put(ctx, name, data)
}

// A name without data is not asked for again at once, and a store that fails is left alone.
func TestRests(t *testing.T) {
	_, store := open(t, 1<<20)
	c, told := &counted{Store: store}, 0
	a := sealed.NewArchive(c, func(error) { told++ })
	b := block(0, "all", 1)
	for range 3 {
		if _, err := a.Get(t.Context(), b, 3); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if c.gets != 1 {
		t.Errorf("%d requests for a name without data", c.gets)
	}
	if !keep(a, b, "one") {
		t.Fatal("the block was not kept")
	}
	if _, err := a.Get(t.Context(), b, 3); err != nil {
		t.Errorf("after it was kept: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.err = context.Canceled
	if _, err := a.Get(ended, b, 3); err == nil || told != 0 {
		t.Errorf("a request that ended: %v, %d faults", err, told)
	}
	c.err, c.gets, c.puts = errors.New("no disk"), 0, 0
	for range 3 {
		if keep(a, block(0, "all", 2), "two") {
			t.Error("a store that fails has kept a block")
		}
		if _, err := a.Get(t.Context(), b, 3); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if c.gets != 0 || c.puts != 1 || told != 1 {
		t.Errorf("%d reads, %d writes, %d faults", c.gets, c.puts, told)
	}
}

// stuck does not write before it is let go.
type stuck struct {
	sealed.Store
	free chan struct{}
}

func (s stuck) Put(ctx context.Context, name string, data []byte) error {
	<-s.free
	return s.Store.Put(ctx, name, data)
}

// No more blocks wait for a slow store than a bound.
func TestSlowStore(t *testing.T) {
	_, store := open(t, 1<<20)
	s := stuck{store, make(chan struct{})}
	a, left, kept := sealed.NewArchive(s, nil), 0, make(chan bool, 400)
	for i := range 400 {
		if !a.Keep(block(0, "all", i), func() ([]byte, error) { return []byte("data"), nil }, func(ok bool) { kept <- ok }) {
			left++
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a.Flush(ended) // does not wait
	close(s.free)
	a.Flush(t.Context())
	for range 400 - left {
		if !<-kept {
			t.Error("a block was not written")
		}
	}
	if left < 140 || left > 144 {
		t.Errorf("%d of 400 blocks were left out", left)
	}
}

// A block whose data panic is not kept, and the next one is.
func TestDataPanic(t *testing.T) {
	_, store := open(t, 1<<20)
	var told []error
	a := sealed.NewArchive(store, func(err error) { told = append(told, err) })
	kept := true
	a.Keep(block(0, "all", 1), func() ([]byte, error) { panic("a fault") }, func(ok bool) { kept = ok })
	a.Flush(t.Context())
	if kept || len(told) != 1 || !strings.Contains(told[0].Error(), "a fault") {
		t.Errorf("kept %v, told %v", kept, told)
	}
	if !keep(a, block(0, "all", 2), "two") {
		t.Error("the next block was not kept")
	}
}
