//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package publish

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks an open file or directory until it is closed. It waits for one that is
// locked, or returns errLocked.
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

// isFull tells whether there was no room on the disk, or for a file of that size.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
