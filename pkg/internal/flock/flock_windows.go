package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks an open file until it is closed. It returns [ErrLocked] if another process has it,
// and [errors.ErrUnsupported] where files cannot be locked.
func Try(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
