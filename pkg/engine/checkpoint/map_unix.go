//go:build linux || darwin

package checkpoint

import (
	"os"
	"syscall"
)

// mapMemory maps the first bytes of a file for reading.
func mapMemory(f *os.File, size int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size < 1 || size > info.Size() || int64(int(size)) != size {
		return nil, syscall.EINVAL
	}
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmapMemory(data []byte) { _ = syscall.Munmap(data) }
