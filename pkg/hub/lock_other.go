//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package hub

import (
	"os"
)

// syncDir does nothing on this system.
func syncDir(*os.Root) error { return nil }
