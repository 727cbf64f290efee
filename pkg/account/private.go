package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"glossa/pkg/internal/flock"
	"glossa/pkg/internal/osfile"
)

// maxFile is the largest file that is read, in bytes: tens of thousands of
// credentials.
const maxFile = 16 << 20

// ReadPrivate reads a file of at most 16 MB that only its owner can open.
func ReadPrivate(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// EditPrivate replaces such a file with the result of edit, under a lock. edit gets
// nil if the file does not exist yet. A symbolic link stays a link. Concurrent readers
// see the old file or the new one, and when EditPrivate returns, the new one survives
// a power failure.
func EditPrivate(ctx context.Context, path string, edit func([]byte) ([]byte, error)) (err error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = path, nil
	}
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, real)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	b, err := ReadPrivate(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if b, err = edit(b); err != nil {
		return err
	}
	return replace(real, b)
}

// private rejects files that others may read or write: a writer could admit anybody.
// Windows stores such rights elsewhere.
func private(info fs.FileInfo) error {
	const others = 0o077
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return errors.New("it is not a regular file")
	case runtime.GOOS != "windows" && mode.Perm()&others != 0:
		return fmt.Errorf("other users can open it (mode %#o): run chmod 600 on it", mode.Perm())
	}
	return nil
}

// replace replaces the file as a whole.
func replace(path string, b []byte) error {
	if len(b) > maxFile {
		return fmt.Errorf("%s: the file is full", path)
	}
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a process that was killed
		return err
	}
	if err := writeNew(temp, b, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return osfile.SyncDir(os.Open(filepath.Dir(path)))
}

// writeNew makes a durable file, with the owner of another file if that exists.
func writeNew(path string, b []byte, other string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := own(file, other); err != nil {
		return err
	}
	if _, err := file.Write(b); err != nil {
		return err
	}
	return file.Sync()
}

// lockPatience is the time that a process waits for another to finish its change.
const (
	lockPatience = 10 * time.Second
	lockPause    = 10 * time.Millisecond
)

// errLocked means that another process holds the lock.
var errLocked = errors.New("another program is changing it")

// lock makes other processes that change a file wait. The lock's file stays: deleting
// it would let two processes hold one lock each.
func lock(ctx context.Context, path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := own(file, path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	for deadline := time.Now().Add(lockPatience); ; {
		if err = flock.Try(file); !errors.Is(err, flock.ErrLocked) {
			break
		}
		if time.Now().After(deadline) {
			err = errLocked
			break
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return file.Close, nil
}
