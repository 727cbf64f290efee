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

// Share locks an open file until it is closed, together with others that share it. It waits for a
// process that has it by [Try] alone; what this process has by Try is shared from now on.
func Share(f *os.File) error {
	h := windows.Handle(f.Fd())
	_ = windows.UnlockFileEx(h, 0, 1, 0, &windows.Overlapped{}) // it may not be locked
	return windows.LockFileEx(h, 0, 0, 1, 0, &windows.Overlapped{})
}
