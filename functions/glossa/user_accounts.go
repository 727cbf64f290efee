package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"glossa/pkg/account"
)

// An accountSource names the file or table of users and keys.
type accountSource struct{ file, table *string }

// accountsFlags adds the flags that name the file or table of accounts.
func accountsFlags(f *flag.FlagSet) accountSource {
	return accountSource{
		f.String("accounts", "", "`file` of users and API keys, created if missing (GLOSSA_ACCOUNTS)"),
		f.String("table-name", "", "DynamoDB `table` of users and API keys, if no file is named (GLOSSA_TABLE)"),
	}
}

// store opens the file or table that the flags name, else the one of the environment.
func (p accountSource) store() (account.Store, error) {
	cfg, err := environment()
	if err != nil {
		return nil, err
	}
	file, table := *p.file, *p.table
	if file == "" && table == "" {
		file, table = cfg.Accounts, cfg.Table
	} else if file != "" && table != "" {
		return nil, fmt.Errorf("%w: --accounts and --table-name cannot be used together", errUsage)
	}
	switch {
	case file != "":
		return account.NewFile(file), nil
	case table == "":
		return nil, fmt.Errorf("%w: which accounts? --accounts FILE or GLOSSA_ACCOUNTS names a file, --table-name or GLOSSA_TABLE a table", errUsage)
	}
	t, err := cfg.OpenTable(table)
	if err != nil {
		return nil, err
	}
	return account.NewTable(t), nil
}

// limitOptions holds the limits of a command line.
type limitOptions struct {
	requests   *string
	day, month *int64
	none       *bool
}

// limitFlags adds the flags of limits.
func limitFlags(f *flag.FlagSet) *limitOptions {
	return &limitOptions{
		f.String("requests", "", "limit: `N/s or N/m`, requests per second or minute; 0: no limit"),
		f.Int64("tokens-per-day", 0, "limit: `tokens` of prompts and answers per day (UTC); 0: no limit"),
		f.Int64("tokens-per-month", 0, "limit: `tokens` per month (UTC); 0: no limit"),
		f.Bool("none", false, "limit: remove all limits except those set by the other flags"),
	}
}

// given reports whether any limit is set.
func (g *limitOptions) given(f *flag.FlagSet) (any bool) {
	f.Visit(func(one *flag.Flag) {
		any = any || one.Name == "requests" || one.Name == "tokens-per-day" || one.Name == "tokens-per-month" || one.Name == "none"
	})
	return any
}

// apply changes the limits that are set.
func (g *limitOptions) apply(limits account.Limits, f *flag.FlagSet) (_ account.Limits, err error) {
	if *g.none {
		limits = account.Limits{}
	}
	f.Visit(func(one *flag.Flag) {
		switch one.Name {
		case "requests":
			limits.Requests = account.Rate{}
			if *g.requests != "0" {
				limits.Requests, err = account.ParseRate(*g.requests)
			}
		case "tokens-per-day":
			limits.TokensPerDay = *g.day
		case "tokens-per-month":
			limits.TokensPerMonth = *g.month
		}
	})
	return limits, cmp.Or(err, limits.Check())
}

// setLimits changes the limits of a credential and prints them.
func setLimits(ctx context.Context, store account.Store, c account.Credential, g *limitOptions, f *flag.FlagSet, w io.Writer) error {
	if !g.given(f) {
		return fmt.Errorf("%w: limit NAME with --requests, --tokens-per-day, --tokens-per-month or --none", errUsage)
	}
	limits, err := g.apply(c.Limits, f)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := store.SetLimits(ctx, c.Kind, c.ID, limits); errors.Is(err, account.ErrNotFound) {
		return fmt.Errorf("the %s %s was deleted in the meantime", c.Kind, c.Name)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "the limits of the %s %s: %s; running servers know them within 5 s\n", c.Kind, c.Name, limits)
	return err
}
