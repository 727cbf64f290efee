package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// A file is a version of an object. It implements [io.ReaderAt] and [io.Seeker], and is
// safe for concurrent ReadAt.
type file struct {
	*info
	object
	at int64
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Size() int64                { return f.object.size }
func (f *file) Close() error               { return nil }

// ReadAt implements [io.ReaderAt]. Large reads are sent as they are; small ones read
// blocks that are cached for a while.
func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, f.wrong("read", errors.New("before the first byte"))
	}
	n := max(0, min(int64(len(p)), f.Size()-at))
	var err error
	if n > mostSmall {
		n, err = f.read(context.Background(), p[:n], at)
	} else {
		n, err = f.fs.blocks.read(&f.object, p[:n], at)
	}
	switch {
	case err != nil:
		return int(n), f.wrong("read", err)
	case n < int64(len(p)):
		return int(n), io.EOF
	}
	return int(n), nil
}

// Read implements [io.Reader].
func (f *file) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.ReadAt(p, f.at)
	if f.at += int64(n); n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek implements [io.Seeker].
func (f *file) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.Size()
	}
	if offset < 0 {
		return 0, f.wrong("seek", errors.New("before the first byte"))
	}
	f.at = offset
	return offset, nil
}

func (f *file) wrong(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.url(), Err: err}
}

// A directory is an open directory.
type directory struct {
	*info
	entries []fs.DirEntry // not read yet
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

// ReadDir implements [fs.ReadDirFile].
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	list := d.entries[:n:n]
	d.entries = d.entries[n:]
	return list, nil
}
