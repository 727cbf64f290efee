//go:build !darwin && !windows

package memory

// physical returns 0: on Linux, /proc/meminfo has the memory of the machine.
func physical() int64 { return 0 }
