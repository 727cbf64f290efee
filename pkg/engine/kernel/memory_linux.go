package kernel

import "syscall"

// adviseHuge asks for huge pages. If there are none the memory is as it was.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
