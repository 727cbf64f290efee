package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"glossa/pkg/account"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/publish"
)

// alpha returns the routes of Alpha's own dialect.
func (a *App) alpha() []httpx.Route {
	cfg := alpha.Config{Models: a.Models(), Curves: curves{a}}
	if a.store != nil {
		cfg.Publisher = publisher{a}
	}
	return alpha.Routes(cfg)
}

// publisher stores the dialect's uploads and refreshes the catalog.
type publisher struct{ a *App }

var _ alpha.Publisher = publisher{}

// free rejects the name of a model from another place: the upload would never be served, or
// would answer requests for that model.
func (p publisher) free(ctx context.Context, name string) error {
	e, err := p.a.catalog.Entry(ctx, name)
	switch problem, _ := errors.AsType[*llm.Error](err); {
	case problem != nil && problem.Code == llm.NotFound:
		return nil
	case err != nil:
		return err
	case e.Name == name && e.Run != nil && e.Run.Source == p.a.root.Name:
		return nil
	}
	of := "the family " + e.Family
	if e.Run != nil {
		of = e.Run.Source
	}
	return &llm.Error{Code: llm.Invalid, Param: "name", Message: fmt.Sprintf("%s is already a name of the model %s of %s: choose another", name, e.Name, of)}
}

// admitted lets admins use the uploads of all users.
func admitted(ctx context.Context) context.Context {
	if p, ok := account.PrincipalOf(ctx); ok && p.Role == account.Admin {
		return publish.WithAllUploads(ctx)
	}
	return ctx
}

// change calls do, which changes a model and returns its name. Then the catalog lists the
// models again and closes the old version.
func (p publisher) change(do func(*publish.Store) (name string, err error)) error {
	store, err := p.a.store()
	if err != nil {
		return err
	}
	name, err := do(store)
	p.a.local.Invalidate(p.a.root)
	p.a.catalog.Refresh()
	if err == nil {
		p.a.catalog.Drop(name)
	}
	return err
}

// uploadOf converts an upload for the store.
func uploadOf(u *alpha.Upload) publish.Upload {
	return publish.Upload{
		Name: u.Name, Config: u.Config, Step: u.Step, Checkpoint: u.Checkpoint, Size: u.Size,
		Metrics: u.Metrics, TrainingData: u.TrainingData,
	}
}

// Spool implements [alpha.Publisher].
func (p publisher) Spool(ctx context.Context, body io.Reader, most int64) (alpha.Spool, error) {
	store, err := p.a.store()
	if err != nil {
		return nil, err
	}
	spool, err := store.Spool(ctx, body, most)
	if err != nil {
		return nil, err // not a nil *Spool in an interface
	}
	return spool, nil
}

// HoldTexts implements [alpha.Publisher].
func (p publisher) HoldTexts(ctx context.Context, n int64) (release func(), err error) {
	store, err := p.a.store()
	if err != nil {
		return nil, err
	}
	return store.HoldTexts(ctx, n)
}

// Publish implements [alpha.Publisher].
func (p publisher) Publish(ctx context.Context, u *alpha.Upload) error {
	if err := p.free(ctx, u.Name); err != nil {
		return err
	}
	return p.change(func(s *publish.Store) (string, error) { return u.Name, s.Put(ctx, uploadOf(u)) })
}

// Delete implements [alpha.Publisher].
func (p publisher) Delete(ctx context.Context, name string) error {
	return p.change(func(s *publish.Store) (string, error) { return name, s.Delete(ctx, name) })
}

// Begin implements [alpha.Parts].
func (p publisher) Begin(ctx context.Context, file *alpha.Announced) (*alpha.Session, error) {
	if err := p.free(ctx, file.Name); err != nil {
		return nil, err
	}
	store, err := p.a.store()
	if err != nil {
		return nil, err
	}
	u := uploadOf(&file.Upload)
	u.Size, u.Quant = file.Size, file.Quant
	return sessionOf(store.Begin(ctx, u, file.PartSize, file.SHA256))
}

// sessionOf converts an upload in progress for the dialect.
func sessionOf(s *publish.Session, err error) (*alpha.Session, error) {
	if err != nil {
		return nil, err
	}
	out := &alpha.Session{
		ID: s.ID, Name: s.Name, Step: s.Step, Size: s.Size, PartSize: s.PartSize, Arrived: s.Arrived, Done: s.Done, Expires: s.Expires,
	}
	for _, part := range s.Parts {
		out.Parts = append(out.Parts, alpha.Part(part))
	}
	return out, nil
}

// Session implements [alpha.Parts].
func (p publisher) Session(ctx context.Context, id string) (*alpha.Session, error) {
	store, err := p.a.store()
	if err != nil {
		return nil, err
	}
	return sessionOf(store.Session(admitted(ctx), id))
}

// Sessions implements [alpha.Parts].
func (p publisher) Sessions(ctx context.Context) ([]*alpha.Session, error) {
	store, err := p.a.store()
	if err != nil {
		return nil, err
	}
	list, err := store.Sessions(admitted(ctx))
	if err != nil {
		return nil, err
	}
	out := make([]*alpha.Session, len(list))
	for i, s := range list {
		out[i], _ = sessionOf(s, nil)
	}
	return out, nil
}

// Part implements [alpha.Parts].
func (p publisher) Part(ctx context.Context, id string, index int, body io.Reader) error {
	store, err := p.a.store()
	if err != nil {
		return err
	}
	return store.Part(admitted(ctx), id, index, body)
}

// Complete implements [alpha.Parts].
func (p publisher) Complete(ctx context.Context, id string) (name string, step int, err error) {
	err = p.change(func(s *publish.Store) (string, error) {
		name, step, err = s.Complete(admitted(ctx), id)
		return name, err
	})
	return name, step, err
}

// Abort implements [alpha.Parts].
func (p publisher) Abort(ctx context.Context, id string) error {
	store, err := p.a.store()
	if err != nil {
		return err
	}
	return store.Abort(admitted(ctx), id)
}

// Chunk implements [alpha.Parts].
func (p publisher) Chunk(ctx context.Context, id string, index, total int, body io.Reader) error {
	store, err := p.a.store()
	if err != nil {
		return err
	}
	return store.Chunk(ctx, id, index, total, body)
}

// Assemble implements [alpha.Parts].
func (p publisher) Assemble(ctx context.Context, id string, total int, u *alpha.Upload) error {
	if err := p.free(ctx, u.Name); err != nil {
		return err
	}
	return p.change(func(s *publish.Store) (string, error) { return u.Name, s.Assemble(ctx, id, total, uploadOf(u)) })
}
