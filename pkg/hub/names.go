package hub

import (
	"errors"
	"fmt"
	"strings"

	"glossa/pkg/internal/osfile"
)

const (
	maxPath    = 512 // bytes of a file's path
	maxElement = 200 // bytes of each element: file systems allow 255, and .part is added
)

// CheckPath returns an error if a path from a server is not acceptable for a file: it
// must be relative and have slashes, and each element must mean the same file on every
// operating system, in printable ASCII, and not be hidden.
func CheckPath(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("the file name %.40q... has more than %d bytes", path, maxPath)
	}
	for element := range strings.SplitSeq(path, "/") {
		if err := checkElement(element); err != nil {
			return fmt.Errorf("the file name %q is rejected: %w", path, err)
		}
	}
	return nil
}

func checkElement(name string) error {
	switch {
	case name == "":
		return errors.New("an element is empty")
	case len(name) > maxElement:
		return fmt.Errorf("an element has more than %d bytes", maxElement)
	case name[0] == '.':
		return errors.New("an element begins with a dot")
	case name[len(name)-1] == '.', name[len(name)-1] == ' ', name[0] == ' ':
		return errors.New("an element ends with a dot, or begins or ends with a space")
	case osfile.IsDevice(name):
		return errors.New("it is a device on Windows")
	}
	for _, r := range name {
		if r < ' ' || r > '~' || strings.ContainsRune(`\:*?"<>|`, r) {
			return fmt.Errorf("it holds %q", r)
		}
	}
	return nil
}

// checkPaths checks the paths of files, and that no two of them collide on any file
// system: as names that differ in case, or as a file and a directory.
func checkPaths(files []File) error {
	taken := map[string]string{} // folded paths and directories, with their owners
	for _, f := range files {
		if err := CheckPath(f.Path); err != nil {
			return err
		}
		folded := strings.ToLower(f.Path)
		if other, ok := taken[folded]; ok {
			return fmt.Errorf("the file names %q and %q are rejected: they are the same on some systems", other, f.Path)
		}
		taken[folded] = f.Path
	}
	for _, f := range files {
		folded := strings.ToLower(f.Path)
		for i := range len(folded) {
			if other, ok := taken[folded[:i]]; ok && folded[i] == '/' {
				return fmt.Errorf("the file names %q and %q are rejected: one would be a directory of the other", other, f.Path)
			}
		}
	}
	return nil
}
