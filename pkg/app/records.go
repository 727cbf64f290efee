package app

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"glossa/schemas"
)

// recordsIn returns the records that stand in a directory, and of those inside the
// program the ones in whose place it has no file.
func recordsIn(dir string) fs.FS { return overlay{os.DirFS(dir), schemas.Files()} }

// An overlay is several directories as one: a file is that of the first that has it.
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

// ReadDir implements [fs.ReadDirFS]. A directory that cannot be read is an error, as its
// files would be replaced in silence.
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
