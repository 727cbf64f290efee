package app

import (
	"bytes"
	"context"
	"fmt"

	"glossa/pkg/catalog"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/publish"
)

// alpha returns the routes of Alpha's own dialect.
func (a *App) alpha() []httpx.Route {
	cfg := alpha.Config{Models: a.Models()}
	if a.store != nil {
		cfg.Publisher = publisher{a.store, a.catalog, a.cfg.Checkpoints}
	}
	return alpha.Routes(cfg)
}

// publisher stores the dialect's uploads and shows them to the catalog.
type publisher struct {
	store   *publish.Store
	catalog *catalog.Catalog
	root    string // the name of the store's root in the catalog
}

var _ alpha.Publisher = publisher{}

// Publish implements [alpha.Publisher]. A name that a model from elsewhere has is
// refused, since the upload would be stored and never served.
func (p publisher) Publish(ctx context.Context, u *alpha.Upload) error {
	entries, _ := p.catalog.Entries(ctx)
	for _, e := range entries {
		if e.Name == u.Name && e.Run != nil && e.Run.Source != p.root {
			message := fmt.Sprintf("%s is the name of a model of %s: choose another", u.Name, e.Run.Source)
			return &llm.Error{Code: llm.Invalid, Param: "name", Message: message}
		}
	}
	defer p.catalog.Refresh()
	return p.store.Put(ctx, publish.Upload{
		Name: u.Name, Config: u.Config, Step: u.Step, Checkpoint: bytes.NewReader(u.Checkpoint),
		Metrics: u.Metrics, TrainingData: u.TrainingData,
	})
}

// Delete implements [alpha.Publisher].
func (p publisher) Delete(ctx context.Context, name string) error {
	defer p.catalog.Refresh()
	return p.store.Delete(ctx, name)
}
