//go:build linux || darwin

package hub

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that the user may still write to the disk of dir.
func freeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
