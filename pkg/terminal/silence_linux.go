package terminal

import "golang.org/x/sys/unix"

const (
	readTermios, writeTermios = unix.TCGETS, unix.TCSETS
	disabled                  = 0 // _POSIX_VDISABLE
)
