package kernel

import "syscall"

// adviseHuge requests huge pages. If there are none, the memory is unchanged.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
