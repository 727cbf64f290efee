//go:build !linux

package publish

import (
	"errors"
	"os"
)

// exchange swaps two entries of root in one step: not here.
func exchange(*os.Root, string, string) error { return errors.ErrUnsupported }
