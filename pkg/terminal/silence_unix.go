//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// silence keeps what is typed in the terminal's queue, unechoed, while no line is read.
// Ctrl-C still interrupts and leaves the queue as it is. The other keys with a signal
// would leave the terminal in this state, so they are ordinary keys.
func silence(fd int) error {
	state, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON
	state.Lflag |= unix.ISIG | unix.NOFLSH
	state.Iflag &^= unix.ICRNL // the editor reads Enter as a carriage return
	state.Cc[unix.VQUIT], state.Cc[unix.VSUSP] = disabled, disabled
	state.Cc[unix.VMIN], state.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, writeTermios, state)
}
