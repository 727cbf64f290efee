//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks an open file until it is closed. It returns [ErrLocked] if another process has it,
// and [errors.ErrUnsupported] where files cannot be locked.
func Try(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Share locks an open file until it is closed, together with others that share it. It waits for a
// process that has it by [Try] alone; what this process has by Try is shared from now on.
func Share(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_SH) }
