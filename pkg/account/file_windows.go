package account

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks an open file until it is closed, or returns errLocked if another process has it.
func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// own does nothing: on Windows, files inherit the rights of their directory.
func own(*os.File, string) error { return nil }

// syncDir does nothing: Windows makes directory entries durable itself.
func syncDir(string) error { return nil }
