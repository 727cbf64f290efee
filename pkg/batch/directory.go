package batch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"glossa/pkg/internal/flock"
)

// Directory is a [Store] in a directory of this machine. Only one system's processes may use
// it: it needs hard links.
type Directory struct {
	path string
	lock *os.File // shared until the process ends; nil: not locked
}

// abandoned is the age at which an object that is still being written has lost its process.
const abandoned = time.Hour

// OpenDirectory opens a store in a directory, which it creates for its user alone. It removes what
// processes that were killed have left half written.
func OpenDirectory(dir string) (*Directory, error) {
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(tmp, entry.Name())) // the next process tries again
		}
	}
	return &Directory{path: dir}, nil
}

// Alone registers this process as a user of the store until it ends, and reports whether there was
// no other one: whatever began before the call then has no process any more. Others may follow.
// Where files cannot be locked, no process is alone.
func (d *Directory) Alone() bool {
	f, err := os.OpenFile(filepath.Join(d.path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	alone := flock.Try(f) == nil
	if flock.Share(f) != nil {
		_ = f.Close() // nothing was written
		return false
	}
	d.lock = f
	return alone
}

func (d *Directory) file(key string) string {
	return filepath.Join(d.path, "objects", filepath.FromSlash(key))
}

// Create implements [Store]. The object is written elsewhere and appears whole.
func (d *Directory) Create(_ context.Context, key string, body io.Reader) (err error) {
	to := d.file(key)
	if _, err := os.Lstat(to); err == nil {
		return ErrExists
	}
	f, err := os.CreateTemp(filepath.Join(d.path, "tmp"), "new-")
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(f.Name()) // the object has its own link
	}()
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	for range linkTries {
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			if err = os.Link(f.Name(), to); errors.Is(err, fs.ErrExist) {
				return ErrExists
			}
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) { // of a directory that was there
			break
		}
	}
	return err
}

// linkTries is how often an object gets its directory, which deletions may remove at any moment.
const linkTries = 100

// Open implements [Store].
func (d *Directory) Open(_ context.Context, key string, offset, n int64) (io.ReadCloser, error) {
	f, err := os.Open(d.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil || offset == 0 && n < 0 {
		return f, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if n < 0 {
		return f, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, n), f}, nil
}

// List implements [Store].
func (d *Directory) List(_ context.Context, prefix string) (keys []string, err error) {
	root := d.file(path.Dir(prefix + "x"))
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile, or nothing is there
		}
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(filepath.Join(d.path, "objects"), name)
		if key := filepath.ToSlash(rel); strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
		return err
	})
	slices.Sort(keys)
	return keys, err
}

// Delete implements [Store]. It also removes the directories that it empties.
func (d *Directory) Delete(_ context.Context, key string) error {
	if err := os.Remove(d.file(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if os.Remove(d.file(dir)) != nil { // others use it
			break
		}
	}
	return nil
}
