// Package local owns the models that run in this process: it lists the training runs and
// the published models of a directory or a place in Amazon S3, describes them by their
// headers, prefetches the first one that a client requests, and opens their weights, which
// adapters share with their base. It implements [catalog.Loader]. It refuses to know HTTP, the
// dialects and the records that describe models: the settings of a record come as
// [catalog.Options].
package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"glossa/pkg/bucket"
	"glossa/pkg/catalog"
	"glossa/pkg/engine"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sealed"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/grammar"
)

// Config configures a [Loader]. Kernels, Team and Queue are required to open models.
type Config struct {
	Kernels *kernel.Kernels
	Team    *transformer.Team // threads that compute a model together
	Queue   *engine.Queue     // generations of all models
	Turns   *grammar.Turns    // of grammars that are compiled; nil: no bound

	Quant         string // of weights in memory where a model's options name none, of [catalog.Quants]; "": stored
	Memory        int64  // bytes for the weights of open models, which bound the prefetched file; 0: no bound
	RequestMemory int64  // bytes that a request may take; 0: the engine's default

	// Prefixes is the memory of computed prompts of all models; nil: each has an eighth of
	// RequestMemory.
	Prefixes *engine.PrefixMemory

	// Archive keeps computed prompts beyond the process; nil: they end with it.
	Archive *sealed.Archive

	// Bucket opens a place in S3; nil: models are in directories only.
	Bucket func(bucket.Config) (*bucket.FS, error)
}

// A Loader finds and opens models. It is safe for concurrent use.
type Loader struct {
	cfg       Config
	locations s3Locations
	shared    sharedWeights
	ballast   atomic.Pointer[[]byte]

	mu        sync.Mutex
	described map[string][]described // by [filesKey] of an entry of a directory
}

var _ catalog.Loader = (*Loader)(nil)

// New returns a loader. It reads nothing yet.
func New(cfg Config) *Loader {
	cfg.Quant = cmp.Or(cfg.Quant, "stored")
	return &Loader{cfg: cfg, locations: s3Locations{open: cfg.Bucket, prefetcher: prefetcher{memory: cfg.Memory}}}
}

// Root returns the root of models at a directory or at s3://bucket/prefix. Nothing is read
// from S3 yet.
func (l *Loader) Root(checkpoints string) (catalog.Root, error) {
	if bucket.IsURL(checkpoints) {
		place, err := l.locations.root(checkpoints)
		if err != nil {
			return catalog.Root{}, fmt.Errorf("checkpoints: %w", err)
		}
		return catalog.Root{Name: trimSlash(checkpoints), FS: place}, nil
	}
	dir, err := filepath.Abs(checkpoints) // an absolute path cannot be the name of another root
	if err != nil {
		return catalog.Root{}, fmt.Errorf("checkpoints directory: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return catalog.Root{}, fmt.Errorf("the checkpoints directory %s does not exist: create it", dir)
	case err != nil:
		return catalog.Root{}, fmt.Errorf("checkpoints directory: %w", err)
	case !info.IsDir():
		return catalog.Root{}, fmt.Errorf("checkpoints directory %s: it is a file; name the directory that holds it", dir)
	}
	return catalog.Root{Name: dir, FS: os.DirFS(dir)}, nil
}

// Invalidate makes the next scan list a root again, because this process changed it. A
// directory is always listed again.
func (l *Loader) Invalidate(root catalog.Root) {
	if place, ok := root.FS.(*s3Location); ok {
		place.forget()
	}
}

// Locate implements [catalog.Loader].
func (l *Loader) Locate(location string) (fs.FS, error) {
	switch {
	case filepath.IsAbs(location):
		location = filepath.Clean(location)
		return oneEntry{os.DirFS(filepath.Dir(location)), filepath.Base(location)}, nil
	case l.cfg.Bucket == nil:
		return nil, errors.New("checkpoints in S3 cannot be read here: name a directory")
	}
	return l.locations.model(location)
}

// oneEntry is a directory that shows only one of its entries.
type oneEntry struct {
	fs.FS
	name string
}

// ReadDir implements [fs.ReadDirFS].
func (o oneEntry) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return fs.ReadDir(o.FS, name)
	}
	info, err := fs.Stat(o.FS, o.name)
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}
