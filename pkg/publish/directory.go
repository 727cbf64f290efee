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
	"runtime"
	"strings"
	"time"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
)

const (
	// Names of directories that a scan never lists.
	uploadPrefix = ".upload-" // a model that is being written
	oldPrefix    = ".old-"    // and a model's name: the model while another takes its place
	uploadsDir   = ".uploads" // uploads under way
	// staleAfter is how long files without a lock may lie unchanged, where the system has no
	// locks, before [Open] considers them remains of a crash.
	staleAfter = time.Hour
)

// young tells whether a file may still be written where no lock tells.
func young(info fs.FileInfo) bool { return time.Since(info.ModTime()) < staleAfter }

// directory is a directory of models, each one of its own. It implements [models].
type directory struct {
	root  *os.Root
	files *files
	// The steps that tests let fail. exchange swaps two directories atomically or
	// reports [errors.ErrUnsupported].
	rename   func(from, to string) error
	exchange func(a, b string) error
}

// Open opens a store in a directory, which it creates if it has to. It removes what
// uploads left behind that a dead process made, and puts back a model that a crash left
// aside.
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

// recover tidies up after a crash.
func (d *directory) recover() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), oldPrefix); ok && CheckName(name) == nil {
			err = d.putBack(e.Name(), name)
		} else if strings.HasPrefix(e.Name(), uploadPrefix) {
			err = d.files.clear(e.Name())
		}
		if err != nil {
			return err
		}
	}
	return d.files.clearBlobs()
}

// make creates a directory that [Open] leaves alone until unlock is called.
func (d *directory) make() (dir string, unlock func(), err error) {
	dir = uploadPrefix + rand.Text()
	unlock, err = d.files.locked(dir, func() error { return d.root.Mkdir(dir, 0o755) })
	return dir, unlock, err
}

// putBack gives a model that was set aside its name again, or removes it if its
// successor has the name.
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

// gone is err unless it says that what was listed went meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// occupied tells whether a model has the name. What is no model is not touched.
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

// beside tells whether the model is a packed one that lies beside the directories.
func (d *directory) beside(name string) (bool, error) {
	name += checkpoint.PackSuffix
	if info, err := d.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false, gone(err)
	}
	return checkpoint.IsPack(d.root.FS(), name)
}

// configFile is what makes a directory a run, or one of Hugging Face.
const configFile = "config.json"

// store implements [models].
func (d *directory) store(_ context.Context, name string, isNew bool, write func(to io.WriterAt) error) error {
	there, err := d.occupied(name)
	beside, failed := d.beside(name)
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
	case there && d.alone(name):
		err = d.exchangeFile(dir, name)
	default:
		err = d.swap(dir, name, there)
	}
	if err != nil { // what cannot be removed now, a later Open removes
		return errors.Join(err, d.root.RemoveAll(dir))
	}
	if beside { // it is hidden by now
		return d.removeFile(name + checkpoint.PackSuffix)
	}
	return nil
}

// alone tells whether a model is one packed file, whose place another can take in one step
// everywhere.
func (d *directory) alone(name string) bool {
	entries, err := fs.ReadDir(d.root.FS(), name)
	return err == nil && len(entries) == 1 && entries[0].Name() == PackName && entries[0].Type().IsRegular()
}

// exchangeFile puts the file of dir in the place of that of the model.
func (d *directory) exchangeFile(dir, name string) error {
	if err := d.rename(path.Join(dir, PackName), path.Join(name, PackName)); err != nil {
		return err
	}
	d.discard(dir)
	return d.sync(name)
}

// writeFile makes a file and makes it durable.
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
	beside, failed := d.beside(name)
	if err = cmp.Or(err, failed); err == nil && beside { // first, as the directory hides it
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
	// It vanishes at once, and a crash while its files go leaves no half of it.
	if err := d.rename(name, path.Join(dir, name)); err != nil {
		return errors.Join(err, d.root.RemoveAll(dir))
	}
	if err := d.sync("."); err != nil {
		return err
	}
	d.discard(dir)
	return nil
}

// swap gives dir the model's name. Where the system can, a model that has the name
// is exchanged in one step; elsewhere it is set aside first, and put back if the
// second step fails or, after a crash, by [Open].
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

// discard removes what no longer has a model's name. A failure, as when Windows
// has a file of it open, changes no model: the next Open removes what stays.
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

// sync makes the entries of a directory durable. Windows has no such call.
func (d *directory) sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
