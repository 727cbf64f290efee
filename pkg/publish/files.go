package publish

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// files creates files below the directory of models. Each is locked while it is
// written, so that another starting process leaves it alone.
type files struct {
	root *os.Root
	open func(name string) (file, error) // creates a file; tests let it fail
}

// A file is an open file for writing.
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

// unnamed creates a file that disappears with the process: without a name, or with a name
// after prefix if the system does not support unnamed files.
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

// lockTries bounds the attempts for a name that another process is deleting.
const lockTries = 10

// locked calls make, which creates name, and locks that. The lock ends with unlock, or
// with the process.
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
			return func() { _ = held.Close() }, nil // this unlocks it
		}
		_ = held.Close() // another process removed it as the remains of a dead one
	}
	return nil, &fs.PathError{Op: "lock", Path: name, Err: fs.ErrNotExist}
}

// removeStale removes a file if no process is writing it.
func (f *files) removeStale(name string) error {
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
		if recent(info) {
			return nil
		}
	case err != nil:
		return err
	}
	return f.root.RemoveAll(name)
}

// errLocked means that another process is writing a file.
var errLocked = errors.New("another process is creating it")

// removeStaleBlobs removes incomplete parts of dead processes, and their locks of
// completions.
func (f *files) removeStaleBlobs() error {
	return fs.WalkDir(f.root.FS(), uploadsDir, func(name string, e fs.DirEntry, err error) error {
		base := path.Base(name)
		if err != nil || !e.Type().IsRegular() || base[0] != '.' && base != lockFile {
			return gone(err)
		}
		return f.removeStale(name)
	})
}
