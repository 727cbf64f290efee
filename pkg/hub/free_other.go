//go:build !linux && !darwin && !windows

package hub

import "errors"

// freeSpace is not implemented on this system.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
