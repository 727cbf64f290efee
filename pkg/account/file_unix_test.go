//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package account

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that root changes keeps its owner.
func TestFileKeepsItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	const user, group = 12345, 54321
	path := filepath.Join(t.TempDir(), "accounts.json")
	addUser(t, NewFile(path), "a", Client)
	if err := os.Chown(path, user, group); err != nil {
		t.Fatal(err)
	}
	addUser(t, NewFile(path), "b", Client)
	for _, name := range []string{path, path + ".lock"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != user || owner.Gid != group {
			t.Errorf("%s is of %d:%d", name, owner.Uid, owner.Gid)
		}
	}
}
