//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package account

import (
	"errors"
	"os"
)

// lockFile cannot lock on this system, so files are read-only.
func lockFile(*os.File) error { return errors.ErrUnsupported }

// own does nothing on this system.
func own(*os.File, string) error { return nil }

// syncDir does nothing on this system.
func syncDir(string) error { return nil }
