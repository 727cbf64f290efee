//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package account

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// own gives f the owner and the group of another file, if that exists: files that root
// changes must stay readable for the server.
func own(f *os.File, other string) error {
	info, err := os.Stat(other)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	theirs, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(theirs.Uid) == os.Geteuid() {
		return nil
	}
	return f.Chown(int(theirs.Uid), int(theirs.Gid))
}
