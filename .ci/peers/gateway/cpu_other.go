//go:build !unix

package main

import "time"

var started = time.Now()

// used returns the time since the process began.
func used() time.Duration { return time.Since(started) }
