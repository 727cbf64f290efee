package hub

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Origin is where the files of a directory come from.
type Origin struct {
	Repo, Revision, Commit string
	Files                  []string // those that are complete, sorted; with slashes
	Partial                bool     // a pull into the directory has not ended
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
	o := Origin{Repo: m.Repo, Revision: m.Revision, Commit: m.Commit}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if _, err := root.Stat(name); err == nil {
			o.Files = append(o.Files, name)
		}
	}
	parts, err := fs.ReadDir(root.FS(), partsDir)
	o.Partial = err == nil && len(parts) > 0 // a pull that fails early leaves the directory empty
	return o, nil
}

// Forget removes what pulls keep in a directory beside its files. It returns an error if a pull
// writes into the directory.
func Forget(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := Idle(dir); err != nil {
		return err
	}
	return root.RemoveAll(stateDir)
}

// Idle returns an error if a pull writes into a directory.
func Idle(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := root.OpenFile(lockName, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(lockFile(lock), lock.Close())
}
