package app

import (
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// An ahead reads a packed model in S3 that is asked for while it is not known yet what
// models there are: a process that has just started would else list them, read their
// headers, and then the model, and each takes a while to begin. There is one at most, which
// whoever opens the model takes over.
type ahead struct {
	memory int64 // bytes that it may take; 0: no bound

	mu     sync.Mutex
	name   string // of the model that is asked for; "": none
	asked  time.Time
	places []fs.FS // that were listed before
	begun  bool
	key    string // of the file that is read; "": none, or it was taken over
	load   *checkpoint.Load
}

// What is not worth reading ahead, as it comes with its header, and what is too much to be
// read on a guess, bytes; and for how long what nobody opens is kept.
const (
	leastAhead = 1 << 20
	mostAhead  = 8 << 30
	keepAhead  = 10 * time.Second
)

// expect is told that a model will be opened.
func (a *ahead) expect(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.name == "" {
		a.name, a.asked = strings.TrimPrefix(name, catalog.Local+"/"), time.Now()
		for _, place := range a.places {
			a.begin(place)
		}
		a.places = nil
	}
}

// found is told what a place in S3 has.
func (a *ahead) found(place fs.FS) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.begun:
	case a.name != "":
		a.begin(place)
	case len(a.places) < 10: // the first ones alone: nothing was asked for yet
		a.places = append(a.places, place)
	}
}

// begin reads the model if it is in a place; a.mu is held.
func (a *ahead) begin(place fs.FS) {
	if a.begun || time.Since(a.asked) > keepAhead || !fs.ValidPath(a.name) {
		return
	}
	file, info := packIn(place, a.name)
	if info == nil || info.Size() < leastAhead || info.Size() > mostAhead || a.memory > 0 && info.Size() > a.memory || fileKey(file, info) == "" {
		return
	}
	f, err := place.Open(file)
	if r, ok := f.(randomFile); ok && err == nil { // else opening the model says why
		a.begun, a.key = true, fileKey(file, info)
		a.load = checkpoint.NewLoad(r, 0, info.Size(), kernel.Allocate)
		time.AfterFunc(keepAhead, a.drop)
	}
}

// drop forgets what nobody has taken over.
func (a *ahead) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
}

// stop is drop; a.mu is held.
func (a *ahead) stop() {
	if a.load != nil {
		go a.load.Stop() // it ends with the requests that are on their way
		a.load, a.key = nil, ""
	}
}

// take returns fsys for one who opens a model there, whose file is on its way if it is the
// one that is read. Where the name turns out to be that of another file, there is no memory
// to lose.
func (a *ahead) take(fsys fs.FS, name, model string) fs.FS {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.load == nil {
		return fsys
	}
	file, info := packIn(fsys, strings.TrimSuffix(model, checkpoint.PackSuffix))
	if info == nil || fileKey(file, info) != a.key {
		if name == a.name {
			a.stop()
		}
		return fsys
	}
	l := &loading{FS: fsys, name: file, load: a.load}
	a.load, a.key = nil, ""
	return l
}

// packIn finds the file of a model that is probably a packed one, by its name and those
// beside it; nil: there is none.
func packIn(fsys fs.FS, model string) (file string, info fs.FileInfo) {
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

// fileKey names a version of a file, if that has one.
func fileKey(file string, info fs.FileInfo) string {
	if tag, ok := info.Sys().(bucket.ETag); ok {
		return file + "\x00" + string(tag)
	}
	return ""
}

// loading is a file system of which one file is on its way.
type loading struct {
	fs.FS
	name string
	load *checkpoint.Load
}

// Open implements [fs.FS].
func (l *loading) Open(name string) (fs.File, error) {
	f, err := l.FS.Open(name)
	if r, ok := f.(randomFile); ok && err == nil && name == l.name {
		return &loadingFile{r, l.load}, nil
	}
	return f, err
}

type randomFile interface {
	fs.File
	ReadAt(p []byte, at int64) (int, error)
}

// A loadingFile is read by itself, in small pieces, or as a whole from where it is on its
// way to.
type loadingFile struct {
	randomFile
	load *checkpoint.Load
}

// Load implements [checkpoint.Loading].
func (f *loadingFile) Load() *checkpoint.Load { return f.load }
