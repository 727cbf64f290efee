package hub

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"glossa/pkg/internal/flock"
)

// Origin is where the files of a directory come from.
type Origin struct {
	Repo, Revision, Commit string
	Files                  []string          // those that are complete, sorted; with slashes
	Names                  map[string]string // of Files, by their paths in the repository
	Partial                bool              // a pull into the directory has not ended
}

// Pulled returns the origin of a directory's files. Its error is [fs.ErrNotExist] if no pull
// wrote into the directory. It reads no weights and does not wait for a pull that writes.
func Pulled(dir string) (Origin, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Origin{}, err
	}
	defer root.Close()
	if _, err := root.Stat(stateDir); err != nil {
		return Origin{}, err
	}
	m, err := readManifest(root)
	if err != nil {
		return Origin{}, err
	}
	o := Origin{Repo: m.Repo, Revision: m.Revision, Commit: m.Commit, Names: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if _, err := root.Stat(name); err == nil {
			o.Files = append(o.Files, name)
			o.Names[cmp.Or(m.Files[name].Source, name)] = name
		}
	}
	parts, err := fs.ReadDir(root.FS(), partsDir)
	o.Partial = err == nil && len(parts) > 0 // a pull that fails early leaves the directory empty
	return o, nil
}

// A Lock keeps pulls out of a directory.
type Lock struct {
	root *os.Root
	file *os.File
	made bool // no pull has written into the directory
}

// LockDir locks a directory, so that no pull writes into it until [Lock.Close]. It returns an
// error if a pull is writing into it.
func LockDir(dir string) (*Lock, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	l := &Lock{root: root}
	if err := root.Mkdir(stateDir, 0o755); err == nil {
		l.made = true
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, root.Close())
	}
	if l.file, err = openLock(root); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return l, nil
}

// Forget removes what pulls keep in the directory beside its files, and unlocks it.
func (l *Lock) Forget() error {
	err := l.root.RemoveAll(stateDir)
	closed := l.file.Close()
	if err != nil { // Windows removes no open file
		err = l.root.RemoveAll(stateDir)
	}
	return errors.Join(err, closed, l.root.Close())
}

// Close unlocks the directory.
func (l *Lock) Close() error {
	if l.made {
		return l.Forget()
	}
	return errors.Join(l.file.Close(), l.root.Close())
}

// openLock opens and locks the file of the lock. It returns an error if another process has
// it, or removed it meanwhile.
func openLock(root *os.Root) (*os.File, error) {
	file, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	var current bool
	if err = flock.Try(file); err == nil {
		current, err = holds(root, file)
	}
	if errors.Is(err, flock.ErrLocked) || err == nil && !current {
		err = errLocked
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// holds reports whether a locked file is still the one that others would lock.
func holds(root *os.Root, file *os.File) (bool, error) {
	locked, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := root.Stat(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}
