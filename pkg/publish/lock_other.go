//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package publish

import (
	"errors"
	"os"
	"syscall"
)

// flock is not implemented on this system.
func flock(*os.File, bool) error { return errors.ErrUnsupported }

// isFull reports whether the disk, or the quota for a file, is full.
func isFull(err error) bool {
	const handleDiskFull, diskFull, tooLarge = syscall.Errno(39), syscall.Errno(112), syscall.Errno(223) // of Windows
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull) || errors.Is(err, tooLarge)
}
