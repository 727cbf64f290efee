package checkpoint

import "golang.org/x/sys/unix"

// dontNeed takes a part of a mapped file out of the memory of the process.
func dontNeed(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }
