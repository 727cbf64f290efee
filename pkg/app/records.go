package app

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"glossa/schemas"
)

// recordsIn returns the records in a directory, and the embedded records that have no
// file of the same name there.
func recordsIn(dir string) fs.FS { return overlay{os.DirFS(dir), schemas.Files()} }

// An overlay combines several directories: the first one with a file provides it.
type overlay []fs.FS

// Open implements [fs.FS].
func (o overlay) Open(name string) (f fs.File, err error) {
	for _, layer := range o {
		if f, err = layer.Open(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return f, err
}

// ReadDir implements [fs.ReadDirFS]. It returns an error for an unreadable directory,
// whose files would otherwise be replaced silently.
func (o overlay) ReadDir(name string) (all []fs.DirEntry, err error) {
	for _, layer := range o {
		list, err := fs.ReadDir(layer, name)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if !slices.ContainsFunc(all, func(have fs.DirEntry) bool { return have.Name() == e.Name() }) {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
