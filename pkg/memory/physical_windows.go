package memory

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length, load     uint32
	total            uint64 // bytes of physical memory
	_, _, _, _, _, _ uint64
}

// physical returns the memory of the machine, bytes; 0 if it is unknown.
func physical() int64 {
	s := memoryStatus{}
	s.length = uint32(unsafe.Sizeof(s))
	status := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := status.Call(uintptr(unsafe.Pointer(&s))); ok == 0 || s.total > 1<<62 {
		return 0
	}
	return int64(s.total)
}
