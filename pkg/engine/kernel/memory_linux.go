package kernel

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// large returns n zero bytes, in huge pages if there are any.
//
// Go's runtime clears memory that it has used before, all of it if a part has been: half a
// second for a GB, by one thread, in pages of 4 KiB, which huge pages do not replace. It happens
// or not as the heap lies. Here the system provides the zeros, when a page is first used.
func large(n int) []byte {
	s := unsafe.Slice((*byte)(mallocgc(uintptr(n), nil, false)), n)
	page := os.Getpagesize()
	zero := unix.Madvise(within(s, page), unix.MADV_DONTNEED) == nil
	_ = unix.Madvise(within(s, hugePage), unix.MADV_HUGEPAGE) // without them, nothing changes
	if !zero {
		clear(s)
	}
	clear(s[:page]) // both ends may be parts of pages
	clear(s[n-page:])
	return s
}

// within returns the whole pages of a size in s.
func within(s []byte, page int) []byte {
	first := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) % uintptr(page))
	return s[first : first+(len(s)-first)/page*page]
}

// mallocgc is Go's allocator, whose signature is kept for packages like this: go.dev/issue/67401.
//
//go:linkname mallocgc runtime.mallocgc
func mallocgc(size uintptr, pointers unsafe.Pointer, zero bool) unsafe.Pointer
