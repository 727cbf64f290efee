package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
)

// putRun makes a run directory as it is trained, with the step 1.
func putRun(t testing.TB, dir, name string) {
	t.Helper()
	files := map[string][]byte{"config.json": []byte(config), "checkpoint-1.json": golden(t), "notes.txt": nil}
	for file, data := range files {
		file = filepath.Join(dir, name, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// Each rename fails in turn, with and without support for exchanging directories.
func TestFailingRename(t *testing.T) {
	broken := errors.New("broken disk")
	for _, how := range []string{"exchange", "two steps", "packed"} {
		for fail := 1; ; fail++ {
			s := open(t, t.TempDir())
			if how == "packed" {
				put(t, s, upload(t, "m", 1))
			} else {
				putRun(t, s.dir, "m")
			}
			calls := 0
			step := func(do func(a, b string) error) func(a, b string) error {
				return func(a, b string) error {
					if calls++; calls == fail {
						return broken
					}
					return do(a, b)
				}
			}
			d := s.directory()
			d.rename = step(d.root.Rename)
			if how == "exchange" {
				d.exchange = step(d.exchange)
			} else {
				d.exchange = func(string, string) error {
					if how == "packed" {
						t.Error("a file was to take the place of a file")
					}
					return errors.ErrUnsupported
				}
			}
			err := s.Put(t.Context(), upload(t, "m", 2))
			if calls < fail {
				if err != nil || !slices.Equal(s.list(t), []string{"m@2"}) || fail == 1 {
					t.Errorf("after %d renames: %v", calls, err)
				}
				break
			}
			s.expect(t, err, llm.Internal, "", "m@1")
			if !errors.Is(err, broken) {
				t.Error(err)
			}
		}
	}
}

// A process that dies between any two steps leaves a model that the next Open restores.
func TestCrash(t *testing.T) {
	type crash struct{}
	for _, atomic := range []bool{true, false} {
		for die := 1; ; die++ {
			dir := t.TempDir()
			s := open(t, dir)
			putRun(t, dir, "m")
			calls := 0
			step := func(do func(a, b string) error) func(a, b string) error {
				return func(a, b string) error {
					if calls++; calls == die {
						panic(crash{})
					}
					return do(a, b)
				}
			}
			d := s.directory()
			d.rename = step(d.root.Rename)
			if atomic {
				d.exchange = step(d.exchange)
			} else {
				d.exchange = func(string, string) error { return errors.ErrUnsupported }
			}
			died := func() (died bool) {
				defer func() { died = recover() != nil }()
				put(t, s, upload(t, "m", 2))
				return false
			}()
			if !died {
				break
			}
			again := open(t, dir)
			if got := again.list(t); !slices.Equal(got, []string{"m@1"}) {
				t.Errorf("atomic %v, death before step %d: %v", atomic, die, got)
			}
			if got := again.leftovers(t); len(got) > 0 {
				t.Errorf("left behind: %v", got)
			}
			put(t, again, upload(t, "m", 3))
		}
	}
}

// A crash after the rename of the new model leaves the old one aside.
func TestOpenRemovesOld(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, upload(t, "m", 2))
	if err := os.CopyFS(filepath.Join(dir, oldPrefix+"m"), os.DirFS(filepath.Join(dir, "m"))); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := s.list(t); !slices.Equal(got, []string{"m@2"}) || len(s.leftovers(t)) > 0 {
		t.Error(got, s.leftovers(t))
	}
}

func TestOccupied(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"file", "photos"}
	if os.Symlink(t.TempDir(), filepath.Join(dir, "link")) == nil {
		names = append(names, "link")
	}
	for _, name := range names {
		s.expect(t, s.Put(t.Context(), upload(t, name, 1)), llm.Invalid, "name")
		s.expect(t, s.Delete(t.Context(), name), llm.Invalid, "name")
	}
}

func TestDelete(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, upload(t, "m", 1))
	s.expect(t, s.Delete(t.Context(), "n"), llm.NotFound, "name", "m@1")
	d := s.directory()
	real := d.rename
	d.rename = func(string, string) error { return errors.New("broken disk") }
	s.expect(t, s.Delete(t.Context(), "m"), llm.Internal, "", "m@1")
	d.rename = real
	if err := s.Delete(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	s.expect(t, s.Delete(t.Context(), "m"), llm.NotFound, "name")
}

// While many processes upload one name, scans always see a whole model.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, upload(t, "m", 0))
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		writers.Go(func() {
			for k := range 5 {
				if err := s.Put(t.Context(), upload(t, "m", 1+i*5+k)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	// Without an atomic exchange there is a moment without the model.
	if err := s.directory().exchange("m", "m"); !errors.Is(err, errors.ErrUnsupported) {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := arch.Describe(os.DirFS(dir), "m"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if got := s.list(t); len(got) < 1 || len(s.leftovers(t)) > 0 {
		t.Error(got, s.leftovers(t))
	}
	if len(s.locks.held) != 0 || s.open != 0 {
		t.Errorf("%d locks held, %d uploads open", len(s.locks.held), s.open)
	}
}

// An upload waits for another of its name, but no longer than its context.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		unlock, err := l.lock(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := l.lock(ctx, "M"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		got := make(chan func())
		go func() {
			second, err := l.lock(t.Context(), "m")
			if err != nil {
				t.Error(err)
			}
			got <- second
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Error("locked twice")
		default:
		}
		unlock()
		(<-got)()
		if len(l.held) != 0 {
			t.Errorf("%d locks left", len(l.held))
		}
	})
}

// Files that disappear during the count, such as an old model, are not errors.
func TestUsedBesideOthers(t *testing.T) {
	p := open(t, t.TempDir())
	put(t, p, upload(t, "m", 1))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // until the test ends
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for k := range 50 {
				dir := filepath.Join(p.dir, fmt.Sprint(uploadPrefix, k))
				if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, PackName), []byte("x"), 0o644)); err != nil {
					t.Error(err)
				}
			}
			for k := range 50 {
				if err := os.RemoveAll(filepath.Join(p.dir, fmt.Sprint(uploadPrefix, k))); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for range 1000 {
		if _, err := p.models.used(t.Context()); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
}

// A packed model next to the directories owns its name too: it is replaced and deleted.
func TestPackBeside(t *testing.T) {
	for what, do := range map[string]func(p *place) []string{
		"put": func(p *place) []string {
			u := upload(t, "m", 2)
			u.New = true
			if err := p.Put(t.Context(), u); !errors.Is(err, ErrExists) {
				t.Errorf("there is one: %v", err)
			}
			put(t, p, upload(t, "m", 2))
			return []string{"m@2"}
		},
		"delete": func(p *place) []string { return nil },
		"delete both": func(p *place) []string {
			putRun(t, p.dir, "m")
			return nil
		},
	} {
		p := open(t, t.TempDir())
		file := filepath.Join(p.dir, "m"+checkpoint.PackSuffix)
		if err := os.WriteFile(file, packOf(t), 0o644); err != nil {
			t.Fatal(err)
		}
		want := do(p)
		if want == nil {
			if err := p.Delete(t.Context(), "m"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got := p.list(t); !slices.Equal(got, want) {
			t.Errorf("%s: %v", what, got)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the packed model is there: %v", what, err)
		}
	}
}

// A directory of parts that disappears with its last part is created again for the next one.
func TestPiecesComeAndGo(t *testing.T) {
	p := open(t, t.TempDir())
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			key := fmt.Sprintf("x/%05d", i)
			for range 300 {
				err := p.blobs.put(t.Context(), key, strings.NewReader("x"), 1, i%2 == 0)
				if err = errors.Join(err, p.blobs.remove(t.Context(), key)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
