//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package flock

import (
	"errors"
	"os"
)

// Try is not implemented on this system.
func Try(*os.File) error { return errors.ErrUnsupported }

// Share is not implemented on this system.
func Share(*os.File) error { return errors.ErrUnsupported }
