package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"glossa/pkg/catalog"
	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// sharedWeights are the weights in memory that models share: those of bases and of their adapters.
type sharedWeights struct {
	mu    sync.Mutex
	byKey map[string]*loading
}

// A loading is weights that are in memory, or are being read.
type loading struct {
	ready   chan struct{} // closed when the fields below are set
	weights *engine.Weights
	err     error
}

// errUnread is the error of those who wait for a reader that panics.
var errUnread = errors.New("the weights of its base could not be read")

// errChanged is the error of weights whose files are replaced while they are read.
var errChanged = &llm.Error{Code: llm.Upstream, Message: "the files of the model changed while they were read: try again"}

// use returns the weights of a key, which load reads unless they are in memory. Concurrent calls
// read them once. The caller is a user of the weights. load passes its argument to [engine.Load].
func (s *sharedWeights) use(key string, load func(released func()) (*engine.Weights, error)) (*engine.Weights, error) {
	for {
		one, first := s.get(key)
		if first {
			s.load(key, one, load)
			return one.weights, one.err
		}
		<-one.ready
		if one.err != nil {
			return nil, one.err
		}
		if one.weights.Use() {
			return one.weights, nil
		}
		s.forget(key, one) // the last user has just released them
	}
}

// get returns the weights of a key. first reports whether the caller reads them.
func (s *sharedWeights) get(key string) (one *loading, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.byKey[key]; one != nil {
		return one, false
	}
	one = &loading{ready: make(chan struct{}), err: errUnread}
	if s.byKey == nil {
		s.byKey = map[string]*loading{}
	}
	s.byKey[key] = one
	return one, true
}

// load reads the weights of a key.
func (s *sharedWeights) load(key string, one *loading, load func(released func()) (*engine.Weights, error)) {
	defer close(one.ready)
	defer func() {
		if one.err != nil {
			s.forget(key, one)
		}
	}()
	one.weights, one.err = load(func() { s.forget(key, one) })
}

// forget removes weights that are not in memory.
func (s *sharedWeights) forget(key string, one *loading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key] == one {
		delete(s.byKey, key)
	}
}

// weights returns the weights of a model that it can share, nil if it can share none. The caller is a user of
// them. fsys is where m was opened.
func (l *Loader) weights(fsys fs.FS, run *catalog.Run, m *arch.Model, cfg engine.Config) (*engine.Weights, error) {
	dir, added := m.Shares()
	if dir == "" {
		return nil, nil
	}
	version, err := filesKey(fsys, dir)
	if err != nil {
		return nil, err
	}
	return l.shared.use(fmt.Sprintf("%s\x00%v\x00%v\x00%s", run.Source, cfg.Format, cfg.KV, version), func(released func()) (_ *engine.Weights, err error) {
		base, err := arch.OpenWeights(fsys, dir) // m may have been opened before version was read
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, base.Close()) }()
		if added > 0 {
			cfg.Name = path.Base(dir)
		}
		w, err := engine.Load(base, cfg, released)
		if err != nil {
			return nil, err
		}
		if now, err := filesKey(fsys, dir); err != nil || now != version {
			w.Release()
			return nil, errors.Join(errChanged, err)
		}
		return w, nil
	})
}
