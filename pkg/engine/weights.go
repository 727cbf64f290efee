package engine

import (
	"errors"
	"fmt"
	"sync"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Weights are the weights of a model in memory. Engines share them: those of the model itself
// and of its adapters, whose rows are computed in the same passes. They are safe for concurrent use.
type Weights struct {
	model   *transformer.Model
	batches *batches

	released func() // called after the last user has released them; may be nil

	mu    sync.Mutex
	users int // 0: they are released
}

// Load reads the weights of a model for [Config.Weights], as the fields Kernels, Format,
// KV and Team of cfg say. The caller closes m, and is a user of the weights until it calls [Weights.Release].
// After the last user has, released is called.
func Load(m *arch.Model, cfg Config, released func()) (*Weights, error) {
	if cfg.Kernels == nil {
		cfg.Kernels = kernel.Best()
	}
	w, err := load(m, cfg)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	w.released = released
	return w, nil
}

func load(m *arch.Model, cfg Config) (*Weights, error) {
	model, err := transformer.New(m.Spec, m.Weights, cfg.Kernels, cfg.Format)
	if err != nil {
		return nil, err
	}
	model.StoreKV(cfg.KV)
	return &Weights{model: model, batches: newBatches(model, cfg.Team), users: 1}, nil
}

// weightsOf returns the weights of an engine, which uses them, and its adapter; nil if there is
// none.
func weightsOf(m *arch.Model, cfg Config) (*Weights, *transformer.Adapter, error) {
	if cfg.Weights == nil {
		w, err := load(m, cfg)
		return w, nil, err
	}
	var adapter *transformer.Adapter
	switch dir, added := m.Shares(); {
	case dir == "":
		return nil, nil, errors.New("it cannot share weights")
	case added > 0:
		var err error
		if adapter, err = cfg.Weights.model.NewAdapter(m.Weights); err != nil {
			return nil, nil, err
		}
	}
	if !cfg.Weights.Use() {
		return nil, nil, errors.New("its weights have been released")
	}
	return cfg.Weights, adapter, nil
}

// Use adds a user of the weights, who calls [Weights.Release]. It returns false if the last
// user has released them.
func (w *Weights) Use() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == 0 {
		return false
	}
	w.users++
	return true
}

// Release ends a use of the weights. The last user closes the model: its memory is freed when the
// last pass ends.
func (w *Weights) Release() {
	w.mu.Lock()
	w.users--
	last := w.users == 0
	w.mu.Unlock()
	if !last {
		return
	}
	w.model.Close()
	if w.released != nil {
		w.released()
	}
}
