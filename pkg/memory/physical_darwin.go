package memory

import "golang.org/x/sys/unix"

// physical returns the memory of the machine, bytes; 0 if it is unknown.
func physical() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil || n > 1<<62 {
		return 0
	}
	return int64(n)
}
