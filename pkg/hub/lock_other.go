//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package hub

import (
	"errors"
	"os"
)

// lockFile is not implemented on this system.
func lockFile(*os.File) error { return errors.ErrUnsupported }

// syncDir does nothing on this system.
func syncDir(*os.Root) error { return nil }
