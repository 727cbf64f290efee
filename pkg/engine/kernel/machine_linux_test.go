package kernel

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// memory returns n bytes on huge pages, if the kernel grants them. They stay mapped.
func memory(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n+4<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return Allocate(n)
	}
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // a kernel without huge pages returns an error
	return b[:n:n]
}

// clock returns the processor time of this thread, so that other load on the machine
// counts less.
func clock() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Since(epoch)
	}
	return time.Duration(t.Nano())
}

var epoch = time.Now()
