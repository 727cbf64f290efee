//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package account

import (
	"errors"
	"os"
)

// lockFile cannot lock here, so that files are only read.
func lockFile(*os.File) error { return errors.ErrUnsupported }

// own does nothing here.
func own(*os.File, string) error { return nil }

// syncDir makes the names in a directory last: not here.
func syncDir(string) error { return nil }
