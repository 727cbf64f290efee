package local

import (
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// A prefetcher reads a packed model from S3 before the models are listed. A process that
// has just started would otherwise list them, read their headers and then the model, and
// each step takes a while to begin. It reads one model at most; opening that model takes
// the read over.
type prefetcher struct {
	memory int64 // bytes that the file may take; 0: no bound

	mu     sync.Mutex
	name   string // of the requested model; "": none yet
	asked  time.Time
	places []fs.FS // listed before the request
	begun  bool
	key    string // [fileKey] of the file that is read; "": none, or it was taken over
	load   *checkpoint.Load
}

// Bounds of the prefetched file, bytes: a smaller one arrives with its header, a larger one
// is too much to read on a guess. A read that no one takes over is dropped after keepPrefetched.
const (
	minPrefetch    = 1 << 20
	maxPrefetch    = 8 << 30
	keepPrefetched = 10 * time.Second
)

// maxPlaces bounds the listings that a prefetcher keeps before the first request.
const maxPlaces = 10

// request starts the read of a requested model. Only the first call has an effect.
func (p *prefetcher) request(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name == "" {
		p.name, p.asked = name, time.Now()
		for _, place := range p.places {
			p.begin(place)
		}
		p.places = nil
	}
}

// listed passes the files of a location.
func (p *prefetcher) listed(place fs.FS) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.begun:
	case p.name != "":
		p.begin(place)
	case len(p.places) < maxPlaces:
		p.places = append(p.places, place)
	}
}

// begin reads the model if the location has it; p.mu is held.
func (p *prefetcher) begin(place fs.FS) {
	if p.begun || time.Since(p.asked) > keepPrefetched || !fs.ValidPath(p.name) {
		return
	}
	file, info := findPack(place, p.name)
	if info == nil || info.Size() < minPrefetch || info.Size() > maxPrefetch || p.memory > 0 && info.Size() > p.memory || fileKey(file, info) == "" {
		return
	}
	f, err := place.Open(file)
	if r, ok := f.(randomFile); ok && err == nil { // opening the model returns the error
		p.begun, p.key = true, fileKey(file, info)
		p.load = checkpoint.NewLoad(r, 0, info.Size(), kernel.Allocate)
		time.AfterFunc(keepPrefetched, p.drop)
	}
}

// drop ends a read that was not taken over.
func (p *prefetcher) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
}

// stop is drop; p.mu is held.
func (p *prefetcher) stop() {
	if p.load != nil {
		go p.load.Stop() // it ends with the requests under way
		p.load, p.key = nil, ""
	}
}

// take returns the file system from which the model of that name is opened. Its file uses
// the prefetched bytes if it is the file that is read. If the name turns out to be that of
// another file, the read is dropped to free its memory.
func (p *prefetcher) take(fsys fs.FS, name, model string) fs.FS {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.load == nil {
		return fsys
	}
	file, info := findPack(fsys, strings.TrimSuffix(model, checkpoint.PackSuffix))
	if info == nil || fileKey(file, info) != p.key {
		if name == p.name {
			p.stop()
		}
		return fsys
	}
	taken := &prefetchedFS{FS: fsys, name: file, load: p.load}
	p.load, p.key = nil, ""
	return taken
}

// findPack returns the file of a model that is a packed one, judged by the names of its
// files; info is nil if it is not.
func findPack(fsys fs.FS, model string) (file string, info fs.FileInfo) {
	if info, err := fs.Stat(fsys, model+checkpoint.PackSuffix); err == nil && !info.IsDir() {
		return model + checkpoint.PackSuffix, info
	}
	entries, err := fs.ReadDir(fsys, model)
	if err != nil {
		return "", nil
	}
	for _, e := range entries {
		switch {
		case e.Name() == "config.json" || strings.HasSuffix(e.Name(), checkpoint.PackSuffix) && file != "":
			return "", nil // a model of several files, or several models
		case strings.HasSuffix(e.Name(), checkpoint.PackSuffix):
			file = path.Join(model, e.Name())
		}
	}
	if file == "" {
		return "", nil
	}
	if info, err = fs.Stat(fsys, file); err != nil {
		return "", nil
	}
	return file, info
}

// fileKey identifies a version of a file; "": the store has no versions.
func fileKey(file string, info fs.FileInfo) string {
	if tag, ok := info.Sys().(bucket.ETag); ok {
		return file + "\x00" + string(tag)
	}
	return ""
}

// prefetchedFS is a file system of which one file is prefetched.
type prefetchedFS struct {
	fs.FS
	name string
	load *checkpoint.Load
}

// Open implements [fs.FS].
func (p *prefetchedFS) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	if r, ok := f.(randomFile); ok && err == nil && name == p.name {
		return &prefetchedFile{r, p.load}, nil
	}
	return f, err
}

type randomFile interface {
	fs.File
	ReadAt(p []byte, at int64) (int, error)
}

// A prefetchedFile reads small pieces from the file itself, and its whole content from the
// load.
type prefetchedFile struct {
	randomFile
	load *checkpoint.Load
}

// Load implements [checkpoint.Loading].
func (f *prefetchedFile) Load() *checkpoint.Load { return f.load }
