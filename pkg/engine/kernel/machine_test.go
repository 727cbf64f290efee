//go:build !linux

package kernel

import "time"

// memory returns n bytes.
func memory(n int) []byte { return Allocate(n) }

// clock returns the time.
func clock() time.Duration { return time.Since(epoch) }

var epoch = time.Now()
