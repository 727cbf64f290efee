package publish

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// files makes files below the directory of models. Each is locked while it is made, so
// that another process that starts meanwhile leaves it alone.
type files struct {
	root *os.Root
	open func(name string) (file, error) // creates a file; tests let it fail
}

// A file is what is written.
type file interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

func newFiles(root *os.Root) *files {
	return &files{root: root, open: func(name string) (file, error) {
		return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	}}
}

// unnamed creates a file that goes with the process, whatever ends it: it has no name, or
// one below the prefix where the system knows no files without.
func (f *files) unnamed(prefix string) (file, error) {
	name := prefix + rand.Text()
	made, err := f.open(name)
	if err != nil {
		return nil, err
	}
	if f.root.Remove(name) == nil {
		return made, nil
	}
	return &named{made, func() error { return f.root.Remove(name) }}, nil
}

// named is a file that is removed when it is closed.
type named struct {
	file
	remove func() error
}

// Close implements [io.Closer].
func (n *named) Close() error { return errors.Join(n.file.Close(), n.remove()) }

// lockTries bounds how often a name is tried that another process tidies up in the same
// moment.
const lockTries = 10

// locked calls make, which makes name, and locks that. The lock ends with unlock, or with
// the process.
func (f *files) locked(name string, make func() error) (unlock func(), err error) {
	for range lockTries {
		if err := make(); err != nil {
			return nil, err
		}
		held, err := f.root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := flock(held, true); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, errors.Join(err, held.Close())
		}
		if _, err := f.root.Lstat(name); err == nil {
			return func() { _ = held.Close() }, nil // which unlocks it
		}
		_ = held.Close() // it was removed as what a dead process had left
	}
	return nil, &fs.PathError{Op: "lock", Path: name, Err: fs.ErrNotExist}
}

// clear removes what has a name if no process is making it.
func (f *files) clear(name string) error {
	info, err := f.root.Lstat(name)
	if err != nil {
		return gone(err)
	}
	held, err := f.root.Open(name)
	if err != nil {
		return gone(err)
	}
	defer held.Close()
	switch err := flock(held, false); {
	case errors.Is(err, errLocked):
		return nil
	case errors.Is(err, errors.ErrUnsupported):
		if young(info) {
			return nil
		}
	case err != nil:
		return err
	}
	return f.root.RemoveAll(name)
}

// errLocked is the error of a file that another process makes.
var errLocked = errors.New("another process makes it")

// clearBlobs removes the files of parts that were cut off when a process died, and what
// kept others from completing an upload that it completed.
func (f *files) clearBlobs() error {
	return fs.WalkDir(f.root.FS(), uploadsDir, func(name string, e fs.DirEntry, err error) error {
		base := path.Base(name)
		if err != nil || !e.Type().IsRegular() || base[0] != '.' && base != lockFile {
			return gone(err)
		}
		return f.clear(name)
	})
}
