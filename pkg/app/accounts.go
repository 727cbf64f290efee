package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"glossa/pkg/account"
)

// accounts returns who may use the routes.
func accounts(cfg Config) (*account.Accounts, error) {
	c := account.Config{Open: !cfg.Auth, Keys: cfg.Keys}
	switch {
	case cfg.Accounts != "":
		file := account.NewFile(cfg.Accounts)
		_, err := file.List(context.Background(), account.User)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("accounts: %w: glossa user add and glossa key create make it", err)
		}
		if err != nil {
			return nil, fmt.Errorf("accounts: %w", err)
		}
		c.Store = file
	case cfg.Auth && len(cfg.Keys) == 0:
		return nil, errors.New("keys are asked for and there is none: make them with glossa key create and name the file" +
			" in GLOSSA_ACCOUNTS; or set GLOSSA_KEYS=role:key,... with the roles admin, worker, client and monitor," +
			" or UPLOAD_SECRET=key for one worker")
	}
	return account.New(c), nil
}

// login is what a dialect whose clients log in is given.
func (a *App) login(ctx context.Context, email, password string) (token, role string, err error) {
	g, err := a.accounts.Login(ctx, email, password)
	return g.Token, string(g.Role), err
}
