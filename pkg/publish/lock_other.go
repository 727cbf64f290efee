//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package publish

import (
	"errors"
	"os"
	"syscall"
)

// flock cannot lock here.
func flock(*os.File, bool) error { return errors.ErrUnsupported }

// isFull tells whether there was no room on the disk, or for a file of that size.
func isFull(err error) bool {
	const handleDiskFull, diskFull, tooLarge = syscall.Errno(39), syscall.Errno(112), syscall.Errno(223) // of Windows
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull) || errors.Is(err, tooLarge)
}
