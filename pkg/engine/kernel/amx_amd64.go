//go:build amd64 && !purego && linux

package kernel

import (
	"sync"
	"syscall"

	"golang.org/x/sys/cpu"
)

// hasAMX reports whether AMX can multiply bytes: the kernel gives tiles to processes that
// ask for them.
var hasAMX = sync.OnceValue(func() bool {
	const request, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM of asm/prctl.h, XFEATURE_XTILEDATA
	if !cpu.X86.HasAMXTile || !cpu.X86.HasAMXInt8 {
		return false
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, request, tileData, 0)
	return errno == 0
})
