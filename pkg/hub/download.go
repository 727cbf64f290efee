package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/internal/osfile"
)

// reportEvery is the time between two reports of progress.
const reportEvery = 100 * time.Millisecond

// A Download fetches files into a directory, which it locks. Fetched files lie below
// .pull until all are there and checked; then they are renamed, the configuration last, so
// that a reader of the directory never sees half of a model. It is not safe for
// concurrent use.
type Download struct {
	Files   int   // in the directory at the end
	Total   int64 // of these files, in bytes
	Missing int64 // to be fetched, in bytes
	Free    int64 // on the disk, in bytes; -1 if unknown

	*requester
	snapshot    *Snapshot
	connections int
	root        *os.Root
	lock        *os.File
	waiting     []File // not in place yet: to be fetched, or only to be checked
	done        atomic.Int64
	complete    atomic.Int64

	mu       sync.Mutex
	manifest *manifest
}

// Progress is the progress of a download.
type Progress struct {
	Bytes, Total    int64 // of all files, including existing ones
	Files, AllFiles int
}

// Prepare opens a directory for files of a snapshot, or creates it, and checks its
// contents: files of earlier downloads are not fetched again, and parts are resumed.
// It returns an error if another download uses the directory, if the directory holds
// other files under the same names or files of another commit, or if the disk is too
// small. The caller closes the result.
func (c *Client) Prepare(ctx context.Context, s *Snapshot, files []File, dir string) (*Download, error) {
	d := &Download{snapshot: s, Files: len(files), connections: cmp.Or(c.Connections, DefaultConnections)}
	if err := d.prepare(ctx, c, files, dir); err != nil {
		return nil, fmt.Errorf("hub: %s: %w", dir, errors.Join(err, d.Close()))
	}
	return d, nil
}

func (d *Download) prepare(ctx context.Context, c *Client, files []File, dir string) (err error) {
	if err := checkPaths(files); err != nil {
		return err
	}
	if d.requester, err = c.requester(d.snapshot); err != nil {
		return err
	}
	if err := d.open(dir); err != nil {
		return err
	}
	if d.manifest, err = readManifest(d.root); err != nil {
		return err
	}
	if err := d.sameModel(files); err != nil {
		return err
	}
	for _, f := range files {
		d.Total += f.Size
		if err := d.look(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	// The largest takes longest, so it comes first.
	slices.SortStableFunc(d.waiting, func(a, b File) int { return cmp.Compare(b.Size, a.Size) })
	return d.room(c, dir)
}

// open opens and locks the directory.
func (d *Download) open(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if d.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	if err := d.root.MkdirAll(partsDir, 0o755); err != nil {
		return err
	}
	d.lock, err = openLock(d.root)
	return err
}

// Close unlocks the directory. Fetched bytes stay there.
func (d *Download) Close() error {
	var err error
	if d.lock != nil {
		err = d.lock.Close()
	}
	if d.root != nil {
		err = errors.Join(err, d.root.Close())
	}
	return err
}

// sameModel returns an error if the directory has another model, or files of another
// commit that this download would leave.
func (d *Download) sameModel(files []File) error {
	m, s := d.manifest, d.snapshot
	if m.Repo != "" && m.Repo != s.Repo {
		return fmt.Errorf("it holds %s: pull %s into another directory", m.Repo, s.Repo)
	}
	listed, chosen := map[string]string{}, map[string]bool{}
	for _, f := range slices.Concat(s.Files, s.flatten(s.Files)) {
		listed[f.Path] = f.sum()
	}
	for _, f := range files {
		chosen[f.Path] = true
	}
	var old []string
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if _, err := d.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			delete(m.Files, name)
		} else if !chosen[name] && m.Files[name].Sum != listed[name] {
			old = append(old, fmt.Sprintf("%q", name))
		}
	}
	if len(old) > 0 {
		return fmt.Errorf("%s is from commit %s and would remain next to files of %s: remove it, or pull into another directory",
			strings.Join(old, ", "), m.Commit, s.Commit)
	}
	return nil
}

// look determines the state of a file.
func (d *Download) look(ctx context.Context, f File) error {
	info, err := d.root.Lstat(f.Path)
	known, recorded := d.manifest.Files[f.Path]
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it exists and is not a regular file")
	case known.Sum == f.sum() && known.checked(info):
		d.inPlace(f, info)
		return nil
	case info.Size() == f.Size:
		if err := d.compare(ctx, f); err == nil {
			d.inPlace(f, info)
			return nil
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fallthrough
	default:
		if !recorded {
			return errors.New("a different file with this name exists, and no pull created it: move it away")
		}
	}
	d.waiting = append(d.waiting, f)
	d.Missing += f.Size - d.partSize(f)
	return nil
}

// inPlace records that a file is complete and correct.
func (d *Download) inPlace(f File, info fs.FileInfo) {
	d.manifest.Files[f.Path] = record{Size: f.Size, Sum: f.sum(), Source: f.Source, Modified: info.ModTime()}
	d.done.Add(f.Size)
	d.complete.Add(1)
}

// compare reads an existing file and checks it.
func (d *Download) compare(ctx context.Context, f File) error {
	file, err := d.root.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	h := f.digest()
	if _, err := io.Copy(h, &interruptible{ctx, file}); err != nil {
		return err
	}
	return f.check(h)
}

// interruptible is a reader that fails when its context ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// partSize returns the number of bytes present of a file, 0 if they belong to another one.
func (d *Download) partSize(f File) int64 {
	d.mu.Lock()
	known := d.manifest.Parts[f.Path]
	d.mu.Unlock()
	info, err := d.root.Lstat(partName(f.Path))
	if err != nil || !info.Mode().IsRegular() || info.Size() > f.Size || known.Sum != f.sum() {
		return 0
	}
	return info.Size()
}

// room measures the free space.
func (d *Download) room(c *Client, dir string) (err error) {
	free := c.free
	if free == nil {
		free = freeSpace
	}
	if d.Free, err = free(dir); err != nil {
		d.Free = -1 // writing fails when the disk is full
		return nil
	}
	if d.Free >= 0 && d.Missing > d.Free {
		return fmt.Errorf("the download needs %d bytes, but the disk has only %d free", d.Missing, d.Free)
	}
	return nil
}

// Run fetches the missing files and puts them in place. report, if it is not nil, is
// called from the same goroutine from time to time, and at the end. After an error,
// such as that of an ended context, fetched bytes stay for the next download.
func (d *Download) Run(ctx context.Context, report func(Progress)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup // all end before Run returns
	var next atomic.Int64
	for range min(d.connections, len(d.waiting)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(d.waiting)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := d.fetch(ctx, d.waiting[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { // ends with the workers
		workers.Wait()
		close(ended)
	}()
	d.watch(ended, report)
	if ctx.Err() != nil {
		return fmt.Errorf("hub: %w", context.Cause(ctx))
	}
	if err := d.install(); err != nil {
		return fmt.Errorf("hub: %s: %w", d.root.Name(), err)
	}
	return nil
}

// watch calls report until ended is closed, and once more then.
func (d *Download) watch(ended <-chan struct{}, report func(Progress)) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for more := true; more; {
		select {
		case <-ended:
			more = false
		case <-ticker.C:
		}
		if report != nil {
			report(d.Progress())
		}
	}
}

// Progress returns the current progress.
func (d *Download) Progress() Progress {
	return Progress{Bytes: d.done.Load(), Total: d.Total, Files: int(d.complete.Load()), AllFiles: d.Files}
}

// configures reports whether a file makes a directory a model, or an adapter.
func configures(name string) bool { return name == "config.json" || name == checkpoint.AdapterConfig }

// install renames the fetched files, the configuration last, and deletes parts.
func (d *Download) install() error {
	m := d.manifest
	m.Repo, m.Revision, m.Commit = d.snapshot.Repo, d.snapshot.Revision, d.snapshot.Commit
	slices.SortFunc(d.waiting, func(a, b File) int {
		return cmp.Or(compareBool(configures(a.Path), configures(b.Path)), strings.Compare(a.Path, b.Path))
	})
	for _, f := range d.waiting {
		if err := d.root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := d.root.Rename(partName(f.Path), f.Path); err != nil {
			return err
		}
		m.Files[f.Path] = m.Parts[f.Path]
	}
	clear(m.Parts)
	if err := m.write(d.root, true); err != nil {
		return err
	}
	d.waiting = nil
	if err := d.root.RemoveAll(partsDir); err != nil {
		return err
	}
	return osfile.SyncDir(d.root.Open("."))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
