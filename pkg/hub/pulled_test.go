package hub

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// A lock and a download exclude each other.
func TestLockDir(t *testing.T) {
	h, dir := newHub(t, tree{"config.json": {data: []byte("{}")}}), t.TempDir()
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	l, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client().Prepare(t.Context(), s, s.Files, dir); !errors.Is(err, errLocked) {
		t.Errorf("a download in a locked directory: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, stateDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lock leaves its directory: %v", err)
	}
	d, err := h.client().Prepare(t.Context(), s, s.Files, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(dir); !errors.Is(err, errLocked) {
		t.Errorf("a lock during a download: %v", err)
	}
	if err := d.Run(t.Context(), nil); err != nil {
		t.Error(err)
	}
	d.Close()
	if l, err = LockDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if o, err := Pulled(dir); err != nil || o.Repo != "acme/tiny" {
		t.Errorf("a lock forgets the download: %+v, %v", o, err)
	}
	if l, err = LockDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Forget(); err != nil {
		t.Error(err)
	}
	if _, err := Pulled(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is not forgotten: %v", err)
	}
}

// A file of a lock that was removed and made anew while one waited locks nothing.
func TestLockIsReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Skipf("open files cannot be removed here: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if current, err := holds(root, l.file); err != nil || current {
		t.Errorf("%v, %v", current, err)
	}
	second, err := openLock(root)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	for file, want := range map[*os.File]bool{l.file: false, second: true} {
		if current, err := holds(root, file); err != nil || current != want {
			t.Errorf("%v, %v, want %v", current, err, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The origin tells the names of files that are in another place than in the repository.
func TestOriginNames(t *testing.T) {
	h, dir := newHub(t, tree{"config.json": {data: []byte("{}")}, "q8/m.gguf": {data: random(10, 1), lfs: true}, "q4/m.gguf": {data: random(10, 2)}}), t.TempDir()
	s, err := h.client().List(t.Context(), "acme/tiny", "main")
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.Choose([]string{"*"}, []string{"q4/*"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d, err := h.client().Prepare(t.Context(), s, files, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		d.Close()
		o, err := Pulled(dir)
		if want := map[string]string{"config.json": "config.json", "q8/m.gguf": "m-q8.gguf"}; err != nil || !maps.Equal(o.Names, want) {
			t.Errorf("%v, %v, want %v", o.Names, err, want)
		}
	}
}
