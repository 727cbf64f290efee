package app

import (
	"context"
	"log/slog"

	"glossa/pkg/account"
	"glossa/pkg/archive"
	"glossa/pkg/dialect/responses"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/table"
)

// archived returns the store of responses: the table, or without one the memory of this
// process; nil if they are not stored.
func archived(cfg Config, open func(name string) (*table.Table, error)) (responses.Store, error) {
	switch {
	case cfg.KeepResponses < 0:
		return nil, nil
	case cfg.Table == "":
		return &archive.Memory{Total: cfg.BodyMemory}, nil
	}
	t, err := open(cfg.Table)
	if err != nil {
		return nil, err
	}
	return &archive.Table{Table: t, Kind: "responses"}, nil
}

// responses returns the routes of the Responses API.
func (a *App) responses() []httpx.Route {
	return responses.Routes(responses.Config{
		Models: a.Models(), Store: a.archive, Keep: a.cfg.KeepResponses, Shared: a.cfg.Table != "", Owner: owner, Failed: a.cfg.responseFailed,
	})
}

// owner returns the name of the owner of a request's responses: its key or its user. All
// requests without a key have one owner. The name of a subject of a token is what its issuer
// says today, and that of a key of the configuration its place, so their identifiers count.
func owner(ctx context.Context) string {
	p, _ := account.PrincipalOf(ctx)
	if kind := account.Kind(p.Kind); kind == account.User || kind == account.APIKey {
		return p.String()
	}
	return llm.OwnerOf(ctx)
}

// responseFailed logs an error of storing a response.
func (cfg Config) responseFailed(err error) {
	if cfg.Log != nil {
		cfg.Log.LogAttrs(context.Background(), slog.LevelError, "response not stored", slog.String("problem", err.Error()))
	}
}
