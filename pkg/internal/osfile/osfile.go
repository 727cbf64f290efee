// Package osfile hides differences between the operating systems' files. It refuses to know
// what the files are for.
package osfile

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strings"
)

// SyncDir makes the entries of a directory durable, and closes it. err is that of opening it.
// Systems other than Unix have no such call: Windows makes entries durable itself.
func SyncDir(dir *os.File, err error) error {
	if err != nil {
		return err
	}
	switch runtime.GOOS {
	case "windows", "plan9", "js", "wasip1":
	default:
		err = dir.Sync()
	}
	return errors.Join(err, dir.Close())
}

// Unmarked returns a text without the byte order mark with which editors on Windows begin files.
func Unmarked(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// IsDevice reports whether Windows considers the name of a file a device. Files that may be
// copied to Windows must not have such names on any system.
func IsDevice(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".") // it may have any ending
	switch name = strings.TrimRight(name, " "); name {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	numbered := strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt")
	return numbered && len(name) == 4 && name[3] >= '0' && name[3] <= '9'
}
