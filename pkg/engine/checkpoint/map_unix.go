//go:build linux || darwin

package checkpoint

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping says that the system maps files.
const mapping = true

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

// zeroMemory replaces a mapped file by zeros, so that late readers find memory. If the
// system cannot, the file stays mapped until [unmapMemory].
func zeroMemory(data []byte) {
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data)), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
}

func unmapMemory(data []byte) { _ = syscall.Munmap(data) }

// willNeed has the system read a part of a mapped file soon.
func willNeed(data []byte) { _ = unix.Madvise(data, unix.MADV_WILLNEED) }
