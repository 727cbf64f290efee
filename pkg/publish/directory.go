package publish

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/internal/osfile"
)

const (
	// Names of directories that a scan never lists.
	uploadPrefix = ".upload-" // a model that is being written
	oldPrefix    = ".old-"    // and a model's name: the old model during a replacement
	uploadsDir   = ".uploads" // uploads in progress
	// staleAfter is the age, on systems without locks, at which [Open] considers unlocked
	// files remains of a crash.
	staleAfter = time.Hour
)

// recent reports whether a file may still be written, if no lock shows it.
func recent(info fs.FileInfo) bool { return time.Since(info.ModTime()) < staleAfter }

// directory is a directory of models, each in its own directory. It implements [models].
type directory struct {
	root  *os.Root
	files *files
	// Steps that tests let fail. exchange swaps two directories atomically or reports
	// [errors.ErrUnsupported].
	rename   func(from, to string) error
	exchange func(a, b string) error
}

// Open opens a store in a directory, which it creates if necessary. It removes the
// remains of dead processes' uploads, and restores a model that a crash left aside.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	files := newFiles(root)
	d := &directory{root: root, files: files, rename: root.Rename}
	d.exchange = func(a, b string) error { return exchange(root, a, b) }
	if err := d.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("publish: %w", err), root.Close())
	}
	return &Store{models: d, blobs: &fileBlobs{root: root, files: files}}, nil
}

func (d *directory) close() error { return d.root.Close() }

// recover cleans up after a crash.
func (d *directory) recover() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), oldPrefix); ok && CheckName(name) == nil {
			err = d.putBack(e.Name(), name)
		} else if strings.HasPrefix(e.Name(), uploadPrefix) {
			err = d.files.removeStale(e.Name())
		}
		if err != nil {
			return err
		}
	}
	return d.files.removeStaleBlobs()
}

// make creates a directory that [Open] leaves alone until unlock is called.
func (d *directory) make() (dir string, unlock func(), err error) {
	dir = uploadPrefix + rand.Text()
	unlock, err = d.files.locked(dir, func() error { return d.root.Mkdir(dir, 0o755) })
	return dir, unlock, err
}

// putBack renames a model that was set aside back to its name, or removes it if
// another model has the name.
func (d *directory) putBack(old, name string) error {
	_, err := d.root.Lstat(name)
	if err == nil {
		return d.root.RemoveAll(old)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return d.rename(old, name)
	}
	return err
}

// used implements [models].
func (d *directory) used(context.Context) (total int64, err error) {
	err = fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if name == uploadsDir {
			return fs.SkipDir
		}
		if err != nil || !e.Type().IsRegular() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return gone(err)
	})
	return total, err
}

// gone returns nil for an error that says that a listed file was deleted meanwhile, else err.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// occupied reports whether a model has the name. Entries that are not models are an error.
func (d *directory) occupied(name string) (bool, error) {
	info, err := d.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, taken(name)
	}
	if _, err := d.root.Lstat(path.Join(name, configFile)); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	is, err := arch.Detect(d.root.FS(), name)
	if err == nil && !is {
		err = taken(name)
	}
	return is, err
}

// isPackedFile reports whether the model is a packed file next to the directories.
func (d *directory) isPackedFile(name string) (bool, error) {
	name += checkpoint.PackSuffix
	if info, err := d.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false, gone(err)
	}
	return checkpoint.IsPack(d.root.FS(), name)
}

// configFile marks a directory as a run, or as a Hugging Face model.
const configFile = "config.json"

// store implements [models].
func (d *directory) store(_ context.Context, name string, isNew bool, write func(to io.WriterAt) error) error {
	there, err := d.occupied(name)
	beside, failed := d.isPackedFile(name)
	if err = cmp.Or(err, failed); err == nil && (there || beside) && isNew {
		err = exists(name)
	}
	if err != nil {
		return err
	}
	dir, unlock, err := d.make()
	if err != nil {
		return err
	}
	defer unlock()
	if err = d.writeFile(path.Join(dir, PackName), write); err == nil {
		err = d.sync(dir)
	}
	switch {
	case err != nil:
	case there && d.isSinglePackedFile(name):
		err = d.exchangeFile(dir, name)
	default:
		err = d.swap(dir, name, there)
	}
	if err != nil { // a later Open removes the rest
		return errors.Join(err, d.root.RemoveAll(dir))
	}
	if beside { // the directory hides it by now
		return d.removeFile(name + checkpoint.PackSuffix)
	}
	return nil
}

// hasOther implements [models].
func (d *directory) hasOther(_ context.Context, name string) (bool, error) {
	there, err := d.occupied(name)
	return there && !d.isSinglePackedFile(name), err
}

// isSinglePackedFile reports whether a model is a single packed file, which every system can replace
// atomically.
func (d *directory) isSinglePackedFile(name string) bool {
	entries, err := fs.ReadDir(d.root.FS(), name)
	return err == nil && len(entries) == 1 && entries[0].Name() == PackName && entries[0].Type().IsRegular()
}

// exchangeFile replaces the model's file by that of dir.
func (d *directory) exchangeFile(dir, name string) error {
	if err := d.rename(path.Join(dir, PackName), path.Join(name, PackName)); err != nil {
		return err
	}
	d.discard(dir)
	return d.sync(name)
}

// writeFile writes a durable file.
func (d *directory) writeFile(name string, write func(to io.WriterAt) error) error {
	f, err := d.files.open(name)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d *directory) removeFile(name string) error {
	if err := d.root.Remove(name); err != nil {
		return err
	}
	return d.sync(".")
}

// remove implements [models].
func (d *directory) remove(_ context.Context, name string) error {
	there, err := d.occupied(name)
	beside, failed := d.isPackedFile(name)
	if err = cmp.Or(err, failed); err == nil && beside { // first, because the directory hides it
		err = d.removeFile(name + checkpoint.PackSuffix)
	}
	switch {
	case err != nil:
		return err
	case !there && !beside:
		return noModel(name)
	case !there:
		return nil
	}
	dir, unlock, err := d.make()
	if err != nil {
		return err
	}
	defer unlock()
	// The model disappears atomically, and a crash during the deletion leaves no half of it.
	if err := d.rename(name, path.Join(dir, name)); err != nil {
		return errors.Join(err, d.root.RemoveAll(dir))
	}
	if err := d.sync("."); err != nil {
		return err
	}
	d.discard(dir)
	return nil
}

// swap renames dir to the model's name. If the system supports it, an existing model
// is exchanged atomically; otherwise it is set aside first, and put back if the second
// step fails or, after a crash, by [Open].
func (d *directory) swap(dir, name string, there bool) error {
	if !there {
		if err := d.rename(dir, name); err != nil {
			return err
		}
		return d.sync(".")
	}
	err := d.exchange(dir, name)
	if errors.Is(err, errors.ErrUnsupported) {
		return d.replace(dir, name)
	}
	if err == nil {
		err = d.sync(".")
	}
	if err == nil {
		d.discard(dir) // the old model
	}
	return err
}

// discard removes files that no longer have a model's name. A failure, such as an open
// file on Windows, affects no model: the next Open removes the rest.
func (d *directory) discard(dir string) { _ = d.root.RemoveAll(dir) }

// replace is swap in two steps.
func (d *directory) replace(dir, name string) error {
	old := oldPrefix + name
	if err := d.root.RemoveAll(old); err != nil {
		return err
	}
	if err := d.rename(name, old); err != nil {
		return err
	}
	if err := d.rename(dir, name); err != nil {
		return errors.Join(err, d.rename(old, name))
	}
	if err := d.sync("."); err != nil {
		return err
	}
	d.discard(old)
	return nil
}

// sync makes the entries of a directory durable.
func (d *directory) sync(dir string) error { return osfile.SyncDir(d.root.Open(dir)) }
