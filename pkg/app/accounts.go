package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"glossa/pkg/account"
	"glossa/pkg/account/issuer"
	"glossa/pkg/meter/budget"
	"glossa/pkg/table"
)

// accounts returns the accounts and the budgets. Users and keys are in the file or,
// without one, in the table; so are the budgets, which otherwise are in the process.
func accounts(cfg Config, open func(name string) (*table.Table, error)) (*account.Accounts, *budget.Budgets, error) {
	c, b := account.Config{Open: !cfg.Auth, Keys: cfg.Keys}, budget.Config{Failed: cfg.usageFailed}
	if len(cfg.Issuers) > 0 {
		c.Tokens = issuer.New(cfg.Issuers, nil)
	}
	switch {
	case cfg.Accounts != "":
		file := account.NewFile(cfg.Accounts)
		_, err := file.List(context.Background(), account.User)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("accounts: %w: create it with glossa user add or glossa key create", err)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("accounts: %w", err)
		}
		book := budget.NewFile(cfg.Accounts + ".usage")
		c.Store, b.Ledger, b.Journal = file, book, book
	case cfg.Table != "":
		t, err := open(cfg.Table)
		if err != nil {
			return nil, nil, fmt.Errorf("accounts: %w", err)
		}
		book := budget.NewTable(t)
		c.Store, b.Ledger, b.Journal = account.NewTable(t), book, book
	case cfg.Auth && len(cfg.Keys)+len(cfg.Issuers) == 0:
		return nil, nil, errors.New("keys are required, but there are none: create one with glossa key create and name the file" +
			" in GLOSSA_ACCOUNTS, or the table in GLOSSA_TABLE; or name issuers of tokens in GLOSSA_ISSUERS; or set GLOSSA_KEYS=role:key,... with the roles admin, worker, client and monitor," +
			" or UPLOAD_SECRET=key for one worker")
	}
	b.Store = c.Store
	return account.New(c), budget.New(b), nil
}

// ReadIssuers returns the issuers of a JSON list or of the file of that name.
func ReadIssuers(list string) ([]issuer.Issuer, error) {
	text := []byte(list)
	if !strings.HasPrefix(strings.TrimSpace(list), "[") {
		var err error
		if text, err = os.ReadFile(list); err != nil {
			return nil, err
		}
	}
	return issuer.Parse(text)
}

// users reports whether users, who can log in, are configured.
func (a *App) users() bool { return a.cfg.Accounts != "" || a.cfg.Table != "" }

// login is the login function for dialects whose clients log in.
func (a *App) login(ctx context.Context, email, password string) (token, role string, err error) {
	g, err := a.accounts.Login(ctx, email, password)
	return g.Token, string(g.Role), err
}
