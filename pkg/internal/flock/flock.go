// Package flock locks files against other processes. It refuses to know what the files are for.
package flock

import "errors"

// ErrLocked is the error for a file that another process has locked.
var ErrLocked = errors.New("it is locked by another process")
