//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package hub

import (
	"errors"
	"os"
)

// lockFile cannot lock here.
func lockFile(*os.File) error { return errors.ErrUnsupported }

// syncDir makes the names in a directory last: not here.
func syncDir(*os.Root) error { return nil }
