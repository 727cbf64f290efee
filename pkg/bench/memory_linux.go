package bench

import "syscall"

// reserve returns n bytes, on huge pages if the system grants them, and a function that
// frees them.
func reserve(n int) (memory []byte, free func()) {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		b = make([]byte, n)
		free = func() {}
	} else {
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // a system without huge pages returns an error
		free = func() { _ = syscall.Munmap(b) }       // b is the result of Mmap
	}
	touch(b)
	return b, free
}
