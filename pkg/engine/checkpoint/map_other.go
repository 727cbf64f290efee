//go:build !linux && !darwin

package checkpoint

import (
	"errors"
	"os"
)

// mapping says that files are not mapped.
const mapping = false

// mapMemory returns an error: files are read instead.
func mapMemory(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapMemory([]byte) {}

func zeroMemory([]byte) {}

func willNeed([]byte) {}

func dontNeed([]byte) {}
