//go:build !linux

package publish

import (
	"errors"
	"os"
)

// exchange is not supported on this system.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }
