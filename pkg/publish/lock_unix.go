//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package publish

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks an open file or directory until it is closed. If it is locked already,
// flock waits, or returns errLocked. Package flock does not fit: it never waits, and its locks on Windows
// need files open for writing and keep others, such as the readers of a blob, from the locked bytes.
func flock(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	err := unix.Flock(int(f.Fd()), how)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errLocked
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
		return errors.ErrUnsupported
	}
	return err
}

// isFull reports whether the disk, or the quota for a file, is full.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
