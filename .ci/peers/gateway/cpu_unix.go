//go:build unix

package main

import (
	"syscall"
	"time"
)

// used returns the user and system time of this process.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the argument is a constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
