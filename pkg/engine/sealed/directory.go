package sealed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Directory is a [Store] in a directory, of a bounded size. Several processes may share it.
type Directory struct {
	path  string
	limit int64 // bytes of all files

	mu    sync.Mutex
	bytes int64 // as far as this process knows
}

// staleAfter is the age of a file that was begun and never ended: its process was killed.
const staleAfter = time.Hour

// unfinished is the beginning of the names of files that are being written.
const unfinished = ".new-"

// OpenDirectory opens a directory, which it creates for its user alone, and bounds it to limit
// bytes.
func OpenDirectory(path string, limit int64) (*Directory, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	d := &Directory{path: path, limit: limit}
	return d, d.shrink(limit)
}

// Get implements [Store]. Reading a file keeps it.
func (d *Directory) Get(_ context.Context, name string, size int64) (data []byte, err error) {
	f, err := os.Open(filepath.Join(d.path, name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() != size:
		return nil, fs.ErrNotExist
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(f.Name(), now, now) // a file that another process removes meanwhile was read all the same
	return data, nil
}

// Put implements [Store]. The file appears whole.
func (d *Directory) Put(_ context.Context, name string, data []byte) (err error) {
	to := filepath.Join(d.path, name)
	if info, err := os.Lstat(to); err == nil && info.Size() == int64(len(data)) {
		return nil
	}
	if err := d.makeRoom(int64(len(data))); err != nil {
		return err
	}
	f, err := os.CreateTemp(d.path, unfinished)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes += int64(len(data))
	return nil
}

// makeRoom removes files if n bytes more exceed the limit.
func (d *Directory) makeRoom(n int64) error {
	if n > d.limit {
		return fmt.Errorf("a block of %d bytes exceeds the %d of the directory", n, d.limit)
	}
	d.mu.Lock()
	full := d.bytes+n > d.limit
	d.mu.Unlock()
	if !full {
		return nil
	}
	return d.shrink(d.limit - max(n, d.limit/8)) // more than needed, since listing takes its time
}

// shrink removes the files that have not been read for the longest until the others have at
// most limit bytes, and what a killed process has left.
func (d *Directory) shrink(limit int64) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	total, now := int64(0), time.Now()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // another process has removed it, or it is not ours
		}
		switch {
		case isName(e.Name()):
			files, total = append(files, info), total+info.Size()
		case strings.HasPrefix(e.Name(), unfinished) && now.Sub(info.ModTime()) > staleAfter:
			_ = os.Remove(filepath.Join(d.path, e.Name())) // another process may have done it
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for ; total > limit && len(files) > 0; files = files[1:] {
		if err := os.Remove(filepath.Join(d.path, files[0].Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= files[0].Size()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes = total
	return nil
}

// isName reports whether a file has a name of [Chain.Name]: others are not removed.
func isName(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
